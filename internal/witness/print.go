package witness

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// String returns the totals, the gaps, and each error, one line for each.
func (r Report) String() string {
	var b strings.Builder
	states := map[string]int{}
	for _, k := range r.Keys {
		states[k.State]++
	}
	fmt.Fprintf(&b, "witness after %v: %d holders, %d keys: %d held, %d silent, %d stopping, %d free\n", short(r.Now),
		len(r.Holders), len(r.Keys), states["held"], states["silent"], states["stopping"], states["free"])
	fmt.Fprintf(&b, "%d holds, %d moves, %d returns; %d overlaps, %d possible; %d falls, %d lost, %d cut, %d late, %d faults\n",
		r.Holds, r.Moves, r.Returns, r.Totals.Overlaps, r.Possible, r.Totals.Falls, r.Lost, r.Cut, r.Late, r.Totals.Faults)
	for _, reason := range slices.Sorted(maps.Keys(r.Gaps)) {
		g := r.Gaps[reason]
		fmt.Fprintf(&b, "gap at %-12s %6d times, p50 %v, p90 %v, p99 %v, at most %v\n", reason, g.Count,
			short(g.P50), short(g.P90), short(g.P99), short(g.Max))
	}
	for _, o := range r.Overlaps {
		fmt.Fprintf(&b, "%s\n", o)
	}
	for _, f := range r.Falls {
		fmt.Fprintf(&b, "FALL %q: %s is not above those before\n", f.Key, f.Span.who())
	}
	for _, f := range r.Faults {
		fmt.Fprintf(&b, "FAULT %s at %v: %s\n", f.Holder, short(f.At), f.What)
	}
	for _, k := range r.Keys {
		if k.Lost {
			fmt.Fprintf(&b, "LOST %q: %s, last held by %s %v ago\n", k.Key, k.State, k.Holder, short(r.Now-k.Last))
		}
	}
	return b.String()
}

func (o Overlap) String() string {
	kind := "OVERLAP"
	if !o.Certain {
		kind = "possible overlap (" + o.Why + ")"
	}
	if o.Open {
		kind += ", still open"
	}
	return fmt.Sprintf("%s %q: %s and %s for %v from %v", kind, o.Key, o.First.who(), o.Second.who(), short(o.To-o.From), short(o.From))
}

func (s Span) who() string { return fmt.Sprintf("%s (token %d)", s.Holder, s.Token) }

func short(d time.Duration) time.Duration {
	if d < time.Millisecond {
		return d.Round(time.Microsecond)
	}
	return d.Round(100 * time.Microsecond)
}
