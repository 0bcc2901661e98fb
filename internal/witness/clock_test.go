package witness

import (
	"strings"
	"testing"
	"time"
)

// However long the messages take, and whenever the holder is paused, the true offset is within the
// bounds, and a statement is placed around when it was made.
func TestRoundTripsBoundAClock(t *testing.T) {
	const apart = 7 * time.Hour // the witness's clock is ahead by this
	delays := []time.Duration{0, ms, 3 * ms, 400 * ms, time.Minute}
	for _, to := range delays {
		for _, fro := range delays {
			var o offset
			now := 10 * time.Hour
			for _, d := range []time.Duration{5 * ms, 0} {
				sent, read := now, now+to+d
				if err := o.measure(sent, read-apart, read+fro+d); err != nil {
					t.Fatal(err)
				}
				now = read + fro + d
			}
			if o.lo > apart || o.hi < apart {
				t.Errorf("to %v, fro %v: offset in %v to %v, it is %v", to, fro, o.lo, o.hi, apart)
			}
			if wide := o.hi - o.lo; wide > to+fro+time.Minute/100 {
				t.Errorf("to %v, fro %v: bounds are %v wide", to, fro, wide)
			}
			for _, late := range delays {
				said := now + time.Second
				at, err := o.place(said-apart, said+late)
				if err != nil || at.lo > said || at.hi < said || at.hi > said+late {
					t.Errorf("said at %v, received %v later: placed in %v (%v)", said, late, at, err)
				}
			}
		}
	}
}

// One quick round trip makes up for slow ones, before and after it.
func TestTheQuickestRoundTripCounts(t *testing.T) {
	var o offset
	for i, took := range []time.Duration{time.Second, ms, time.Second} {
		sent := time.Duration(i) * 2 * time.Second
		if err := o.measure(sent, sent+took/2, sent+took); err != nil {
			t.Fatal(err)
		}
	}
	if wide := o.hi - o.lo; wide > 10*ms {
		t.Errorf("bounds are %v wide", wide)
	}
}

func TestAClockThatRunsAway(t *testing.T) {
	var o offset
	if err := o.measure(0, 0, ms); err != nil {
		t.Fatal(err)
	}
	if err := o.measure(100*time.Second, 100*time.Second+150*ms, 100*time.Second+ms); err == nil {
		t.Error("150 ms in 100 s pass for drift")
	}
	if err := o.measure(100*time.Second, 100*time.Second+90*ms, 100*time.Second+ms); err != nil {
		t.Errorf("90 ms in 100 s are drift: %v", err)
	}
}

func TestThisMachineHasOneClock(t *testing.T) {
	c := machine()
	if c.id == "" {
		t.Skip("no clock here is shared by processes: round trips measure them")
	}
	if machine().id != c.id {
		t.Error("it changes its name")
	}
	if a, b := c.now(), c.now(); a <= 0 || b < a {
		t.Errorf("it reads %v, then %v", a, b)
	}
}

// Holders on other clocks, whose round trips took 20 ms: the certain part is shorter by that, and
// the rest is possible.
func TestHoldersOnOtherClocks(t *testing.T) {
	for from, want := range map[time.Duration]string{
		160 * ms: "moves 1 returns 0 overlaps 1 possible 0 falls 0 cut 0 late 0 faults 0",
		195 * ms: "moves 1 returns 0 overlaps 0 possible 1 falls 0 cut 0 late 0 faults 0",
		205 * ms: "moves 1 returns 0 overlaps 0 possible 1 falls 0 cut 0 late 0 faults 0",
		240 * ms: "moves 1 returns 0 overlaps 0 possible 0 falls 0 cut 0 late 0 faults 0",
	} {
		virtual(t, Config{}, func(b *bench) {
			one := b.raw("one", b.shifted(-5*time.Hour), 10*ms, 10*ms)
			two := b.raw("two", b.shifted(30*time.Minute), 10*ms, 10*ms)
			met := time.Since(b.start)
			said := func(d, shift time.Duration) time.Duration { return ahead + met + d + shift }
			one.say(message{Op: begin, At: said(0, -5*time.Hour), ID: 1, Key: "x", Token: 1})
			b.at(met + 200*ms)
			one.say(message{Op: end, At: said(200*ms, -5*time.Hour), ID: 1, Held: true})
			b.at(met + 300*ms)
			two.say(message{Op: begin, At: said(from, 30*time.Minute), ID: 1, Key: "x", Token: 2})
			b.at(met + 350*ms)
			two.say(message{Op: end, At: said(350*ms, 30*time.Minute), ID: 1, Held: true})
			r := b.Report()
			got := counts(r)
			got = strings.Replace(got, "late 1", "late 0", 1) // the begin comes 300-begin late
			b.want("begin at "+from.String(), got, want)
			for _, o := range r.Overlaps {
				if !o.Certain {
					b.want("why", o.Why, "clock")
				}
			}
			if d := r.Holders[0].Doubt; d < 20*ms || d > 21*ms {
				b.Errorf("the clock of one is uncertain by %v", d)
			}
		})
	}
}

// shifted returns a clock that no other process reads.
func (b *bench) shifted(by time.Duration) clock {
	start := b.start
	return clock{now: func() time.Duration { return ahead + time.Since(start) + by }}
}

// It has the id of the machine's clock, but is another clock.
func TestAFalseClockIsMeasured(t *testing.T) {
	virtual(t, Config{}, func(b *bench) {
		c := b.shifted(-time.Minute)
		c.id = "m"
		one, two := b.dialWith("one", c), b.dial("two")
		h := one.Hold("x", 1, "first", nil)
		b.at(5550 * ms) // it is measured again meanwhile
		h.Done()
		b.at(5560 * ms)
		two.Hold("x", 2, "hand over", nil)
		two.Sync(b.Context())
		r := b.Report()
		b.want("counts", counts(r), "moves 1 returns 0 overlaps 0 possible 0 falls 0 cut 0 late 0 faults 0")
		if gap := r.Gaps["hand over"].Max; gap < 10*ms || gap > 12*ms {
			b.Errorf("the gap is %v", gap)
		}
		if d := r.Holders[0].Doubt; d <= 0 || d > 2*ms {
			b.Errorf("its clock is uncertain by %v", d)
		}
		if d := r.Holders[1].Doubt; d != 0 {
			b.Errorf("the machine's clock is uncertain by %v", d)
		}
		one.Close()
		two.Close()
	})
}
