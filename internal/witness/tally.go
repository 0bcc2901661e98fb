package witness

import (
	"maps"
	"slices"
	"time"
)

// Totals count since the witness was made.
type Totals struct {
	Holds    int `json:"holds"`    // spans begun
	Moves    int `json:"moves"`    // from one holder to another
	Returns  int `json:"returns"`  // from one holder to the same
	Overlaps int `json:"overlaps"` // certain
	Possible int `json:"possible"` // overlaps that are not certain
	Falls    int `json:"falls"`
	Lost     int `json:"lost"` // times that a key had no certain holder for longer than Config.Lost
	Cut      int `json:"cut"`  // spans whose connection ended
	Late     int `json:"late"` // statements that came more than one interval late
	Faults   int `json:"faults"`
}

// Overlap is two spans of one key that were, or may have been, held at once.
type Overlap struct {
	Key     string        `json:"key"`
	Certain bool          `json:"certain"`
	Why     string        `json:"why,omitempty"` // it is not certain: clock, silent or stopping
	Open    bool          `json:"open"`          // statements still to come can change it
	First   Span          `json:"first"`
	Second  Span          `json:"second"`
	From    time.Duration `json:"from"`
	To      time.Duration `json:"to"`
}

// Fall is a span whose token is not above those of all spans that began before it.
type Fall struct {
	Key  string `json:"key"`
	Span Span   `json:"span"`
}

// Move is a key that goes from one holder to the next.
type Move struct {
	Key    string        `json:"key"`
	From   string        `json:"from"`
	To     string        `json:"to"`
	Token  int64         `json:"token"`
	Reason string        `json:"reason"`
	At     time.Duration `json:"at"`
	Gap    time.Duration `json:"gap"` // nobody certainly held it; none when they overlapped
}

// Fault is what a witness could not judge.
type Fault struct {
	At     time.Duration `json:"at"`
	Holder string        `json:"holder"`
	What   string        `json:"what"`
}

// listed is how many are named one by one; the totals count all of them.
const listed = 1000

// tally adds up what is final; a report continues with a copy.
type tally struct {
	Totals
	zero     time.Duration
	now      time.Duration
	lost     time.Duration
	overlaps []Overlap
	falls    []Fall
	faults   []Fault
	gaps     map[string]*histogram
}

func (t *tally) clone() *tally {
	c := *t
	c.overlaps, c.falls, c.faults = slices.Clone(t.overlaps), slices.Clone(t.falls), slices.Clone(t.faults)
	c.gaps = maps.Clone(t.gaps)
	for reason, h := range c.gaps {
		c.gaps[reason] = h.clone()
	}
	return &c
}

// arrival counts how the key came to its span i.
func (t *tally) arrival(k *key, i int) {
	m, moved, falls := k.came(i)
	if falls {
		t.Falls++
		t.falls = list(t.falls, Fall{k.name, t.span(k.spans[i])})
	}
	if !moved {
		return
	}
	if m.From == m.To {
		t.Returns++
	} else {
		t.Moves++
	}
	if t.lost > 0 && m.Gap > t.lost {
		t.Lost++
	}
	h := t.gaps[m.Reason]
	if h == nil {
		h = &histogram{}
		t.gaps[m.Reason] = h
	}
	h.add(m.Gap)
}

// meeting counts two spans of the key, of which a began first, if they were held together.
func (t *tally) meeting(k *key, a, b *span) {
	why, from, to, met := judge(a, b)
	if !met {
		return
	}
	if why == "" {
		t.Overlaps++
	} else {
		t.Possible++
	}
	t.overlaps = list(t.overlaps, Overlap{k.name, why == "", why, !decided(a, b),
		t.span(a), t.span(b), t.since(from), t.since(min(to, t.now))})
}

func (t *tally) fault(at time.Duration, holder, what string) {
	t.Faults++
	t.faults = list(t.faults, Fault{t.since(at), holder, what})
}

// since converts an instant of the machine's clock to one of a report.
func (t *tally) since(at time.Duration) time.Duration { return at - t.zero }

func list[T any](to []T, one T) []T {
	if len(to) < listed {
		to = append(to, one)
	}
	return to
}
