package heartbeat

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

// bench is a judge with a clock of its own and a server's clock. TTL 3 s, Margin 300 ms, so the
// tolerance is 75 ms.
type bench struct {
	*Judge
	t      *testing.T
	at     time.Time
	server time.Duration
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, at: time.Now(), server: 1e6 * time.Hour}
	b.Judge = must(newJudge(Config{}, func() time.Time { return b.at }))
	return b
}

// calm returns a bench whose judge has seen enough to be free of doubt.
func calm(t *testing.T) *bench {
	b := newBench(t)
	b.Server("run-1")
	b.pass(3 * time.Second)
	if b.InDoubt() {
		t.Fatal("in doubt after a calm TTL")
	}
	return b
}

// pass lets d pass on both clocks, with a sample at the start and every second, and at the end.
func (b *bench) pass(d time.Duration) {
	b.ask(0, 0)
	for ; d > 0; d -= time.Second {
		b.advance(min(d, time.Second))
		b.ask(0, 0)
	}
}

func (b *bench) advance(d time.Duration) { b.at = b.at.Add(d); b.server += d }

// ask is a request that takes there to reach the server, and back for the reply.
func (b *bench) ask(there, back time.Duration) {
	sent := b.at
	b.advance(there)
	server := b.server
	b.advance(back)
	b.Sample(sent, b.at, server)
}

func (b *bench) round(total int, want string, ids ...string) {
	b.t.Helper()
	var absent []Absent
	for _, id := range ids {
		if hand := id[0] == '!'; hand {
			absent = append(absent, Absent{ID: id[1:], ByHand: true})
		} else {
			absent = append(absent, Absent{ID: id})
		}
	}
	dead := b.Round(total, absent)
	if got := fmt.Sprint(dead); got != want {
		b.t.Errorf("absent %v of %d: dead %v, want %v", ids, total, got, want)
	}
}

func TestFreshJudge(t *testing.T) {
	b := newBench(t)
	b.round(2, "[]", "early")
	b.advance(time.Hour)
	if !b.InDoubt() {
		t.Error("in no doubt without a sample")
	}
	b.pass(3*time.Second - 1)
	if !b.InDoubt() {
		t.Error("in no doubt before TTL has passed since the first sample")
	}
	b.round(2, "[]", "a")
	b.advance(1)
	if b.InDoubt() {
		t.Error("in doubt TTL after the first sample")
	}
	b.round(2, "[b]", "a", "b")
	b = newBench(t) // sampled at once: TTL from its making
	b.pass(3*time.Second - 1)
	if !b.InDoubt() {
		t.Error("in no doubt before TTL has passed")
	}
	b.advance(1)
	if b.InDoubt() {
		t.Error("in doubt TTL after the making")
	}
}

func TestJudgeRefusesConfig(t *testing.T) {
	if judge, err := NewJudge(Config{TTL: time.Millisecond}); judge != nil || !errors.Is(err, ErrConfig) {
		t.Errorf("%v, %v; want ErrConfig", judge, err)
	}
}

// must returns the judge of a configuration that is known to be good.
func must(j *Judge, err error) *Judge {
	if err != nil {
		panic(err)
	}
	return j
}

func TestDoubt(t *testing.T) {
	for _, c := range []struct {
		name  string
		cause func(b *bench)
		doubt bool
	}{
		{"none", func(b *bench) { b.pass(time.Second) }, false},
		{"server stepped forward", func(b *bench) { b.server += 76 * ms; b.ask(0, 0) }, true},
		{"server stepped back", func(b *bench) { b.server -= 76 * ms; b.ask(0, 0) }, true},
		{"server stepped within tolerance", func(b *bench) { b.server += 75 * ms; b.ask(0, 0); b.ask(0, 0) }, false},
		{"own host slept", func(b *bench) { b.server += time.Minute; b.ask(0, 0) }, true},
		{"many small steps", func(b *bench) {
			for range 4 {
				b.advance(700 * ms)
				b.server += 20 * ms
				b.ask(0, 0)
			}
		}, true},
		{"a step while nothing was sampled", func(b *bench) { b.advance(time.Hour); b.server += 76 * ms; b.ask(0, 0) }, true},
		{"no sample for too long", func(b *bench) { b.advance(1751 * ms); b.ask(0, 0) }, true},
		{"no sample for long", func(b *bench) { b.advance(1750 * ms); b.ask(0, 0) }, false},
		{"no measure for too long", func(b *bench) { b.pass(time.Second); b.ask(ms, 900*ms); b.ask(0, 0) }, true},
		{"slow answer", func(b *bench) { b.ask(38*ms, 38*ms) }, true},
		{"answer within tolerance", func(b *bench) { b.ask(37*ms, 37*ms) }, false},
		{"two replies, slow back and slow there", func(b *bench) { b.ask(0, 40*ms); b.ask(40*ms, 0) }, true},
		{"two replies, slow there and slow back", func(b *bench) { b.ask(40*ms, 0); b.ask(0, 40*ms) }, true},
		{"another run", func(b *bench) { b.Server("run-2") }, true},
		{"same run", func(b *bench) { b.Server("run-1") }, false},
		{"unknown run", func(b *bench) { b.Server(""); b.Server("run-1") }, false},
		{"another run after an unknown one", func(b *bench) { b.Server(""); b.Server("run-2") }, true},
		{"late now", func(b *bench) { b.Late(b.at) }, true},
		{"late within TTL", func(b *bench) { b.Late(b.at.Add(-3*time.Second + 1)) }, true},
		{"late TTL ago", func(b *bench) { b.Late(b.at.Add(-3 * time.Second)) }, false},
		{"never late", func(b *bench) { b.Late(time.Time{}) }, false},
		{"most of three", func(b *bench) { b.round(3, "[]", "x", "y") }, true},
		{"most of five", func(b *bench) { b.round(5, "[]", "x", "y", "z") }, true},
		{"half of four", func(b *bench) { b.round(4, "[x y]", "x", "y") }, false},
		{"both of two", func(b *bench) { b.round(2, "[x y]", "x", "y") }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := calm(t)
			c.cause(b)
			if b.InDoubt() != c.doubt {
				t.Fatalf("in doubt %v, want %v", !c.doubt, c.doubt)
			}
			if !c.doubt {
				b.round(5, "[a]", "a")
				return
			}
			b.round(5, "[]", "a")
			if c.name == "late within TTL" {
				b.advance(1)
			} else {
				b.pass(3*time.Second - 1)
				if !b.InDoubt() {
					t.Error("doubt ended before TTL")
				}
				b.round(5, "[]", "a")
				b.advance(1)
			}
			if b.InDoubt() {
				t.Error("doubt outlasts TTL")
			}
			b.ask(0, 0)
			if b.InDoubt() {
				t.Error("one cause cast doubt twice")
			}
		})
	}
}

// The reply that shows a holder absent also carries the step of the clock: both belong to one look.
func TestStepInTheSameLook(t *testing.T) {
	b := calm(t)
	b.advance(time.Second)
	b.server += 5 * time.Second // its heartbeat is gone at once, its holder trusts for 2.7 s more
	b.ask(ms, ms)
	b.round(5, "[]", "a")
	b.pass(2997 * ms)
	b.round(5, "[]", "a")
	b.pass(3 * ms)
	b.round(5, "[a]", "a")
}

// Steps are added up over at least the last TTL, wherever the judge begins a new stretch of
// samples.
func TestStepsAddUpOverTTL(t *testing.T) {
	for _, before := range []time.Duration{0, ms, time.Second, 2900 * ms, 3 * time.Second, 3100 * ms} {
		b := calm(t)
		b.pass(before)
		b.server += 50 * ms
		b.pass(700 * ms)
		if b.InDoubt() {
			t.Fatal("a step within the tolerance cast doubt")
		}
		b.server += 50 * ms
		b.ask(0, 0)
		if !b.InDoubt() {
			t.Errorf("%v on: two steps of 50 ms within a second cast no doubt", before)
		}
	}
}

// A slow reply is too inexact to compare others with.
func TestSlowAnswerIsNoMeasure(t *testing.T) {
	for _, b := range []*bench{calm(t), newBench(t)} {
		if b.seen.empty() {
			b.ask(200*ms, 0)
			b.ask(0, 0) // the first usable one
		} else {
			b.ask(200*ms, 0)
		}
		b.advance(time.Second)
		b.ask(0, 0)
		b.advance(2 * time.Second)
		if b.InDoubt() {
			t.Error("in doubt TTL after the slow answer")
		}
	}
}

// Clocks that drift apart slowly, over hours, do not count as a step.
func TestSlowDriftIsNoDoubt(t *testing.T) {
	b := calm(t)
	for range 4 * 3600 {
		b.advance(time.Second)
		b.server += 100 * time.Microsecond
		b.ask(ms, ms)
		if b.InDoubt() {
			t.Fatal("100 ppm of drift cast doubt")
		}
	}
}
