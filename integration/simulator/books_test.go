package simulator

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
)

// books are what became of the tasks of one queue, kept from the answers alone: what Redis holds
// must agree.
type books struct {
	accepted, finished, canceled, deleted map[string]int
	marks                                 map[string]int64 // when a task was canceled last
	wiped                                 int64            // when the queue was deleted last
	drawn                                 map[string]int64 // every process that ever was, and its token
	done                                  map[string]bool  // the finished ones
	closed                                map[string]bool  // memberships that were taken out
	order                                 map[string]place // of tasks that are on their way back

	// Of persistent tasks:
	superseded map[string]bool       // processes whose task another has taken while they offered it
	over       map[string]bool       // processes that have ended their task for good
	kept       map[string]checkpoint // by fingerprint: the last one whose write was answered
}

// place is where a task has to come back: behind the older ones of its membership.
type place struct {
	membership string
	token      int64
}

func newBooks() *books {
	return &books{
		accepted: map[string]int{}, finished: map[string]int{}, canceled: map[string]int{}, deleted: map[string]int{},
		marks: map[string]int64{}, drawn: map[string]int64{}, done: map[string]bool{}, closed: map[string]bool{},
		order: map[string]place{}, superseded: map[string]bool{}, over: map[string]bool{}, kept: map[string]checkpoint{},
	}
}

// ended reports whether a task that was taken under this token was canceled, or deleted with its
// queue.
func (b *books) ended(task string, token int64) bool {
	return token <= b.wiped || token <= b.marks[task]
}

// drop books a copy that was not put back.
func (b *books) drop(task string, token int64) {
	if token <= b.marks[task] {
		b.canceled[task]++
	} else {
		b.deleted[task]++
	}
}

// conserved checks that every copy that was accepted is in exactly one place.
func (b *books) conserved(q *queueState) error {
	have := map[string]int{}
	for _, t := range q.tasks {
		have[t]++
	}
	for _, ts := range q.tasksOf {
		for _, t := range ts {
			have[t]++
		}
	}
	for task, n := range b.accepted {
		waitingOrHeld := have[task]
		delete(have, task)
		if n != waitingOrHeld+b.finished[task]+b.canceled[task]+b.deleted[task] {
			return fmt.Errorf("task %s: %d accepted, but %d waiting or in hand, %d finished, %d canceled, %d deleted",
				task, n, waitingOrHeld, b.finished[task], b.canceled[task], b.deleted[task])
		}
	}
	if len(have) > 0 {
		return fmt.Errorf("tasks that nobody enqueued: %v", have)
	}
	return nil
}

// wellFormed checks what holds in any state.
func (s *state) wellFormed() error {
	if len(s.other) > 0 {
		return fmt.Errorf("unknown keys %q", s.other)
	}
	for _, of := range []map[string]bool{s.beating, s.info} {
		for w := range of {
			if !s.registered[w] {
				return fmt.Errorf("worker %s has a heartbeat or info and is not registered", w)
			}
		}
	}
	for w := range s.workmap {
		if !s.registered[w] {
			return fmt.Errorf("worker %s has a workmap and is not registered", w)
		}
	}
	for name, q := range s.queues {
		if len(q.members)+len(q.returning) > 0 && !s.listed[name] {
			return fmt.Errorf("queue %s has members %v, returning %v and is not listed", name, q.members, q.returning)
		}
		if err := q.wellFormed(); err != nil {
			return fmt.Errorf("queue %s: %w", name, err)
		}
	}
	return nil
}

func (q *queueState) wellFormed() error {
	tokens := map[int64]bool{}
	listed := 0
	for m, held := range q.held {
		number, member := q.members[m]
		if !member && !q.returning[m] {
			return fmt.Errorf("%s has processes and is neither member nor returning", m) // the invariant of the design
		}
		for _, h := range held {
			listed++
			switch {
			case membershipOf(h.process) != m:
				return fmt.Errorf("%s lists process %s of another", m, h.process)
			case len(q.tasksOf[h.process]) != 1:
				return fmt.Errorf("process %s is listed and holds %q", h.process, q.tasksOf[h.process])
			case member && numberOf(h.process) > number:
				return fmt.Errorf("process %s is above the last number %d", h.process, number)
			case tokens[h.token] || h.token > q.token:
				return fmt.Errorf("process %s has token %d, twice or above the last, %d", h.process, h.token, q.token)
			}
			tokens[h.token] = true
		}
	}
	if listed != len(q.tasksOf) {
		return fmt.Errorf("%d processes are listed, there are %d: %v", listed, len(q.tasksOf), slices.Collect(maps.Keys(q.tasksOf)))
	}
	for m := range q.returning {
		if _, member := q.members[m]; member || len(q.held[m]) == 0 {
			return fmt.Errorf("%s is returning, a member: %v, with %d processes", m, member, len(q.held[m]))
		}
	}
	for m := range q.idle {
		if _, member := q.members[m]; !member {
			return fmt.Errorf("%s is idle and no member", m)
		}
	}
	for mark, token := range q.marks {
		if token > q.token {
			return fmt.Errorf("mark %s is above the last token", mark)
		}
	}
	return nil
}

// equal reports whether nothing has changed.
func (q *queueState) equal(o *queueState) bool {
	return q == o || q.token == o.token && q.closed == o.closed && slices.Equal(q.tasks, o.tasks) && maps.Equal(q.members, o.members) &&
		maps.Equal(q.returning, o.returning) && maps.Equal(q.idle, o.idle) && maps.Equal(q.marks, o.marks) &&
		maps.EqualFunc(q.held, o.held, slices.Equal) && maps.EqualFunc(q.tasksOf, o.tasksOf, slices.Equal) && q.hold.equal(&o.hold)
}

func fingerprint(task string) string {
	if fp := fingerprints[task]; fp != "" {
		return fp
	}
	return sha1Of(task)
}

// fingerprints has those of the tasks that schedules use most.
var fingerprints = func() map[string]string {
	all := map[string]string{}
	for i := range 50 {
		task := fmt.Sprintf("t%d", i)
		all[task] = sha1Of(task)
	}
	return all
}()

func sha1Of(task string) string {
	sum := sha1.Sum([]byte(task))
	return hex.EncodeToString(sum[:])
}
