package worqr_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/worqr/worqr-go/internal/embedded"
	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// poisoned runs a worker that dies as soon as it holds a poison task, and is born again when it has
// lapsed.
func (f *fleet) poisoned(name string, settings ...setting) *redistest.Proxy {
	holds := f.holder(name)
	var proxy *redistest.Proxy
	ready := make(chan struct{})
	handler := by(func(ctx context.Context, p *worqr.Process) error {
		<-ready
		if !strings.HasPrefix(string(p.Task()), "poison") {
			return holds(ctx, p)
		}
		turn := f.enter(name, p)
		kill(proxy)
		<-ctx.Done()
		f.leave(turn, context.Cause(ctx))
		f.bury(p)
		revive(proxy)
		return nil
	})
	_, proxy = f.mortal(name, append(settings, handler)...)
	close(ready)
	return proxy
}

func TestPersistentTaskThatKillsItsWorkersIsSuspected(t *testing.T) {
	t.Parallel()
	f := newFrailFleet(t)
	names := numbered("w", 4)
	for _, name := range names {
		f.poisoned(name)
	}
	f.ready(4)
	good := numbered("good", 8)
	enqueue(t, f.mesh, "q", good...)
	f.spread(8, names...)
	enqueue(t, f.mesh, "q", "poison")
	at := f.located("poison", "suspect")
	// A judge that was late itself blames nobody: on a busy machine that may be one or two of them.
	// In virtual time it is exact.
	if n := f.begun("poison"); at.Deaths != 3 || n < 3 || n > 5 {
		t.Errorf("located %+v after %d turns; want 3 deaths", at, n)
		f.logTurns("poison")
	}
	if left := time.Until(at.Due); left < 30*time.Second || left > 90*time.Second {
		t.Errorf("due in %v, want about a minute", left)
	}
	if at.Worker != "" || at.Process != "" {
		t.Errorf("%+v: nobody holds it", at)
	}
	// The others are held, as before or again, and none of them is suspected.
	f.await("the good ones are held", func() bool { return slices.Equal(f.holds(""), good) })
	for _, task := range good {
		if at := f.locate(task); at.State != "held" {
			t.Errorf("%q: %+v, want held", task, at)
		}
	}
	dead := map[string]bool{}
	for _, turn := range f.history("poison") {
		dead[turn.who] = true
	}
	for _, task := range good {
		if first := f.history(task)[0]; !dead[first.who] && first.over && !errors.Is(first.cause, worqr.ErrHandover) { // the dead come back, and get their share
			t.Errorf("%q was held by %s, which did not die, and yet it ended: %v", task, first.who, first.cause)
		}
	}
	t.Logf("it killed %v", dead)
	// It is present, and a cancel ends it.
	if r := f.reconcile(append(good, "poison")...); r != (worqr.Reconciled{Kept: 9}) {
		t.Errorf("Reconcile: %+v, want 9 kept", r)
	}
	enqueue(t, f.mesh, "q", "poison")
	if again := f.locate("poison"); again != at {
		t.Errorf("added again it is %+v, want %+v", again, at)
	}
	if c := f.cancel("poison"); c.Waiting != 1 {
		t.Errorf("Cancel: %+v, want 1 that waited", c)
	}
	f.located("poison", "gone")
}

// slow is a worker for tests of hours in virtual time. It moves nothing.
func slow(c *worqr.WorkerConfig, q *worqr.Queue) {
	c.Beat, c.Lapse, c.Margin, c.Sweep, q.Hold.Settle = 5*time.Second, 20*time.Second, 0, 5*time.Second, time.Hour
}

// Each further death doubles the delay, from a minute to an hour.
func TestPersistentSuspectWaitsLongerAndLonger(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(t *testing.T, f *fleet, s *embedded.Server) {
		for _, name := range []string{"a", "b"} {
			doomed, holds := cuttable(t, s), f.holder(name)
			run(t, doomed.mesh, f.config(name, slow, by(func(ctx context.Context, p *worqr.Process) error {
				if string(p.Task()) != "poison" {
					return holds(ctx, p)
				}
				turn := f.enter(name, p)
				if f.begun("poison") <= 9 {
					doomed.cut(true)
				}
				<-ctx.Done()
				f.leave(turn, context.Cause(ctx))
				f.bury(p)
				doomed.cut(false)
				return nil
			})))
		}
		f.ready(2)
		enqueue(t, f.mesh, "q", "poison")
		var delays []time.Duration
		for deaths := 3; deaths <= 9; deaths++ {
			at := f.locate("poison")
			for waited := 0; at.State != "suspect" || at.Deaths < deaths; waited++ {
				if waited > 300 {
					f.logTurns("poison")
					t.Fatalf("no death number %d in five minutes: %+v\n%s", deaths, at, f)
				}
				time.Sleep(time.Second)
				at = f.locate("poison")
			}
			if at.Deaths != deaths {
				t.Errorf("%d deaths, want %d", at.Deaths, deaths)
			}
			delays = append(delays, time.Until(at.Due))
			time.Sleep(time.Until(at.Due))
		}
		for i, delay := range delays {
			nominal := min(time.Minute<<i, time.Hour)
			if delay < nominal/2 || delay > nominal+nominal/2 {
				t.Errorf("delay %d is %v, want about %v (all: %v)", i+1, delay, nominal, delays)
			}
		}
		// It is cured: after a long hold it is a task like others.
		time.Sleep(20 * time.Minute)
		if n := f.begun("poison"); n != 10 || len(f.holds("")) != 1 {
			t.Errorf("%d turns, held: %v; want it held since the 10th", n, f.holds(""))
		}
	})
}

// One that was held for long when its worker died is not to blame: three deaths apart suspect
// nobody.
func TestPersistentLongHoldsAreNotSuspected(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(t *testing.T, f *fleet, s *embedded.Server) {
		lines := map[string]*line{}
		for _, name := range numbered("w", 3) {
			lines[name] = cuttable(t, s)
			run(t, lines[name].mesh, f.config(name, slow))
		}
		f.ready(3)
		enqueue(t, f.mesh, "q", "t")
		for i := range 6 {
			holder := f.now("t", i+1).who
			time.Sleep(10 * time.Minute)
			lines[holder].cut(true)
			time.Sleep(time.Minute)
			next := f.now("t", i+2)
			if next.who == holder {
				t.Errorf("%s holds it again while it is cut off", holder)
			}
			if at := f.locate("t"); at.Deaths > 1 {
				t.Errorf("after %d deaths, each after a long hold: %+v", i+1, at)
			}
			lines[holder].cut(false)
			time.Sleep(time.Minute)
		}
	})
}

// A worker that is killed with many young holds takes none of them to the suspects.
func TestPersistentBystandersAreNotSuspected(t *testing.T) {
	t.Parallel()
	f := newFrailFleet(t)
	names := numbered("w", 4)
	for _, name := range names {
		f.poisoned(name)
	}
	f.ready(4)
	// All of them are young, and the poison is among them.
	good := numbered("good", 30)
	enqueue(t, f.mesh, "q", append(slices.Clone(good), "poison")...)
	f.located("poison", "suspect")
	f.await(fmt.Sprintf("the %d others are held", len(good)), func() bool { return len(f.holds("")) == len(good) })
	if n := f.begun("poison"); n < 3 || n > 5 {
		t.Errorf("the poison was begun %d times, want 3, or a few more on a busy machine", n)
		f.logTurns("poison")
	}
}

// However long the lapse is: that it took long to see a death says nothing about how long the
// worker lived.
func TestPersistentSuspectsWithALongLapse(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(t *testing.T, f *fleet, s *embedded.Server) {
		for _, name := range numbered("w", 3) {
			doomed := cuttable(t, s)
			run(t, doomed.mesh, f.config(name, slow, by(func(ctx context.Context, p *worqr.Process) error {
				turn := f.enter(name, p)
				doomed.cut(true)
				<-ctx.Done()
				f.leave(turn, context.Cause(ctx))
				f.bury(p)
				doomed.cut(false)
				return nil
			})))
		}
		f.ready(3)
		enqueue(t, f.mesh, "q", "poison")
		for f.state("poison") != "suspect" {
			if n := f.begun("poison"); n > 3 {
				t.Fatalf("begun %d times, and still %+v", n, f.locate("poison"))
			}
			time.Sleep(time.Second)
		}
	})
}
