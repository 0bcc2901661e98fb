package witness

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const ms = time.Millisecond

func TestACleanHandOver(t *testing.T) {
	virtual(t, Config{}, func(b *bench) {
		one, two := b.dial("one"), b.dial("two")
		h := one.Hold("x", 1, "first", nil)
		b.at(1234 * ms)
		h.Done()
		h.Done()
		b.at(1264 * ms)
		g := two.Hold("x", 2, "hand over", nil)
		b.at(2 * time.Second)
		r := b.Report()
		b.want("counts", counts(r), "moves 1 returns 0 overlaps 0 possible 0 falls 0 cut 0 late 0 faults 0")
		b.want("move", r.Keys[0].Moves[0], Move{"x", "one", "two", 2, "hand over", 1264 * ms, 30 * ms})
		b.want("gap", r.Gaps["hand over"], Gaps{1, 30 * ms, 30 * ms, 30 * ms, 30 * ms})
		b.want("first span", r.Keys[0].Spans[0], Span{"one", 1, "first", "ended", 0, 1234 * ms, 0, 1234 * ms})
		b.want("second span", r.Keys[0].Spans[1], Span{"two", 2, "hand over", "held", 1264 * ms, 2000 * ms, 0, 0})
		g.Done()
		one.Close()
		two.Close()
		b.want("counts", counts(b.Report()), "moves 1 returns 0 overlaps 0 possible 0 falls 0 cut 0 late 0 faults 0")
	})
}

// The old holder's tick at 200 is the only thing that it states after the new one began.
func TestAnOverlapOfOneTick(t *testing.T) {
	virtual(t, Config{}, func(b *bench) {
		one, two := b.dial("one"), b.dial("two")
		var over atomic.Bool
		h := one.Hold("x", 1, "first", func() bool { return !over.Load() })
		b.at(150 * ms)
		two.Hold("x", 2, "lapse", nil)
		synctest.Wait()
		r := b.Report()
		b.want("before the tick", counts(r), "moves 1 returns 0 overlaps 0 possible 1 falls 0 cut 0 late 0 faults 0")
		b.want("it is open", r.Overlaps[0].Open, true)
		b.at(205 * ms)
		over.Store(true)
		h.Done()
		b.at(time.Second)
		r = b.Report()
		b.want("counts", counts(r), "moves 1 returns 0 overlaps 1 possible 0 falls 0 cut 0 late 0 faults 0")
		o := r.Overlaps[0]
		b.want("overlap", [2]time.Duration{o.From, o.To}, [2]time.Duration{150 * ms, 200 * ms})
		one.Close()
		two.Close()
	})
}

// Both between two ticks: the end states exactly until when it was held.
func TestAnOverlapWithinATick(t *testing.T) {
	virtual(t, Config{}, func(b *bench) {
		one, two := b.dial("one"), b.dial("two")
		h := one.Hold("x", 1, "first", nil)
		b.at(150 * ms)
		g := two.Hold("x", 2, "lapse", nil)
		b.at(151 * ms)
		g.Done()
		h.Done()
		one.Close()
		two.Close()
		b.want("counts", counts(b.Report()), "moves 1 returns 0 overlaps 1 possible 0 falls 0 cut 0 late 0 faults 0")
		b.want("for", b.Report().Overlaps[0].To-b.Report().Overlaps[0].From, ms)
	})
}

// A holder is paused between its clock and the wire: what arrives at 900 was stated at 300.
func TestADelayedStatementIsNoOverlap(t *testing.T) {
	virtual(t, Config{}, func(b *bench) {
		one, two := b.raw("one", b.machine(), 0, 0), b.dial("two")
		one.say(message{Op: begin, At: ahead, ID: 1, Key: "x", Token: 1})
		b.at(500 * ms)
		two.Hold("x", 2, "lapse", nil)
		b.at(900 * ms)
		one.say(message{Op: still, At: ahead + 300*ms, UpTo: 1})
		r := b.Report()
		b.want("counts", counts(r), "moves 1 returns 0 overlaps 0 possible 1 falls 0 cut 0 late 1 faults 0")
		b.want("why", r.Overlaps[0].Why, "silent")
		b.want("gap", r.Keys[0].Moves[0].Gap, 200*ms)
		one.say(message{Op: end, At: ahead + 310*ms, ID: 1})
		b.want("counts", counts(b.Report()), "moves 1 returns 0 overlaps 0 possible 0 falls 0 cut 0 late 2 faults 0")
		two.Close()
	})
}

// The same with a real teller, stopped from 300 until 900, right after it read its clock for a
// tick. What valid returns at 900 counts for 300; only the next tick can state anything of 900.
func TestAHolderPausedInItsTick(t *testing.T) {
	for yes, want := range map[int32]struct {
		last   time.Duration
		counts string
	}{
		3: {200 * ms, "moves 1 returns 0 overlaps 0 possible 1 falls 0 cut 0 late 1 faults 0"},
		4: {300 * ms, "moves 1 returns 0 overlaps 0 possible 1 falls 0 cut 0 late 1 faults 0"},
		5: {900 * ms, "moves 1 returns 0 overlaps 1 possible 0 falls 0 cut 0 late 1 faults 0"},
	} {
		virtual(t, Config{}, func(b *bench) {
			c := b.machine()
			read := c.now
			c.now = func() time.Duration {
				at := read()
				if at == ahead+300*ms {
					time.Sleep(600 * ms)
				}
				return at
			}
			one, two := b.dialWith("one", c), b.dial("two")
			var asked atomic.Int32
			h := one.Hold("x", 1, "first", func() bool { return asked.Add(1) <= yes })
			b.at(500 * ms)
			g := two.Hold("x", 2, "lapse", nil)
			b.at(550 * ms)
			g.Done()
			b.at(890 * ms)
			b.want("while it is silent", b.Report().Possible, 1)
			b.at(905 * ms)
			h.Done()
			one.Close()
			two.Close()
			r := b.Report()
			b.want("last", r.Keys[0].Spans[0].Last, want.last)
			b.want("counts", counts(r), want.counts)
		})
	}
}

func TestADeadHolder(t *testing.T) {
	virtual(t, Config{Lost: 400 * ms}, func(b *bench) {
		one, two := b.dial("one"), b.dial("two")
		one.Hold("x", 1, "first", nil)
		b.at(350 * ms)
		one.conn.Close()
		b.at(799 * ms)
		b.want("state", b.Report().Keys[0].State, "free")
		b.want("lost", b.Report().Keys[0].Lost, true)
		two.Hold("x", 2, "death", nil)
		b.at(time.Second)
		r := b.Report()
		b.want("counts", counts(r), "moves 1 returns 0 overlaps 0 possible 0 falls 0 cut 1 late 0 faults 0")
		b.want("span", r.Keys[0].Spans[0], Span{"one", 1, "first", "cut", 0, 300 * ms, 0, 350 * ms})
		b.want("gap", r.Gaps["death"].Max, 499*ms)
		b.want("lost", r.Lost, 1)
		b.want("lost now", r.Keys[0].Lost, false)
		if one.Err() == nil {
			b.Error("the teller does not know that it is not heard")
		}
		one.Close()
		two.Close()
	})
}

// It has stated that it no longer holds, and not yet that it has stopped.
func TestAHolderThatOverstays(t *testing.T) {
	virtual(t, Config{}, func(b *bench) {
		one, two := b.dial("one"), b.dial("two")
		h := one.Hold("x", 1, "first", func() bool { return time.Since(b.start) < 250*ms })
		b.at(350 * ms)
		b.want("state", b.Report().Keys[0].State, "stopping")
		two.Hold("x", 2, "lapse", nil)
		b.at(450 * ms)
		h.Done()
		two.Sync(b.Context())
		one.Close()
		r := b.Report()
		b.want("counts", counts(r), "moves 1 returns 0 overlaps 0 possible 1 falls 0 cut 0 late 0 faults 0")
		o := r.Overlaps[0]
		b.want("why", o.Why, "stopping")
		b.want("first", o.First, Span{"one", 1, "first", "ended", 0, 200 * ms, 300 * ms, 450 * ms})
		b.want("for", o.To-o.From, 100*ms)
		two.Close()
	})
}

func TestARestartUnderTheSameName(t *testing.T) {
	virtual(t, Config{}, func(b *bench) {
		one := b.dial("one")
		one.Hold("x", 1, "first", nil)
		b.at(250 * ms)
		one.conn.Close()
		one.Close()
		again := b.dial("one")
		again.Hold("x", 2, "restart", nil)
		b.at(time.Second)
		r := b.Report()
		b.want("counts", counts(r), "moves 0 returns 1 overlaps 0 possible 0 falls 0 cut 1 late 0 faults 0")
		b.want("gap", r.Gaps["restart"].Max, 50*ms)
		h := r.Holders[0]
		b.want("sessions", [3]int{h.Connected, h.Sessions, h.Holds}, [3]int{1, 2, 1})
		again.Close()
	})
}

func TestATokenThatFalls(t *testing.T) {
	virtual(t, Config{}, func(b *bench) {
		one, two := b.dial("one"), b.dial("two")
		for i, token := range []int64{5, 7, 6, 7, 8} { // 6 is below 7, and the second 7 is not above it
			b.at(time.Duration(i) * 10 * ms)
			h := []*Teller{one, two}[i%2].Hold("x", token, "move", nil)
			b.at(time.Duration(i)*10*ms + 5*ms)
			h.Done()
		}
		one.Close()
		two.Close()
		r := b.Report()
		b.want("counts", counts(r), "moves 4 returns 0 overlaps 0 possible 0 falls 2 cut 0 late 0 faults 0")
		b.want("first fall", r.Falls[0].Span.Token, int64(6))
	})
}
