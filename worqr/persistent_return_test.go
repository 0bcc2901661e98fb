package worqr_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/worqr/worqr-go/internal/embedded"
	"github.com/worqr/worqr-go/worqr"
)

// broken is a handler that returns at once, in one way.
func (f *fleet) broken(name string, how func() error) worqr.HandlerFunc {
	return func(_ context.Context, p *worqr.Process) error {
		turn := f.enter(name, p)
		f.leave(turn, nil)
		return how()
	}
}

// ways are how a handler may return without being done.
var ways = map[string]func() error{
	"nil":      func() error { return nil },
	"an error": func() error { return errors.New("the feed broke") },
	"a panic":  func() error { panic("burst pipe") },
	"Goexit":   func() error { runtime.Goexit(); return nil },
}

func TestPersistentTaskComesBackAfterAGrowingDelay(t *testing.T) {
	t.Parallel()
	for name, how := range ways {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, f *fleet, _ *embedded.Server) {
				f.join("a", by(f.broken("a", how)))
				f.ready(1)
				enqueue(t, f.mesh, "q", "t")
				time.Sleep(4 * time.Minute)
				h := f.history("t")
				if len(h) < 10 {
					t.Fatalf("%d turns in 4 minutes, want more than 10", len(h))
				}
				for i := 1; i < len(h); i++ {
					nominal := min(100*time.Millisecond<<(i-1), 30*time.Second)
					pause := h[i].began.Sub(h[i-1].ended)
					if pause < nominal/2 || pause > nominal+nominal/2+time.Second {
						t.Errorf("pause %d is %v, want about %v", i, pause, nominal)
					}
					if p := h[i].past; p.Why != worqr.ReasonReturned || p.Token != h[i-1].p.Token() {
						t.Errorf("turn %d: past %+v, want returned, token %d", i+1, p, h[i-1].p.Token())
					}
				}
			})
		})
	}
}

// It is not rounded up to the next beat: 100 ms are 100 ms, also where nothing else happens.
func TestPersistentDelayIsKeptExactly(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(t *testing.T, f *fleet, s *embedded.Server) {
		for _, name := range []string{"a", "b"} {
			run(t, cuttable(t, s).mesh, f.config(name, by(f.broken(name, ways["nil"]))))
		}
		f.ready(2)
		enqueue(t, f.mesh, "q", "t")
		time.Sleep(time.Minute)
		h := f.history("t")
		for i := 1; i < len(h); i++ {
			nominal := 100 * time.Millisecond << (i - 1)
			if pause := h[i].began.Sub(h[i-1].ended); pause > nominal+nominal/2+100*time.Millisecond {
				t.Errorf("pause %d is %v, want about %v", i, pause, nominal)
			}
		}
	})
}

func TestPersistentDelayStartsOverAfterAHoldOfAMinute(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(t *testing.T, f *fleet, _ *embedded.Server) {
		lasts := []time.Duration{0, 0, 0, 0, 0, 0, 30 * time.Second, 0, 61 * time.Second, 0, 0}
		var turns atomic.Int64
		f.join("a", by(func(ctx context.Context, p *worqr.Process) error {
			turn := f.enter("a", p)
			if i := int(turns.Add(1)) - 1; i < len(lasts) {
				time.Sleep(lasts[i])
			} else {
				<-ctx.Done()
			}
			f.leave(turn, context.Cause(ctx))
			return nil
		}))
		f.ready(1)
		enqueue(t, f.mesh, "q", "t")
		time.Sleep(5 * time.Minute)
		h := f.history("t")
		if len(h) != len(lasts)+1 {
			t.Fatalf("%d turns, want %d", len(h), len(lasts)+1)
		}
		var pauses []time.Duration
		for i := 1; i < len(h); i++ {
			pauses = append(pauses, h[i].began.Sub(h[i-1].ended))
		}
		if p := pauses[7]; p < 5*time.Second {
			t.Errorf("after a hold of 30 s the pause is %v, want the grown one (all: %v)", pauses[6], pauses)
		}
		if p := pauses[8]; p > 1200*time.Millisecond {
			t.Errorf("after a hold of 61 s the pause is %v, want 100 ms (all: %v)", p, pauses)
		}
		if p := pauses[9]; p > 1300*time.Millisecond || p < 100*time.Millisecond {
			t.Errorf("the one after is %v, want 200 ms (all: %v)", p, pauses)
		}
	})
}

func TestPersistentDelayIsSeenByLocate(t *testing.T) {
	t.Parallel()
	for name, how := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t)
			f.join("a", by(f.broken("a", how)))
			f.ready(1)
			enqueue(t, f.mesh, "q", "t")
			f.await("6 turns", func() bool { return f.begun("t") >= 6 }) // the next delay is some seconds
			at := f.located("t", "delayed")
			if left := time.Until(at.Due); left <= 0 || left > 8*time.Second {
				t.Errorf("%+v: due in %v, want within some seconds", at, left)
			}
			if at.Worker != "" || at.Process != "" || at.Deaths != 0 {
				t.Errorf("%+v: nobody holds it and nobody died", at)
			}
			if n := len(held(t, f.mesh, "q")); n != 0 {
				t.Errorf("%d in hand, want none", n)
			}
			// It is not there twice, and a cancel finds it.
			enqueue(t, f.mesh, "q", "t")
			if state := f.state("t"); state != "delayed" {
				t.Errorf("added again it is %s, want delayed", state)
			}
			if c := f.cancel("t"); c.Waiting != 1 || len(c.Running) != 0 {
				t.Errorf("Cancel: %+v, want one that waited", c)
			}
			if state := f.state("t"); state != "gone" {
				t.Errorf("canceled it is %s, want gone", state)
			}
		})
	}
}

// the slot of what returned is free for others at once, and their holds go on
func TestPersistentDelayConcernsOneTask(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	fails := f.broken("a", ways["an error"])
	holds := f.holder("a")
	w, _ := f.join("a", atMost(3), by(func(ctx context.Context, p *worqr.Process) error {
		if strings.HasPrefix(string(p.Task()), "bad") {
			return fails(ctx, p)
		}
		return holds(ctx, p)
	}))
	f.ready(1)
	enqueue(t, f.mesh, "q", "good0")
	f.now("good0", 1)
	enqueue(t, f.mesh, "q", "bad0", "bad1", "bad2")
	f.await("the bad ones have failed often", func() bool { return f.begun("bad0") > 4 && f.begun("bad1") > 4 && f.begun("bad2") > 4 })
	added := time.Now()
	enqueue(t, f.mesh, "q", "good1", "good2")
	second, third := f.now("good1", 1), f.now("good2", 1)
	for _, turn := range []turn{second, third} {
		if took := turn.began.Sub(added); took > time.Second {
			t.Errorf("%q had to wait for %v", turn.task, took)
		}
	}
	// The limit is reached, so what is due waits.
	f.located("bad0", "waiting")
	f.beats(w, 3)
	for i := range 3 {
		if n := f.begun(fmt.Sprint("good", i)); n != 1 {
			t.Errorf("good%d: %d turns, want 1", i, n)
		}
	}
}

// several workers: what returned on one may come back on another, but to one only
func TestPersistentReturnedTasksStaySpread(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	var failures atomic.Int64
	names := numbered("w", 3)
	for _, name := range names {
		holds, fails := f.holder(name), f.broken(name, ways["nil"])
		f.join(name, by(func(ctx context.Context, p *worqr.Process) error {
			if failures.Add(1) <= 60 {
				return fails(ctx, p)
			}
			return holds(ctx, p)
		}))
	}
	f.ready(3)
	enqueue(t, f.mesh, "q", numbered("t", 20)...)
	f.spread(20, names...)
	if n, moves := f.begun(""), len(f.endedBy(worqr.ErrHandover)); n != 80+moves {
		t.Errorf("%d turns with %d moves, want 80 and the moves", n, moves)
	}
}

// ErrDone ends the task also when the handler returns it because its context has ended
func TestPersistentTaskIsDoneAtAStop(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	_, stop := f.join("a", by(func(ctx context.Context, p *worqr.Process) error {
		turn := f.enter("a", p)
		<-ctx.Done()
		f.leave(turn, context.Cause(ctx))
		return fmt.Errorf("sold: %w", worqr.ErrDone)
	}))
	f.ready(1)
	enqueue(t, f.mesh, "q", "t")
	f.now("t", 1)
	if err := stop(); err != nil {
		t.Error(err)
	}
	if state := f.state("t"); state != "gone" {
		t.Errorf("it is %s, want gone", state)
	}
}
