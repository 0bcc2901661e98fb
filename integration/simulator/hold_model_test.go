package simulator

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// soonDate stands for any date of a delayed task that is not never.
const soonDate = -1

// expected is what a queue of persistent tasks should be after a command.
type expectedHold struct {
	s     *step
	tasks []string
	holdState
}

// expect begins with the state before.
func (s *step) expect() *expectedHold {
	h := s.before.hold
	return &expectedHold{s: s, tasks: slices.Clone(s.before.tasks), holdState: holdState{
		unique: clone(h.unique), holders: clone(h.holders), offers: clone(h.offers), present: clone(h.present),
		delayed: clone(h.delayed), past: clone(h.past),
	}}
}

// clone is never nil.
func clone[V any](m map[string]V) map[string]V {
	c := make(map[string]V, len(m)+1)
	maps.Copy(c, m)
	return c
}

// met compares with the state after.
func (e *expectedHold) met() error {
	is := &e.s.after.hold
	switch {
	case !slices.Equal(e.tasks, e.s.after.tasks):
		return fmt.Errorf("waiting tasks went from %q to %q, want %q (the front last)", e.s.before.tasks, e.s.after.tasks, e.tasks)
	case !maps.Equal(e.unique, is.unique):
		return fmt.Errorf("unique are %v, want %v", names(is, is.unique), names(is, e.unique))
	case !maps.Equal(e.holders, is.holders):
		return fmt.Errorf("holders are %v, want %v", is.holders, e.holders)
	case !maps.Equal(e.offers, is.offers):
		return fmt.Errorf("offers are %v, want %v", is.offers, e.offers)
	case !maps.Equal(e.present, is.present):
		return fmt.Errorf("present are %v, want %v", is.present, e.present)
	case !maps.Equal(e.past, is.past):
		return fmt.Errorf("pasts are %v, want %v", is.past, e.past)
	case !maps.EqualFunc(e.delayed, is.delayed, func(want, date int64) bool {
		return want == date || want >= never && date >= never || want == soonDate && date > 0 && date < never
	}):
		return fmt.Errorf("delayed are %v, want %v", is.delayed, e.delayed)
	}
	return nil
}

// tidy is what the scripts do when no task is left.
func (e *expectedHold) tidy() {
	if len(e.holders)+len(e.unique) == 0 {
		clear(e.past)
		clear(e.present)
		clear(e.offers)
	}
}

// forget is what becomes of a task that is nowhere any more.
func (e *expectedHold) forget(fp string) {
	delete(e.past, fp)
	delete(e.present, fp)
	delete(e.s.books.kept, fp)
}

// unwait takes a task out of what waits or is delayed.
func (e *expectedHold) unwait(task string) {
	delete(e.unique, fingerprint(task))
	delete(e.delayed, task)
	e.tasks = slices.DeleteFunc(e.tasks, func(t string) bool { return t == task })
}

// promote lets wait what is delayed no more: when that was is Redis's to know, but not in which
// order.
func (e *expectedHold) promote() error {
	var due []string
	var last int64
	for task, date := range e.delayed {
		if _, still := e.s.after.hold.delayed[task]; !still {
			due = append(due, task)
			last = max(last, date)
		}
	}
	for task, date := range e.delayed {
		if !slices.Contains(due, task) && date < last {
			return fmt.Errorf("task %s is due before others that were promoted: %v of %v", task, due, e.delayed)
		}
	}
	slices.SortFunc(due, func(a, b string) int { return cmp.Or(cmp.Compare(e.delayed[a], e.delayed[b]), cmp.Compare(a, b)) })
	for _, task := range due {
		e.tasks = append(e.tasks, task)
		delete(e.delayed, task)
	}
	if last >= never {
		return fmt.Errorf("a task whose canceled process goes on is promoted: %v", due)
	}
	return nil
}

// reasons are what the next holder is told, by outcome.
var reasons = map[string]string{
	"later": "returned", "drain": "drain", "rebalance": "rebalance", "handover": "handover", "front": "handover", "back": "handover", "death": "death",
}

// fate is why a process ends that its holder does not settle itself.
type fate struct {
	why    string
	blames bool // of a death: for the early one of its worker
	known  bool // young is
	young  int64
}

// letgo ends a process that was in hand, and returns what the script has to answer.
func (e *expectedHold) letgo(p process, f fate) (string, error) {
	fp := fingerprint(p.task)
	if e.holders[fp] != p.id { // another one has the task, or had it last
		if f.why == "finish" {
			return "gone", nil
		}
		return "done", nil
	}
	delete(e.offers, fp)
	delete(e.holders, fp)
	ends := f.why == "finish" || f.why == "cancel"
	if ends || e.s.before.ended(p.task, p.token) {
		e.s.books.over[p.id] = true
		if e.delayed[p.task] >= never { // added again meanwhile
			e.tasks = slices.Insert(e.tasks, 0, p.task)
			delete(e.delayed, p.task)
			delete(e.past, fp)
			delete(e.s.books.kept, fp)
		} else {
			e.unwait(p.task) // it was offered
			e.forget(fp)
		}
		if ends {
			return "done", nil
		}
		return "dropped", nil
	}
	e.unwait(p.task) // what was offered waits already, once
	e.unique[fp] = true
	r := e.past[fp]
	delay := false
	switch {
	case f.why == "later":
		r.fails++
		delay = true
	case f.why == "death" && f.blames:
		now := e.s.after.hold.past[fp].deaths
		allowed := []int64{0, r.deaths + 1}
		switch {
		case r.deaths >= 2 && e.s.before.hold.blamed[membershipOf(p.id)]:
			allowed[1] = r.deaths
		case !f.known:
			allowed = append(allowed, r.deaths) // Redis's clock may have stepped back
		case p.token < f.young:
			allowed = allowed[:1]
		default:
			allowed = allowed[1:]
		}
		// Of several that are suspects only the one begun last is blamed.
		if !slices.Contains(allowed, now) && !(r.deaths >= 2 && now == r.deaths) {
			return "", fmt.Errorf("task %s has %d early deaths behind it, and had %d", p.task, now, r.deaths)
		}
		delay = now > r.deaths && now > 2
		r.deaths = now
	}
	if f.why != "undo" {
		e.past[fp] = record{reasons[f.why], p.token, r.fails, r.deaths}
	}
	if delay {
		e.delayed[p.task] = soonDate
	} else {
		e.tasks = append(e.tasks, p.task)
	}
	return "done", nil
}

// fallTo is how much of what waits falls to a membership, when it is given out one by one, each to
// the one with the greatest weight/(2*held+1), and of equal ones to this, or to this as the last.
func (e *expectedHold) fallTo(m string, first bool) int64 {
	held := map[string]int64{}
	for one := range e.s.before.hold.shares {
		held[one] = int64(len(e.s.before.held[one]))
	}
	var n int64
	for range e.tasks {
		best := ""
		var weight, count int64
		for one, s := range e.s.before.hold.shares {
			if s.weight == 0 || s.limit > 0 && held[one] >= s.limit {
				continue
			}
			mine, other := s.weight*(2*count+1), weight*(2*held[one]+1)
			if best == "" || mine > other || mine == other && (one == m) == first && (best == m) != first {
				best, weight, count = one, s.weight, held[one]
			}
		}
		if best == "" {
			break
		}
		held[best]++
		if best == m {
			n++
		}
	}
	return n
}
