package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/worqr/worqr-go/worqr"
)

// victim is a worker that was killed or frozen, and what became of the tasks in its hands.
type victim struct {
	worker *process
	blow   string // the signal
	life   string // its incarnation at that time
	lives  int    // how many it had had
	at     time.Time
	held   []worqr.ProcessInfo // what Redis listed in its hands before a peer reclaimed it, the oldest first
	back   time.Time           // when a peer told that they are back; zero before
	thawed time.Time
	behind int // tasks of it that waited behind one that nobody had taken before
}

// inPlace counts which of the victim's tasks stand behind a task that nobody had taken yet: none,
// when they came back to the front. The list is what waits, the front first.
func (b *books) inPlace(v *victim, all []*victim, waiting [][]byte) (behind int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	returned, mine := map[string]bool{}, map[string]bool{}
	for _, other := range all {
		for _, p := range other.held {
			returned[string(p.Task)] = true
			mine[string(p.Task)] = mine[string(p.Task)] || other == v
		}
	}
	fresh := false
	for _, task := range waiting {
		f := b.at[string(task)]
		fresh = fresh || f != nil && len(f.runs) == 0 && !returned[string(task)]
		if fresh && mine[string(task)] {
			behind++
		}
	}
	return behind
}

// order reports whether what the victims held was taken again in its original order and before all
// that waited, and when the first of it was taken. A token is drawn with each take and only rises,
// so tokens are the order of the takes in Redis, whatever the order in which the reports came.
func (b *books) order(v *victim, all []*victim) (again int, first time.Time, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	from, to, last := int64(math.MaxInt64), int64(0), int64(0)
	for _, p := range v.held {
		f := b.at[string(p.Task)]
		if f == nil || slices.ContainsFunc(f.ends, func(e end) bool { return e.process == p.ID }) {
			continue // its last command, a Finish, was on the way when it died
		}
		next, ok := f.after(p)
		if !ok {
			return again, first, fmt.Errorf("%s was not taken again", p.Task)
		}
		if next.token < last {
			return again, first, fmt.Errorf("%s was taken too early", p.Task)
		}
		last = next.token
		from, to = min(from, next.token), max(to, next.token)
		if again++; first.IsZero() || next.at.Before(first) {
			first = next.at
		}
	}
	if v.behind > 0 {
		return again, first, fmt.Errorf("%d stood behind tasks that nobody had taken yet", v.behind)
	}
	for _, f := range b.files {
		if t := f.firstTaken(all); t > from && t < to {
			return again, first, fmt.Errorf("%s was taken in between", f.path)
		}
	}
	return again, first, nil
}

// after returns the run that followed a process.
func (f *file) after(p worqr.ProcessInfo) (run, bool) {
	later := slices.DeleteFunc(slices.Clone(f.runs), func(r run) bool { return r.token <= p.Token })
	if len(later) == 0 {
		return run{}, false
	}
	return slices.MinFunc(later, func(a, b run) int { return cmp.Compare(a.token, b.token) }), true
}

// firstTaken is the lowest token under which the file was taken, also by a victim that could not
// report it.
func (f *file) firstTaken(all []*victim) int64 {
	lowest := int64(math.MaxInt64)
	for _, r := range f.runs {
		lowest = min(lowest, r.token)
	}
	for _, v := range all {
		for _, p := range v.held {
			if string(p.Task) == f.path {
				lowest = min(lowest, p.Token)
			}
		}
	}
	return lowest
}
