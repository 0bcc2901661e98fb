//go:build linux

package faults

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// event is something that happened.
type event struct {
	at        time.Duration
	who, what string
}

// note records what the test did.
func (f *fleet) note(format string, args ...any) {
	f.past = append(f.past, event{stamp(), "", fmt.Sprintf(format, args...)})
}

// history returns all that happened in the present run: the faults, the reports of the workers, and
// the holds.
func (f *fleet) history() string {
	list := slices.Clone(f.past)
	for _, w := range f.born {
		for _, line := range w.Lines() {
			at, text, _ := strings.Cut(line, " ")
			n, err := strconv.ParseInt(at, 10, 64)
			if err == nil && time.Duration(n) >= f.began {
				list = append(list, event{time.Duration(n), w.name, text})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	var b strings.Builder
	fmt.Fprintf(&b, "%s, run %d, began at %s: %+v\n", f.name, f.run, ms(f.began), f.timing)
	for _, e := range list {
		fmt.Fprintf(&b, "%s %-4s %s\n", ms(e.at), cmp.Or(e.who, "----"), e.what)
	}
	for _, h := range f.holds() {
		if h.end == 0 || h.end >= f.began {
			fmt.Fprintf(&b, "t%d: %s\n", h.task, h)
		}
	}
	return b.String()
}

// holds returns all holds so far.
func (f *fleet) holds() []hold {
	var list []hold
	for _, w := range f.born {
		list = append(list, w.records.all(w.name)...)
	}
	return list
}

func mapKeys[K comparable, V any](m map[K]V) iter.Seq[K] { return maps.Keys(m) }
