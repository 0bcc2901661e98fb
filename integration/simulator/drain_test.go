package simulator

import "slices"

// drain ends everybody, lets late copies arrive or get lost, and has one healthy peer clean up and
// do what is left.
func (w *world) drain() {
	for _, a := range slices.Clone(w.actors) {
		w.kill(a)
	}
	for _, k := range w.workers {
		k.end()
	}
	w.note("everybody is gone")
	for len(w.bag) > 0 && w.chance(0.9) {
		w.deliver()
	}
	w.bag = nil
	for _, id := range w.silent() {
		w.stopHeart(id)
	}
	w.odds, w.draining = odds0, true
	done := false
	janitor := w.spawn("janitor", func(a *actor) {
		if untilEnded(func() { w.cleanUp(a) }) {
			w.fail("the janitor was put out")
		}
		done = true
	})
	for !done {
		w.resume(janitor)
	}
	w.finally()
}

// cleanUp is what one healthy worker does about a mesh of dead ones.
func (w *world) cleanUp(a *actor) {
	k := &worker{w: w, name: "janitor", id: "janitor", alive: true, members: map[string]*member{}, left: map[string]bool{}}
	a.call("join", "", nil, k.id, lapse, "1", "")
	for round := 0; ; round++ {
		var dead []string
		for id := range w.state.registered {
			if id != k.id {
				dead = append(dead, id)
			}
		}
		slices.Sort(dead)
		for _, id := range dead {
			a.bury(id)
		}
		orphans := 0
		for range len(w.state.listed) {
			a.read("UNLINK", meshKey+":rota", meshKey+":sweep")
			r, _, _ := a.call("sweep", "", nil, k.id, lapse, "0", lapse, lapse)
			queue, notes := r.words[5], r.words[6]
			if queue == "" {
				w.fail("nothing has its turn, and listed are %v", w.state.listed)
			}
			orphans += len(w.state.queues[queue].members) + len(w.state.queues[queue].returning)
			a.examine(queue, notes)
		}
		if orphans == 0 {
			break
		}
		if round == 3 {
			w.fail("the rota does not come to rest: workers %v", dead)
		}
	}
	for _, queue := range queues {
		if q := w.state.queues[queue]; len(q.members)+len(q.returning)+len(q.tasksOf) > 0 {
			w.fail("the rota has been everywhere, and queue %s still has members %v, returning %v, in hand %v",
				queue, q.members, q.returning, q.tasksOf)
		}
	}
	for _, queue := range w.names {
		if w.persistent {
			w.holdOff(a, k, queue)
		} else if len(w.state.queues[queue].tasks) > 0 {
			w.workOff(a, k, queue)
		}
		if w.chance(0.5) {
			a.examine(queue, a.notes())
		}
	}
	a.call("leave", "", nil, k.id, "left")
}

// workOff takes and finishes all that waits in a queue.
func (w *world) workOff(a *actor, k *worker, queue string) {
	k.open(a, queue)
	m := k.members[queue]
	for len(w.state.queues[queue].tasks) > 0 {
		m.take(a, 500, false)
		var batch []*handled
		for n := int64(1); n < m.next; n++ {
			if p := m.inHand[n]; p != nil {
				p.asked = "finish"
				batch = append(batch, p)
			}
		}
		m.settle(a, batch)
	}
	k.close(a, m)
}

// finally checks that nothing is left: no task that was not finished, canceled or deleted, and no
// key but the list of queues, the mesh, and tokens and marks that have an end.
func (w *world) finally() {
	s := w.state
	if len(s.registered)+len(s.beating)+len(s.workmap)+len(s.info) > 0 {
		w.fail("left of workers: %v %v %v %v", s.registered, s.beating, s.workmap, s.info)
	}
	for _, name := range queues {
		q := s.queues[name]
		if len(q.tasks)+len(q.members)+len(q.returning)+len(q.idle)+len(q.held)+len(q.tasksOf) > 0 {
			w.fail("left in queue %s: %+v", name, q)
		}
		if h := &q.hold; len(h.unique)+len(h.holders)+len(h.present)+len(h.delayed)+len(h.past)+len(h.checkpoints)+len(h.fates)+
			len(h.offers)+len(h.shares)+len(h.fast) > 0 {
			w.fail("left in queue %s: %+v", name, *h)
		}
		for key, there := range map[string]bool{"token": q.token > 0, "closed": q.closed > 0, "cancels": len(q.marks) > 0, "policy": len(q.hold.policy) > 0} {
			if ttl := w.plain("PTTL", queueKey(name)+":"+key); there && ttl <= 0 {
				w.fail("key %s of queue %s has no end", key, name)
			}
		}
	}
}

// plain sends a command past the log.
func (w *world) plain(command string, args ...any) int64 {
	n, err := w.server.conn.Do(command, args...)
	if err != nil {
		panic(err)
	}
	return n.(int64)
}
