package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// check compares the real mesh with the model, after each step. What is to hold at every instant
// has to hold at once, in virtual time; the rest within the patience for a reclaim.
func (c *crew) check(after string) {
	c.world.settle()
	if err := c.lost(); err != nil {
		c.fatalf("after %s: %v, without a cause", after, err)
	}
	var never, yet []string
	calm := c.world.poll(c.patience(), func() bool {
		never, yet = nil, nil
		for _, name := range holdQueues {
			q := c.rolls[name]
			s := c.eye.stock(name)
			c.resolve(q, s)
			never = append(never, c.broken(q, s)...)
			yet = append(yet, c.unfinished(q, s)...)
		}
		return len(never) > 0 && c.world.virtual || len(never)+len(yet) == 0
	})
	if !calm || len(never) > 0 {
		for _, name := range holdQueues {
			c.did("queue %q: %+v", name, *c.eye.stock(name))
		}
		c.fatalf("after %s: %s", after, strings.Join(append(never, yet...), "\n\t"))
	}
	c.judgeAll()
	c.ledger.mu.Lock()
	wrong := strings.Join(c.ledger.wrong, "\n\t")
	c.ledger.mu.Unlock()
	if wrong != "" {
		c.fatalf("after %s: %s", after, wrong)
	}
	for _, h := range c.running() {
		if !h.worker.Alive() {
			c.fatalf("%s is not alive", h.name)
		}
	}
}

// resolve enters what has ended since the last look of what was doomed.
func (c *crew) resolve(q *roll, s *stock) {
	for _, task := range slices.Sorted(maps.Keys(q.tasks)) {
		if w := q.tasks[task]; w.doomed != "" && s.holders[task] != w.doomed {
			q.ended(task)
		}
	}
}

// broken lists what must not be at any instant: above all a present task that is nowhere, or in two
// places.
func (c *crew) broken(q *roll, s *stock) (list []string) {
	add := func(format string, args ...any) {
		list = append(list, fmt.Sprintf("queue %q: "+format, append([]any{q.name}, args...)...))
	}
	for task := range s.present {
		if q.tasks[task] == nil {
			add("%q is present, and should not be", task)
		}
	}
	for _, task := range slices.Sorted(maps.Keys(q.tasks)) {
		w := q.tasks[task]
		if _, there := s.present[task]; !there {
			add("%q is not present, and should be", task)
		}
		p, inHand := s.holders[task]
		date, delayed := s.delayed[task]
		waits, offered := s.waiting[task], s.offers[task] == p
		switch {
		case inHand && !delayed && waits == 0:
		case inHand && waits == 1 && offered && !delayed && c.terms.overlap:
		case inHand && waits == 0 && date == never && w.again:
		case !inHand && waits == 1 && !delayed:
		case !inHand && waits == 0 && delayed && date < never:
		default:
			add("%q is held by %q, waits %d times, delayed until %d: it is to be in one place", task, p, waits, date)
		}
		if held := s.processes[p]; inHand && held.task != task {
			add("%q has %s as its holder, which has %q", task, p, held.task)
		}
		if once := waits > 0 || delayed; once != (s.unique[task] == 1) {
			add("%q waits or is delayed: %v, but the fingerprints say %d", task, once, s.unique[task])
		}
		list = append(list, c.kept(q, s, task)...)
	}
	for name, of := range map[string]map[string]string{"past": s.past, "checkpoint": s.writing, "offer": s.offers, "holder": s.holders} {
		for task := range of {
			if _, there := s.present[task]; !there {
				add("a %s is kept of %q, which is not present", name, task)
			}
		}
	}
	for _, task := range append(slices.Collect(maps.Keys(s.waiting)), slices.Collect(maps.Keys(s.delayed))...) {
		if _, there := s.present[task]; !there {
			add("%q waits or is delayed, and is not present", task)
		}
	}
	for id, p := range s.processes {
		if s.holders[p.task] != id && !c.terms.overlap {
			add("process %s has %q, whose holder is %q", id, p.task, s.holders[p.task])
		}
	}
	return list
}

// kept compares what is kept of one task: its checkpoint never goes back, and nobody counts more
// deaths than there were.
func (c *crew) kept(q *roll, s *stock, task string) (list []string) {
	tale, now := q.tale(task), s.checkpoint(task)
	if now.before(tale.kept) || now.number < tale.floor {
		list = append(list, fmt.Sprintf("queue %q: the checkpoint of %q went back from %+v, %d to %+v", q.name, task, tale.kept, tale.floor, now))
	}
	tale.kept = now
	if n := s.deaths(task); n > tale.dead {
		list = append(list, fmt.Sprintf("queue %q: %q is blamed for %d deaths, of %d", q.name, task, n, tale.dead))
	}
	return list
}

// unfinished lists what is to become so soon: each task that may be held is, by a worker that knows
// it.
func (c *crew) unfinished(q *roll, s *stock) (list []string) {
	add := func(format string, args ...any) {
		list = append(list, fmt.Sprintf("queue %q: "+format, append([]any{q.name}, args...)...))
	}
	on := c.turnsOn(q.name)
	able := c.able(s)
	now := c.world.now()
	for _, task := range slices.Sorted(maps.Keys(q.tasks)) {
		w, p := q.tasks[task], s.holders[task]
		date, delayed := s.delayed[task]
		h := c.hostOf(p)
		switch {
		case p != "" && h != nil:
			if on[p] == nil {
				add("%q is in the hands of %s, where no handler runs", task, p)
			} else if w.told && w.doomed == p {
				add("%q is canceled, and %s goes on", task, p)
			} else if t := on[p]; c.world.virtual && t.saved > s.checkpoint(task).number {
				add("checkpoint %d of %q, by %s, is not written", t.saved, task, p)
			}
		case p == "" && !delayed && able:
			add("%q waits, and nobody takes it", task)
		case p == "" && delayed && able && now.Sub(time.UnixMicro(date)) > 0:
			add("%q is delayed until %v, and it is %v", task, time.UnixMicro(date), now)
		}
	}
	for id, t := range on {
		if s.holders[t.task] != id && !(c.terms.overlap && s.processes[id].task == t.task) {
			add("%s goes on with %q, whose holder is %q", id, t.task, s.holders[t.task])
		}
	}
	return list
}

// able reports whether whatever waits is to be taken at once: somebody may take it, and no part of
// it falls to one that is dead, or not yet seen to have left.
func (c *crew) able(s *stock) bool {
	some := false
	for m, weight := range s.weights {
		switch {
		case c.hostOf(m) == nil:
			return false
		case weight > 0:
			some = true
		}
	}
	return some && len(s.returning) == 0
}

// hostOf is the running host of a membership or a process; nil when there is none.
func (c *crew) hostOf(id string) *host {
	worker, _, _ := strings.Cut(id, ".")
	for _, h := range c.running() {
		if h.life.id == worker {
			return h
		}
	}
	return nil
}

// turnsOn are the holds of running workers whose handlers have not returned, by process.
func (c *crew) turnsOn(queue string) map[string]*turn {
	c.ledger.mu.Lock()
	defer c.ledger.mu.Unlock()
	on := map[string]*turn{}
	for _, t := range c.ledger.turns {
		if t.queue == queue && t.isOn() && t.host.running() {
			on[t.p.ID()] = t
		}
	}
	return on
}
