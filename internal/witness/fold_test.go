package witness

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// What is folded counts as if it were kept: the same random history is run with a short memory and
// with an endless one.
func TestFoldingChangesNothing(t *testing.T) {
	for seed := range uint64(200) {
		short, long := history(t, seed, 4), history(t, seed, 1<<20)
		a, b := short.Report(), long.Report()
		if a.Totals != b.Totals || fmt.Sprint(a.Gaps) != fmt.Sprint(b.Gaps) || fmt.Sprint(a.Overlaps) == "" {
			t.Fatalf("seed %d: with 4 kept\n%+v %v\nwith all\n%+v %v", seed, a.Totals, a.Gaps, b.Totals, b.Gaps)
		}
		if len(a.Overlaps) != len(b.Overlaps) || len(a.Falls) != len(b.Falls) {
			t.Fatalf("seed %d: lists %d overlaps, not %d; %d falls, not %d", seed, len(a.Overlaps), len(b.Overlaps), len(a.Falls), len(b.Falls))
		}
		if n := len(short.keys["x"].spans); n > 7 {
			t.Fatalf("seed %d: %d spans kept", seed, n)
		}
		if seed == 0 && (b.Totals.Overlaps == 0 || b.Totals.Falls == 0 || b.Returns == 0 || b.Cut == 0 || b.Lost == 0 || b.Possible == 0) {
			t.Fatalf("this history is too tame: %s", b)
		}
	}
}

// history is 300 holds of one key by four holders, of which at most two meet, and one by a frozen
// one.
func history(t *testing.T, seed uint64, keep int) *Witness {
	r := rand.New(rand.NewPCG(seed, 1))
	now := ahead
	w := newWitness(Config{Keep: keep, Lost: 40 * ms}, clock{"m", func() time.Duration { return now }})
	join := func(i int) *session {
		name := string(rune('a' + i))
		if w.holders[name] == nil {
			w.holders[name] = &holder{name: name, sessions: map[*session]bool{}}
		}
		s := &session{holder: w.holders[name], w: w, offset: offset{shared: true}, spans: map[uint64]*span{}}
		s.sessions[s] = true
		return s
	}
	var by [4]*session
	for i := range by {
		by[i] = join(i)
	}
	pass := func() { now += time.Duration(1+r.IntN(20)) * ms }
	hear := func(s *session, m message) {
		m.Seq, m.At, m.Asked = s.seq+1, now, now
		if m.Op == begin { // they may come out of order
			m.At -= time.Duration(r.IntN(2)) * ms / 2
		}
		if err := s.hear(m, now); err != nil {
			t.Fatal(err)
		}
	}
	finish := func(i int) {
		s := by[i]
		pass()
		if s.spans[s.top].state == held && r.IntN(2) == 0 {
			hear(s, message{Op: still, UpTo: s.top})
		}
		switch r.IntN(4) {
		case 0:
			if s.spans[s.top].state == held {
				hear(s, message{Op: still, UpTo: s.top, Refused: []uint64{s.top}})
				pass()
			}
			hear(s, message{Op: end, ID: s.top})
		case 1:
			s.leave(s.name, nil)
			by[i] = join(i)
		default:
			hear(s, message{Op: end, ID: s.top, Held: s.spans[s.top].state == held})
		}
	}
	token := int64(0)
	last := -1
	frozen := join(4) // it begins after some of them, and states nothing until the end
	for n := range 300 {
		if n == 10 {
			pass()
			token += 10
			hear(frozen, message{Op: begin, ID: 1, Key: "x", Token: token})
		}
		i := r.IntN(4)
		if i == last {
			finish(last)
			last = -1
		}
		pass()
		token += 1 + int64(r.IntN(10)/9*-3)
		hear(by[i], message{Op: begin, ID: by[i].top + 1, Key: "x", Token: token, Reason: []string{"death", "drain"}[r.IntN(2)]})
		if last >= 0 {
			finish(last)
		}
		last = i
		if r.IntN(2) == 0 {
			finish(i)
			last = -1
		}
	}
	hear(frozen, message{Op: end, ID: 1})
	return w
}

// A begin that comes so late that it could meet a forgotten span cannot be judged.
func TestABeginThatComesTooLate(t *testing.T) {
	virtual(t, Config{Keep: 2}, func(b *bench) {
		one, late := b.dial("one"), b.raw("late", b.machine(), 0, 0)
		for i := range 6 {
			h := one.Hold("x", int64(i), "again", nil)
			b.at(time.Duration(i)*10*ms + 5*ms)
			h.Done()
			b.at(time.Duration(i)*10*ms + 10*ms)
		}
		late.say(message{Op: begin, At: ahead + 46*ms, ID: 1, Key: "x", Token: 9}) // only kept ones since then
		b.want("counts", b.Report().Totals.Faults, 0)
		late.say(message{Op: begin, At: ahead + 2*ms, ID: 2, Key: "x", Token: 9})
		b.want("counts", b.Report().Totals.Faults, 1)
		one.Close()
	})
}

func TestQuantiles(t *testing.T) {
	var h histogram
	for i := range 1000 {
		h.add(time.Duration(i+1) * ms)
	}
	for part, want := range map[float64]time.Duration{0.5: 500 * ms, 0.9: 900 * ms, 0.99: 990 * ms, 1: time.Second} {
		if got := h.quantile(part); got < want || got > want+want/16 {
			t.Errorf("p%v: %v, want %v", part*100, got, want)
		}
	}
	for _, d := range []time.Duration{0, 999, time.Microsecond, 31 * time.Microsecond, 32 * time.Microsecond, 365 * 24 * time.Hour} {
		var h histogram
		h.add(d)
		if got := h.quantile(0.5); got != d {
			t.Errorf("of %v alone: %v", d, got)
		}
	}
	if len(h.bucket) > 200 {
		t.Errorf("%d buckets", len(h.bucket))
	}
}
