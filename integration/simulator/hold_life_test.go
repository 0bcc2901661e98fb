package simulator

import "strconv"

// terms are how a queue is opened.
func (w *world) terms() []string {
	switch {
	case !w.persistent:
		return nil
	case w.draining:
		return []string{"1", "0", "1", "0"}
	}
	return []string{"1", "0", strconv.Itoa(1 + w.rng.IntN(3)), pick(w, []string{"0", "0", "0", "2", "4"})}
}

// either chooses between two scripts, or words.
func (w *world) either(oneShot, hold string) string {
	if w.persistent {
		return hold
	}
	return oneShot
}

// holdLife is life with queues of persistent tasks.
func (k *worker) holdLife(a *actor) {
	for {
		// A membership may end alone, when the presence connection does.
		if untilEnded(func() { k.holdAct(a) }) && !k.alive {
			return
		}
		if k.retiring {
			k.leave(a)
			return
		}
	}
}

func (k *worker) holdAct(a *actor) {
	if len(k.first) > 0 {
		act := k.first[0]
		k.first = k.first[1:]
		act(a)
		return
	}
	queue := pick(k.w, k.w.names)
	m := k.members[queue]
	switch x := k.w.rng.IntN(100); {
	case len(k.rest) > 0:
		k.closeRest(a)
	case m == nil && (len(k.members) == 0 || x < 50):
		k.open(a, queue)
		if m := k.members[queue]; m != nil {
			m.holdTake(a, 1+k.w.rng.Int64N(6))
		}
	case m != nil && x < 30 && m.any((*handled).offers) != nil:
		m.holdLook(a)
	case m != nil && m.granted > 0:
		m.giveUp(m.granted)
		m.granted = 0
	case m == nil || x < 3:
		k.beat(a)
	case x < 8 && !k.present:
		k.appear(a)
	case x < 14 && k.present:
		m.allow(a)
	case x < 38:
		m.holdTake(a, 1+k.w.rng.Int64N(3))
	case x < 60:
		m.holdLook(a)
	case x < 72:
		if p := m.any(func(p *handled) bool { return p.asked == "" }); p != nil {
			m.write(a, p)
		}
	case x < 78:
		m.giveUp(1)
	case x < 86:
		if p := m.any(func(p *handled) bool { return p.why == "rebalance" }); p != nil {
			a.call("ready", queue, nil, m.id, strconv.FormatInt(p.number, 10), p.task)
		}
	case x < 88:
		if r, _, known := a.call("weigh", queue, nil, m.id, strconv.Itoa(k.w.rng.IntN(4))); known {
			m.refused(r)
		}
	case x < 97:
		k.close(a, m)
	default:
		k.leave(a)
		k.end() // also when it is not known whether it has left
		panic(ended{})
	}
}

// appear makes the presence connection, and has the server count it.
func (k *worker) appear(a *actor) {
	k.w.stands(k.id, true)
	k.present = true
	if r, _, known := a.call("appear", "", nil, k.id); known && word(r.refused) == "LOST" {
		k.lost()
	}
}

// allow lets peers take over as soon as the presence connection has ended.
func (m *member) allow(a *actor) {
	m.heeds = true // from before the server can know so
	if r, _, known := a.call("allow", m.queue, nil, m.id); known {
		m.refused(r)
	}
}

// any picks one of what is in hand, nil when there is none.
func (m *member) any(is func(*handled) bool) *handled {
	var list []*handled
	for n := int64(1); n < m.next; n++ {
		if p := m.inHand[n]; p != nil && is(p) {
			list = append(list, p)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return pick(m.worker.w, list)
}
