package model

import (
	"context"
	"slices"
	"strings"
)

// check compares the whole state with the model, after each step.
func (f *fleet) check(after string) {
	f.world.settle()
	if err := f.lost(); err != nil {
		f.fatalf("after %s: %v, without a cause", after, err)
	}
	s := f.eye.look()
	f.sameQueues(s.queues)
	f.sameWorkers(s)
	for _, name := range f.model.names {
		f.sameQueue(s, f.model.queues[name])
	}
	if f.world.virtual {
		for _, key := range f.eye.all() {
			if !s.keys[key] {
				f.fatalf("key %q: nothing that is there explains it", key)
			}
		}
	}
	for _, h := range f.handles {
		f.sameHandle(h)
	}
	for _, h := range f.running() {
		if !h.worker.Alive() {
			f.fatalf("%s is not alive", h.name)
		}
	}
	f.aged = !f.world.virtual // there it always passes
}

// sameQueues compares the list of queues. The rota takes off what is empty and unserved, some time.
func (f *fleet) sameQueues(listed []string) {
	var should []string
	for _, name := range f.model.names {
		q := f.model.queues[name]
		if q.listed && f.aged && len(q.waiting) == 0 && len(f.model.members(q)) == 0 {
			q.listed = slices.Contains(listed, name)
		}
		if q.listed {
			should = append(should, name)
		}
	}
	slices.Sort(should)
	sameList(f, "queues", listed, should)
}

func (f *fleet) sameWorkers(s *sight) {
	var ids []string
	for _, l := range f.model.lives {
		ids = append(ids, l.id)
	}
	slices.Sort(ids)
	sameList(f, "workers", s.workers, ids)
	for _, l := range f.model.lives {
		f.sameBeat(l, s.beats[l.id])
		sameList(f, "workmap of "+f.lives[l].name, s.workmaps[l.id], f.served(l))
	}
}

// sameBeat compares whether a worker has a heartbeat. Between the least and the most that the last
// beat of a dead one can last, the model does not know.
func (f *fleet) sameBeat(l *life, beats bool) {
	lapse, beat := f.world.worker.Lapse, f.world.worker.Beat
	age := f.world.now().Sub(l.died)
	switch {
	case !l.dead():
		if !beats {
			f.fatalf("%s has no heartbeat", f.lives[l].name)
		}
	case !l.byHand.IsZero() || age > lapse+beat/2:
		if beats {
			f.fatalf("%s has a heartbeat, %v after its end", f.lives[l].name, age)
		}
	case f.world.virtual && age < lapse-beat-beat/2:
		if !beats {
			f.fatalf("%s has no heartbeat, %v after its death", f.lives[l].name, age)
		}
	}
}

func (f *fleet) sameQueue(s *sight, q *queue) {
	sameList(f, "tasks of "+q.name, s.waiting[q.name], q.waiting)
	sameList(f, "memberships on their way back in "+q.name, s.returning[q.name], nil)
	sameList(f, "memberships that wait for a wake-up in "+q.name, s.idle[q.name], nil) // who takes by hand never does
	var members []string
	for _, m := range s.members[q.name] {
		id, _, _ := strings.Cut(m, ".")
		members = append(members, id)
	}
	should := f.model.members(q)
	slices.Sort(should)
	slices.Sort(members)
	sameList(f, "members of "+q.name, members, should)

	same := slices.EqualFunc(s.inHand[q.name], q.inHand, func(h held, p *process) bool {
		return h.id == p.id && h.token == p.token && h.task == p.task &&
			strings.HasPrefix(h.member, p.life.id+".") && strings.HasPrefix(h.id, h.member+".")
	})
	if !same {
		f.fatalf("in hand of %q: %+v, want %s", q.name, s.inHand[q.name], describe(q.inHand))
	}
	waiting, inHand := len(s.waiting[q.name]), len(s.inHand[q.name])
	if q.accepted != waiting+inHand+q.finished+q.canceled+q.deleted {
		f.fatalf("queue %q: accepted %d, but waiting %d + in hand %d + finished %d + canceled %d + deleted %d",
			q.name, q.accepted, waiting, inHand, q.finished, q.canceled, q.deleted)
	}
}

func describe(list []*process) string {
	var b strings.Builder
	for _, p := range list {
		b.WriteString(p.id + "=" + p.task + " ")
	}
	return b.String()
}

// sameHandle compares what a holder sees of a process: why its context ended, that the worker finds
// it as long as it is in hand, and what the hook was told.
func (f *fleet) sameHandle(h *handle) {
	if h.host.gone {
		return
	}
	p := h.model
	f.until(soon, "the context of "+p.id+" is as it is to be", func() bool {
		return same(context.Cause(h.real.Context()), p.cause)
	})
	held := h.host.running() && h.host.life == p.life && slices.Contains(p.queue.inHand, p) && p.asked == ""
	if found := h.host.worker.Process(p.id); held != (found == h.real) || !held && found != nil {
		f.fatalf("%s finds process %s: %v; it has it in hand: %v", h.host.name, p.id, found != nil, held)
	}
	if h.late {
		return
	}
	f.until(soon, "the hook is told of the end of "+p.id, func() bool { return p.asked == "" || len(h.told()) > 0 })
	told := h.told()
	if p.asked == "" {
		if len(told) != 0 {
			f.fatalf("the hook was told of process %s, which nobody has settled: %+v", p.id, told)
		}
		return
	}
	if h.unsure && len(told) == 1 && told[0].result == returned {
		told[0].result = p.result
	}
	if len(told) != 1 || told[0].result != p.result || !same(told[0].err, p.over) {
		f.fatalf("the hook was told of process %s: %+v; want once %q, %v", p.id, told, p.result, p.over)
	}
}

// drain ends a sequence: what is left is reclaimed and finished in its order, everybody leaves, and
// nothing stays.
func (f *fleet) drain() {
	if len(f.running()) == 0 {
		f.startAnother(step{})
	}
	for _, h := range f.running()[1:] {
		f.end(h)
	}
	if len(f.dead()) > 0 {
		f.long(step{})
		f.check("the last reclaim")
	}
	last := f.running()[0]
	for _, h := range f.mine() {
		f.settle(h, finish)
	}
	for _, name := range f.model.names {
		q := f.model.queues[name]
		if len(q.waiting) == 0 {
			continue
		}
		ctx, cancel := f.within()
		f.expect("start work", last.worker.StartWork(ctx, name), nil)
		cancel()
		f.model.startWork(last.life, q)
		for len(q.waiting) > 0 {
			f.settle(f.takeBy(last, q), finish)
		}
	}
	f.check("the drain")
	f.end(last)
	f.check("the end")
	for _, key := range f.eye.all() {
		switch key[strings.LastIndex(key, ":")+1:] {
		case "queues", "mesh":
			continue
		case "token", "cancels", "closed", "sweep", "rota":
			if f.eye.ttl(key) != -1 {
				continue
			}
		}
		f.fatalf("key %q is left after the drain", key)
	}
}
