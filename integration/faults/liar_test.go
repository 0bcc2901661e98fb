//go:build linux

package faults

import (
	"strings"
	"testing"
	"time"
)

// A worker that goes on after its context has ended is found out, by the witness and by the
// records.
func TestALiarIsFoundOut(t *testing.T) {
	f := newFleet(t, "liars", 1, true)
	if wrong, _ := f.recover(); wrong != "" {
		t.Fatalf("%s\nthe mesh does not begin: %s", f.history(), wrong)
	}
	if out := f.check(""); out.overlaps > 0 || len(out.wrong) > 0 {
		t.Fatalf("before any fault: %+v\n%s", out, f.history())
	}
	f.began = stamp()
	w := f.some(func(w *worker) bool { return len(w.records.all(w.name)) > 0 })
	w.way.Refuse(true)
	f.await("its tasks have other holders, and it claims them still", func() bool {
		held := map[int]string{}
		for _, other := range f.workers {
			for _, h := range other.records.all(other.name) {
				if who := held[h.task]; h.end == 0 && h.claim > stamp()-20*claims {
					if who != "" && who != other.name {
						return true
					}
					held[h.task] = other.name
				}
			}
		}
		return false
	})
	f.heal()
	if wrong, _ := f.recover(); wrong != "" {
		t.Fatalf("%s\n%s", f.history(), wrong)
	}
	out := f.check("")
	if out.overlaps == 0 || f.witness.Report().Totals.Overlaps == 0 {
		t.Errorf("%s\nnobody has seen the overlap: %+v", f.history(), out)
	}
	if text := strings.Join(out.wrong, "\n"); !strings.Contains(text, "witness: OVERLAP") || !strings.Contains(text, ": held twice for") {
		t.Errorf("found:\n%s", text)
	}
}

// The judge compares two holds that follow each other, one of w1 from 1 s until 2 s and one of w2.
func TestTheJudge(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	old := hold{worker: "w1", task: 1, token: 10, start: s, claim: 2 * s, deadline: 2100 * ms, from: 3, acked: 5}
	next := hold{worker: "w2", task: 1, token: 20, before: 10, why: "death", start: 3 * s, claim: 4 * s, deadline: 5 * s, from: 3}
	for name, c := range map[string]struct {
		change  func(old, next *hold)
		overlap bool
		want    string // "": nothing is wrong
	}{
		"killed":                 {func(_, _ *hold) {}, false, ""},
		"lapsed":                 {func(old, _ *hold) { old.end, old.cause = 2102*ms, "lapsed" }, false, ""},
		"just late enough":       {func(_, next *hold) { next.start = 2150 * ms }, false, ""},
		"too soon":               {func(_, next *hold) { next.start = 2149 * ms }, true, "after the deadline"},
		"too soon, it had ended": {func(old, next *hold) { old.end, old.cause, next.start = 2102*ms, "lapsed", 2149*ms }, true, "after the deadline"},
		"claimed":                {func(_, next *hold) { next.start = 1999 * ms }, true, "held twice for 1ms"},
		"a later token first":    {func(_, next *hold) { next.start = 500 * ms }, true, "held twice"},
		"one token":              {func(_, next *hold) { next.token = 10 }, true, "one token"},
		"an odd past":            {func(_, next *hold) { next.before = 20 }, false, "not above"},
		"an old checkpoint":      {func(_, next *hold) { next.from = 2 }, false, "checkpoint 2"},
		"given away": {func(old, next *hold) {
			old.end, old.cause, next.start, next.why, next.from = 2010*ms, "handover", 2011*ms, "rebalance", 5
		}, false, ""},
		"given away too soon": {func(old, next *hold) {
			old.end, old.cause, next.start, next.why, next.from = 2010*ms, "handover", 2009*ms, "rebalance", 5
		}, true, "before it had stopped"},
		"given away and goes on":     {func(_, next *hold) { next.start, next.why, next.from = 2120*ms, "drain", 5 }, true, "before it had stopped"},
		"lapsed while it is stopped": {func(_, next *hold) { next.why = "drain" }, false, ""},
		"begun beside itself":        {func(_, next *hold) { next.worker = "w1" }, true, "had not returned"},
		"finished":                   {func(old, _ *hold) { old.done = true }, false, "after it was finished"},
		"given away without the last checkpoint": {func(old, next *hold) {
			old.end, old.cause, next.why, next.from = 2010*ms, "handover", "rebalance", 4
		}, false, "checkpoint 4"},
		"stopped and then killed":           {func(old, next *hold) { old.end, old.cause, next.start = 2010*ms, "stopping", 2020*ms }, false, ""},
		"stopped late, had had to before":   {func(old, next *hold) { old.end, old.cause, next.start = 9*s, "stopping", 2150*ms }, false, ""},
		"stopped late, and was not awaited": {func(old, next *hold) { old.end, old.cause, next.start = 9*s, "stopping", 2149*ms }, true, "after the deadline"},
		"another one in between":            {func(_, next *hold) { next.before, next.why = 15, "drain" }, false, ""},
	} {
		a, b := old, next
		c.change(&a, &b)
		found := (&judge{margin: 100 * ms, known: map[string]bool{}}).look([]hold{b, a})
		switch {
		case c.want == "" && len(found) == 0:
		case c.want == "" || len(found) != 1 || !strings.Contains(found[0].what, c.want) || found[0].overlap != c.overlap:
			t.Errorf("%s: %+v, want %q", name, found, c.want)
		}
	}
	j := judge{margin: 100 * ms, known: map[string]bool{}}
	next.start = 2100 * ms
	if first, again := j.look([]hold{old, next}), j.look([]hold{old, next}); len(first) != 1 || len(again) != 0 {
		t.Errorf("first %v, again %v: a finding is reported once", first, again)
	}
}
