package worqr_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// scenario 100: over every kind of hand-over. The fleet fails when one does not rise.
func TestPersistentTokenRisesWithEachHold(t *testing.T) {
	t.Parallel()
	f := newFrailFleet(t)
	a, stopA := f.join("a")
	f.ready(1)
	enqueue(t, f.mesh, "q", "t")
	first := f.now("t", 1)
	_, proxy := f.mortal("b")
	f.ready(2)
	if err := a.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	second := f.now("t", 2)
	if err := stopA(); err != nil {
		t.Error(err)
	}
	f.join("c")
	f.ready(2)
	kill(proxy) // b dies
	f.now("t", 3)
	f.cancel("t")
	f.gone("t", 3)
	f.located("t", "gone")
	enqueue(t, f.mesh, "q", "t")
	last := f.now("t", 4)
	tokens := []int64{}
	for _, turn := range f.history("t") {
		tokens = append(tokens, turn.p.Token())
	}
	t.Logf("tokens %v of %s, %s, %s", tokens, first.who, second.who, last.who)
	if at := f.locate("t"); at.Token != last.p.Token() {
		t.Errorf("located token %d, want %d", at.Token, last.p.Token())
	}
}

func TestPersistentDeadlineMovesOnWithTheBeats(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.join("a")
	f.ready(1)
	enqueue(t, f.mesh, "q", "t")
	p := f.now("t", 1).p
	last, moved := p.Deadline(), 0
	f.await("the deadline has moved on 10 times", func() bool {
		before := time.Now()
		valid := p.Valid()
		deadline := p.Deadline()
		if deadline.Before(last) {
			t.Errorf("the deadline went back from %v to %v", last, deadline)
		}
		if left := time.Until(deadline); left > f.base.Lapse-f.base.Margin {
			t.Errorf("the deadline is in %v, more than lapse less margin", left)
		}
		if valid && !before.Before(deadline) {
			t.Errorf("valid %v after the deadline", before.Sub(deadline))
		}
		if deadline.After(last) {
			last, moved = deadline, moved+1
		}
		return moved >= 10
	})
}

func TestPersistentProcessIsInvalidAfterALapse(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(*redistest.Proxy){
		"refused": func(p *redistest.Proxy) { kill(p) },
		"silent":  func(p *redistest.Proxy) { p.Freeze(redistest.Both) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFrailFleet(t)
			_, proxy := f.mortal("a")
			f.ready(1)
			enqueue(t, f.mesh, "q", "t")
			p := f.now("t", 1).p
			fault(proxy)
			f.await("it is not valid", func() bool {
				was := time.Now()
				valid := p.Valid()
				if deadline := p.Deadline(); valid && was.After(deadline) {
					t.Errorf("it was valid at %v, the deadline is %v", was, deadline)
				}
				return !valid
			})
			if deadline := p.Deadline(); deadline.After(time.Now()) {
				t.Errorf("it is not valid, and the deadline is %v", deadline)
			}
			if cause := ended(t, p.Context()); !errors.Is(cause, worqr.ErrLapsed) {
				t.Errorf("ended with %v, want ErrLapsed", cause)
			}
			if turn := f.gone("t", 1); !errors.Is(turn.cause, worqr.ErrLapsed) {
				t.Errorf("the handler saw %v, want ErrLapsed", turn.cause)
			}
			if p.Valid() {
				t.Error("it is valid again")
			}
		})
	}
}

func TestPersistentProcessIsInvalidAfterItsEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end   func(f *fleet, w *worqr.Worker, stop func() error, p *worqr.Process) error
		cause error
	}{
		"a cancel": {func(f *fleet, _ *worqr.Worker, _ func() error, _ *worqr.Process) error {
			f.cancel("t")
			return nil
		}, worqr.ErrCanceled},
		"a stop of the worker": {func(_ *fleet, _ *worqr.Worker, stop func() error, _ *worqr.Process) error {
			return stop()
		}, worqr.ErrStopping},
		"StopWork": {func(_ *fleet, w *worqr.Worker, _ func() error, _ *worqr.Process) error {
			return w.StopWork(context.Background(), "q")
		}, worqr.ErrStopping},
		"Worker.Fail": {func(_ *fleet, w *worqr.Worker, _ func() error, _ *worqr.Process) error {
			return w.Fail(context.Background())
		}, worqr.ErrStopping},
		"Finish": {func(_ *fleet, _ *worqr.Worker, _ func() error, p *worqr.Process) error {
			_, err := p.Finish(context.Background())
			return err
		}, worqr.ErrSettled},
		"Stop": {func(_ *fleet, _ *worqr.Worker, _ func() error, p *worqr.Process) error {
			return p.Stop(context.Background())
		}, worqr.ErrSettled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t)
			f.overlap = true // Stop and Finish are called while the handler runs
			w, stop := f.join("a")
			f.ready(1)
			enqueue(t, f.mesh, "q", "t")
			p := f.now("t", 1).p
			if !p.Valid() {
				t.Error("it is not valid while it is held")
			}
			if err := c.end(f, w, stop, p); err != nil {
				t.Error(err)
			}
			if turn := f.gone("t", 1); !errors.Is(turn.cause, c.cause) {
				t.Errorf("ended with %v, want %v", turn.cause, c.cause)
			}
			if p.Valid() {
				t.Error("it is still valid")
			}
		})
	}
}

func TestPersistentProcessIsInvalidAfterAHandOver(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.join("a")
	f.ready(1)
	enqueue(t, f.mesh, "q", "t", "u")
	f.now("t", 1)
	f.now("u", 1)
	f.join("b")
	f.spread(2, "a", "b")
	moved := f.endedBy(worqr.ErrHandover)
	if len(moved) != 1 || moved[0].who != "a" || moved[0].p.Valid() {
		t.Fatalf("moved: %+v, want one of a's, not valid", moved)
	}
	if kept := f.history(f.holds("a")[0])[0]; !kept.p.Valid() || kept.p.Context().Err() != nil {
		t.Error("what stays is not valid any more")
	}
}
