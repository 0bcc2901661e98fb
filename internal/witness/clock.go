package witness

import (
	"fmt"
	"time"
)

// clock is the clock that a process reads its instants from. It never goes back. Two clocks with
// the same id are one clock, if they have an id.
type clock struct {
	id  string
	now func() time.Duration
}

// own returns a clock that no other process reads.
func own() clock {
	start := time.Now()
	return clock{now: func() time.Duration { return time.Since(start) }}
}

// instant is an interval on the witness's clock: something happened not before lo and not after hi.
type instant struct{ lo, hi time.Duration }

func (a instant) later(b instant) instant {
	return instant{max(a.lo, b.lo), max(a.hi, b.hi)}
}

// drift is the limit on how far two clocks that nobody sets can drift apart: each may be slewed by
// 500 ppm.
const drift = 1000 // one part in so many

// offset is what is known of a holder's clock: the witness's is ahead of it by something between lo
// and hi.
type offset struct {
	lo, hi   time.Duration
	at       time.Duration // when it was measured
	measured bool
	shared   bool // it is the same clock: nothing to measure
}

// measure takes in a round trip. The holder read stamp after the witness had sent its request and
// before the reply came. A pause of either side makes the offset wide and never wrong.
func (o *offset) measure(sent, stamp, received time.Duration) error {
	lo, hi := sent-stamp, received-stamp
	if o.measured {
		old := o.around(received)
		if lo > old.hi || hi < old.lo {
			return fmt.Errorf("its clock runs away: it was behind by %v to %v, now by %v to %v", old.lo, old.hi, lo, hi)
		}
		lo, hi = max(lo, old.lo), min(hi, old.hi)
	}
	*o = offset{lo: lo, hi: hi, at: received, measured: true}
	return nil
}

// around returns the offset at another instant, widened by the drift of the clocks.
func (o *offset) around(t time.Duration) instant {
	wider := (t - o.at).Abs() / drift
	return instant{o.lo - wider, o.hi + wider}
}

// same is called once the first round trips are measured. Equal ids show that it is one clock,
// unless the round trips contradict.
func (o *offset) same(a, b string) {
	o.shared = a != "" && a == b && o.lo <= 0 && o.hi >= 0
}

// place returns when a statement with this stamp was made.
func (o *offset) place(stamp, received time.Duration) (instant, error) {
	by := instant{}
	if !o.shared {
		by = o.around(stamp + o.lo)
	}
	at := instant{stamp + by.lo, min(stamp+by.hi, received)}
	if at.lo > received {
		return at, fmt.Errorf("a statement of an instant %v ahead of its receipt", at.lo-received)
	}
	return at, nil
}
