//go:build linux

package faults

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/worqr/worqr-go/worqr"
)

// await waits for a fact.
func (f *fleet) await(what string, cond func() bool) {
	f.Helper()
	if !poll(soon, cond) {
		f.Fatalf("%s\nnot within %v: %s", f.history(), soon, what)
	}
}

func poll(limit time.Duration, cond func() bool) bool {
	for end := stamp() + limit; ; <-time.After(10 * time.Millisecond) {
		if cond() {
			return true
		}
		if stamp() > end {
			return cond()
		}
	}
}

// recover waits until every task is held by exactly one worker, and Redis agrees. It returns what
// is wrong in the end, or "" when all is well.
func (f *fleet) recover() (wrong string, took time.Duration) {
	f.Helper()
	since := stamp()
	poll(soon, func() bool {
		f.buryEnded()
		for _, w := range f.workers {
			f.thaw(w)
		}
		if f.pending && f.reconcile(time.Second) != nil {
			wrong = "what is to be held cannot be changed"
			return false
		}
		if wrong = f.unhealed(since); wrong == "" {
			wrong = f.differs()
		}
		return wrong == ""
	})
	return wrong, stamp() - since
}

// unhealed returns what is wrong by the records of the living workers: a task is held if it was
// claimed since then, and lately.
func (f *fleet) unhealed(since time.Duration) string {
	lately := max(since, stamp()-20*claims)
	by := map[string][]string{}
	for _, w := range f.workers {
		if w.leaving {
			return w.name + " was ordered to end, and has not"
		}
		if w.records.heard().Load() < int64(f.over) {
			return w.name + " has not heard that the run is over"
		}
		for _, h := range w.records.all(w.name) {
			if h.end == 0 && h.claim > lately {
				task := fmt.Sprintf("t%d", h.task)
				by[task] = append(by[task], w.name)
			}
		}
	}
	for _, task := range f.tasks {
		if holders := by[task]; len(holders) != 1 && !f.suspect(task) {
			return fmt.Sprintf("%s is held by %d workers %v", task, len(holders), holders)
		}
		delete(by, task)
	}
	for task, holders := range by {
		return fmt.Sprintf("%s is not to be held, and is by %v", task, holders)
	}
	return ""
}

// suspect reports whether the workers of a task died so often that the task waits for long. That is
// as it should be.
func (f *fleet) suspect(task string) bool {
	at, err := f.mesh.Locate(f.Context(), f.queueOf(task), []byte(task))
	return err == nil && at.State == "suspect" && at.Deaths > 2
}

// differs returns where Redis disagrees.
func (f *fleet) differs() string {
	f.Helper()
	var held []string
	for _, queue := range f.queues {
		processes, err := f.mesh.Processes(f.Context(), queue)
		if err != nil {
			return err.Error()
		}
		for _, p := range processes {
			held = append(held, string(p.Task))
		}
	}
	want := slices.DeleteFunc(slices.Clone(f.tasks), func(task string) bool { return !slices.Contains(held, task) && f.suspect(task) })
	slices.Sort(held)
	slices.Sort(want)
	if !slices.Equal(held, want) {
		return fmt.Sprintf("Redis has in hand %v, not %v", held, want)
	}
	workers, err := f.mesh.Workers(f.Context())
	if err != nil {
		return err.Error()
	}
	if len(workers) != len(f.workers) {
		return fmt.Sprintf("%d workers are registered, %d live", len(workers), len(f.workers))
	}
	return ""
}

// renew replaces the tasks that workers have died with by new ones: after the third death a task
// would wait for minutes.
func (f *fleet) renew() {
	for i, task := range f.tasks {
		at, err := f.mesh.Locate(f.Context(), f.queueOf(task), []byte(task))
		if err != nil && !errors.Is(err, worqr.ErrGone) {
			f.Fatal(err)
		}
		if at.Deaths > 0 {
			f.made++
			f.tasks[i], f.pending = fmt.Sprintf("t%d", f.made), true
		}
	}
}

// sync waits until the witness has received what the living workers have stated.
func (f *fleet) sync() {
	f.Helper()
	f.syncs++
	for _, w := range f.workers {
		f.order(w, fmt.Sprintf("sync %d", f.syncs))
	}
	for _, w := range f.workers {
		w.WaitLine(f, fmt.Sprintf("synced %d", f.syncs), soon)
	}
}

// check judges the run by the witness and by the records.
func (f *fleet) check(lost string) result {
	f.Helper()
	f.sync()
	report := f.witness.Report()
	out := result{wrong: f.wrong}
	f.wrong = nil
	out.overlaps = report.Totals.Overlaps - f.overlaps
	f.overlaps = report.Totals.Overlaps
	if out.overlaps > 0 || report.Totals.Falls+report.Totals.Faults > f.faults {
		f.faults = report.Totals.Falls + report.Totals.Faults
		for line := range strings.Lines(report.String()) {
			if !strings.HasPrefix(line, "possible") {
				out.wrong = append(out.wrong, "witness: "+strings.TrimSpace(line))
			}
		}
	}
	seen := 0
	for _, found := range f.judge.look(f.holds()) {
		if found.overlap {
			seen++
		}
		out.wrong = append(out.wrong, found.what)
	}
	out.overlaps = max(out.overlaps, seen) // both may report the same one
	if lost != "" {
		out.lost = 1
		out.wrong = append(out.wrong, fmt.Sprintf("lost: after %v %s", soon, lost))
		for _, task := range f.tasks {
			at, err := f.mesh.Locate(context.Background(), f.queueOf(task), []byte(task))
			f.note("%s is %+v %v", task, at, err)
		}
	}
	return out
}

// result is the result of one run.
type result struct {
	overlaps, lost int
	wrong          []string
}

// fail records that something is wrong with this run.
func (f *fleet) fail(format string, args ...any) {
	f.wrong = append(f.wrong, fmt.Sprintf(format, args...))
}
