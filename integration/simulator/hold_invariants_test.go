package simulator

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// wellFormed checks what holds in any state of a queue of persistent tasks: a present task is
// somewhere, and at most one process has it, but for those that offered it before.
func (h *holdState) wellFormed(q *queueState, b *books) error {
	waiting := map[string]bool{}
	for _, task := range q.tasks {
		fp := fingerprint(task)
		if waiting[fp] {
			return fmt.Errorf("task %s waits twice", task)
		}
		waiting[fp] = true
	}
	for task, date := range h.delayed {
		fp := fingerprint(task)
		if waiting[fp] {
			return fmt.Errorf("task %s waits and is delayed", task)
		}
		waiting[fp] = true
		p, held := h.holders[fp]
		if ends := held && q.ended(task, q.tokenOf(p)); (date >= never) != ends {
			return fmt.Errorf("task %s is delayed until %d; held by %q, which is canceled: %v", task, date, p, ends)
		}
	}
	if !maps.Equal(waiting, h.unique) {
		return fmt.Errorf("waiting or delayed are %v, and unique are %v", names(h, waiting), names(h, h.unique))
	}
	for fp, task := range h.present {
		p, held := h.holders[fp]
		switch {
		case fingerprint(task) != fp:
			return fmt.Errorf("task %q is present under the wrong fingerprint", task)
		case !held && !waiting[fp]:
			return fmt.Errorf("task %s is present and nowhere", task)
		case held && q.task(p) != task:
			return fmt.Errorf("task %s is present; its holder is %s, which has %q", task, p, q.task(p))
		}
	}
	for _, fps := range []map[string]bool{waiting, keys(h.holders)} {
		for fp := range fps {
			if _, is := h.present[fp]; !is {
				return fmt.Errorf("a task waits or is held and is not present: waiting %q, delayed %v, holders %v", q.tasks, h.delayed, h.holders)
			}
		}
	}
	return h.oneHolder(q, b)
}

// oneHolder checks that a process in hand has its task, or has lost it to a later one.
func (h *holdState) oneHolder(q *queueState, b *books) error {
	for _, held := range q.held {
		for _, one := range held {
			task := q.task(one.process)
			holder := h.holders[fingerprint(task)]
			if holder == one.process {
				continue
			}
			if !b.superseded[one.process] {
				return fmt.Errorf("process %s has task %s in hand, and its holder is %q", one.process, task, holder)
			}
			if holder != "" && q.tokenOf(holder) < one.token {
				return fmt.Errorf("process %s has lost task %s to %s, whose token is lower", one.process, task, holder)
			}
		}
	}
	for fp, p := range h.offers {
		holder, held := h.holders[fp]
		_, ready := strings.CutPrefix(p, "ready ")
		if held && !ready && p != holder && !b.superseded[p] {
			return fmt.Errorf("process %s offers a task that %q holds", p, holder)
		}
	}
	return nil
}

func keys(m map[string]string) map[string]bool {
	s := map[string]bool{}
	for k := range m {
		s[k] = true
	}
	return s
}

// names are the tasks of fingerprints, for people.
func names(h *holdState, fps map[string]bool) []string {
	var list []string
	for fp := range fps {
		if task := h.present[fp]; task != "" {
			fp = task
		}
		list = append(list, fp)
	}
	slices.Sort(list)
	return list
}

// ended reports whether a task that was taken under this token was canceled since, or deleted with
// its queue.
func (q *queueState) ended(task string, token int64) bool {
	return token <= q.marks["*"] || token <= q.marks[fingerprint(task)]
}

// supersede books whose task was taken by another while they offered it. In no other way does a
// task get a second holder.
func (s *step) supersede() error {
	for fp, p := range s.before.hold.holders {
		next := s.after.hold.holders[fp]
		if next == p || s.after.tokenOf(p) == 0 {
			continue
		}
		before := &s.before.hold
		if s.command.script != "hold_take" || before.offers[fp] != p || !before.unique[fp] || membershipOf(next) != s.command.args[0] {
			return fmt.Errorf("process %s holds task %s, and %q took it; offered by %q", p, before.present[fp], next, before.offers[fp])
		}
		s.books.superseded[p] = true
	}
	return nil
}

// checkpointsStay checks that no checkpoint goes back, or away before its task.
func (s *step) checkpointsStay() error {
	for fp, was := range s.before.hold.checkpoints {
		is, kept := s.after.hold.checkpoints[fp]
		if kept && !is.before(was) {
			continue
		}
		p, held := s.before.hold.holders[fp]
		_, present := s.after.hold.present[fp]
		ends := held && s.after.hold.holders[fp] != p && s.books.over[p] // and it was added again meanwhile
		fresh := !held && !s.before.hold.unique[fp]                      // what a deleted task had left
		if present && !ends && !fresh {
			return fmt.Errorf("the checkpoint of task %s went from %v to %v", s.before.hold.present[fp], was, is)
		}
	}
	return nil
}
