package worqr_test

import (
	"context"
	"errors"
	"testing"

	"github.com/worqr/worqr-go/worqr"
)

// winding is a handler that goes on after its context has ended, until it is told to return.
func (f *fleet) winding(name string, leave <-chan struct{}) worqr.HandlerFunc {
	return func(ctx context.Context, p *worqr.Process) error {
		turn := f.enter(name, p)
		<-ctx.Done()
		<-leave
		f.leave(turn, context.Cause(ctx))
		return nil
	}
}

// canceled waits until the context of a turn has ended by a cancel.
func (f *fleet) canceled(turn turn) {
	f.t.Helper()
	if cause := ended(f.t, turn.p.Context()); !errors.Is(cause, worqr.ErrCanceled) {
		f.t.Errorf("the context of %q ended with %v, want ErrCanceled", turn.task, cause)
	}
}

// Never two at once: the fleet fails when the second begins before the first has returned.
func TestPersistentTaskAddedWhileItsCancelledProcessEnds(t *testing.T) {
	t.Parallel()
	for name, add := range map[string]func(*fleet){
		"by Enqueue": func(f *fleet) { enqueue(f.t, f.mesh, "q", "t") },
		"by Enqueue, twice": func(f *fleet) {
			enqueue(f.t, f.mesh, "q", "t")
			enqueue(f.t, f.mesh, "q", "t", "t")
		},
		"by Reconcile": func(f *fleet) {
			if r := f.reconcile("t"); r != (worqr.Reconciled{Added: 1}) {
				f.t.Errorf("Reconcile: %+v, want 1 added", r)
			}
			if r := f.reconcile("t"); r != (worqr.Reconciled{Kept: 1}) {
				f.t.Errorf("Reconcile again: %+v, want 1 kept", r)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t)
			leave := make(chan struct{})
			w, _ := f.join("a", by(f.winding("a", leave)))
			f.join("b", by(f.winding("b", leave)))
			defer close(leave)
			f.ready(2)
			enqueue(t, f.mesh, "q", "t")
			first := f.now("t", 1)
			if c := f.cancel("t"); len(c.Running) != 1 {
				t.Errorf("Cancel: %+v, want one running", c)
			}
			f.canceled(first)
			if state := f.state("t"); state != "ending" {
				t.Errorf("it is %s, want ending", state)
			}
			add(f)
			f.beats(w, 12)
			if n := f.begun("t"); n != 1 {
				t.Fatalf("%d turns while the first has not returned", n)
			}
			leave <- struct{}{}
			second := f.now("t", 2)
			if second.p.Context().Err() != nil {
				t.Errorf("the second's context has ended: %v", context.Cause(second.p.Context()))
			}
			f.beats(w, 5)
			if at := f.locate("t"); at.State != "held" || at.Process != second.p.ID() || f.begun("t") != 2 {
				t.Errorf("located %+v, %d turns; want held as %s, 2 turns", at, f.begun("t"), second.p.ID())
			}
		})
	}
}

// what was added while the first process ended is canceled too
func TestPersistentTaskCancelledAgainWhileItsProcessEnds(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	leave := make(chan struct{})
	w, _ := f.join("a", by(f.winding("a", leave)))
	f.ready(1)
	enqueue(t, f.mesh, "q", "t")
	first := f.now("t", 1)
	f.cancel("t")
	f.canceled(first)
	enqueue(t, f.mesh, "q", "t")
	f.cancel("t")
	close(leave)
	f.located("t", "gone")
	f.beats(w, 5)
	if n := f.begun("t"); n != 1 {
		t.Errorf("%d turns, want 1", n)
	}
	enqueue(t, f.mesh, "q", "t")
	f.now("t", 2)
}

// the first process's worker dies while it ends: what was added starts after the lapse
func TestPersistentTaskAddedWhileItsCancelledProcessDies(t *testing.T) {
	t.Parallel()
	f := newFrailFleet(t)
	leave := make(chan struct{})
	_, proxy := f.mortal("a", by(f.winding("a", leave)))
	f.ready(1)
	enqueue(t, f.mesh, "q", "t")
	first := f.now("t", 1)
	f.cancel("t")
	f.canceled(first)
	enqueue(t, f.mesh, "q", "t")
	b, _ := f.join("b")
	f.beats(b, 5)
	if n := f.begun("t"); n != 1 {
		t.Fatalf("%d turns while the first has not returned", n)
	}
	kill(proxy)
	close(leave) // a dead one runs nothing
	if second := f.now("t", 2); second.who != "b" {
		t.Errorf("%s holds it, want b", second.who)
	}
	revive(proxy)
}

// A worker that lapsed and joined again leaves what an old handler of the same daemon still runs.
func TestPersistentTaskIsNotStartedWhereAnOldHandlerRuns(t *testing.T) {
	t.Parallel()
	f := newFrailFleet(t)
	leave := make(chan struct{})
	w, proxy := f.mortal("a", by(f.winding("a", leave)))
	defer close(leave)
	f.ready(1)
	enqueue(t, f.mesh, "q", "t", "u")
	first := f.now("t", 1)
	f.now("u", 1)
	id := w.ID()
	kill(proxy)
	if cause := ended(t, first.p.Context()); !errors.Is(cause, worqr.ErrLapsed) {
		t.Errorf("ended with %v, want ErrLapsed", cause)
	}
	revive(proxy)
	f.await("it has joined again", func() bool { return w.ID() != id && w.Alive() })
	f.beats(w, 20)
	if n := f.begun(""); n != 2 {
		t.Fatalf("%d turns, want 2: the old handlers still run here", n)
	}
	leave <- struct{}{}
	leave <- struct{}{}
	f.now("t", 2)
	f.now("u", 2)
}
