package worqr_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/worqr/worqr-go/internal/embedded"
	"github.com/worqr/worqr-go/worqr"
)

// registered reports whether a worker is in the mesh and alive.
func (f *fleet) registered(w *worqr.Worker) bool {
	f.t.Helper()
	workers, err := f.mesh.Workers(context.Background())
	if err != nil {
		f.t.Fatal(err)
	}
	return slices.ContainsFunc(workers, func(i worqr.WorkerInfo) bool { return i.ID == w.ID() && i.Alive })
}

func TestPersistentDrainGivesUpEverythingAndTakesNoMore(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	a, _ := f.join("a")
	_, stopB := f.join("b")
	f.ready(2)
	enqueue(t, f.mesh, "q", numbered("t", 12)...)
	f.spread(12, "a", "b")
	id := a.ID()
	if err := a.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(f.holds("a")); n != 0 {
		t.Errorf("a holds %d after Drain", n)
	}
	f.spread(12, "b")
	for _, turn := range f.chosen(func(t *turn) bool { return t.who == "a" }) {
		if !errors.Is(turn.cause, worqr.ErrHandover) && !errors.Is(turn.cause, worqr.ErrStopping) {
			t.Errorf("%q of a ended with %v, want ErrHandover or ErrStopping", turn.task, turn.cause)
		}
	}
	if f.begun("") != 18 {
		t.Errorf("%d turns, want 18: those of a once more", f.begun(""))
	}
	enqueue(t, f.mesh, "q", numbered("u", 3)...)
	f.spread(15, "b")
	if err := a.Drain(t.Context()); err != nil {
		t.Errorf("Drain again: %v", err)
	}
	// Nobody else is there: what waits, waits.
	if err := stopB(); err != nil {
		t.Error(err)
	}
	f.beats(a, 12)
	if n, err := f.mesh.Len(t.Context(), "q"); n != 15 || err != nil || len(f.holds("")) != 0 {
		t.Errorf("%d wait, %v, %v are held; want 15 and none", n, err, f.holds(""))
	}
	if !f.registered(a) || a.ID() != id || !a.Alive() {
		t.Errorf("a is not registered as %s any more: it is %s", id, a.ID())
	}
	// A joiner gets it all.
	f.join("c")
	f.spread(15, "c")
}

func TestPersistentDrainOfTheOnlyWorker(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	a, stop := f.join("a")
	f.ready(1)
	enqueue(t, f.mesh, "q", numbered("t", 5)...)
	f.spread(5, "a")
	if err := a.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.beats(a, 5)
	if n, err := f.mesh.Len(t.Context(), "q"); n != 5 || err != nil || len(f.holds("")) != 0 {
		t.Errorf("%d wait, %v, %v are held; want 5 and none", n, err, f.holds(""))
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// a drained worker that lapses and joins again takes nothing either
func TestPersistentDrainOutlivesALapse(t *testing.T) {
	t.Parallel()
	f := newFrailFleet(t)
	a, proxy := f.mortal("a")
	f.ready(1)
	enqueue(t, f.mesh, "q", numbered("t", 3)...)
	f.spread(3, "a")
	if err := a.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	id := a.ID()
	kill(proxy)
	f.await("it has lapsed", func() bool { return !a.Alive() })
	revive(proxy)
	f.await("it has joined again", func() bool { return a.ID() != id && a.Alive() })
	f.beats(a, 8)
	if held := f.holds(""); len(held) != 0 || f.begun("") != 3 {
		t.Errorf("%v are held, %d turns; want none and 3", held, f.begun(""))
	}
}

func TestPersistentDrainRefusals(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	w, err := f.mesh.NewWorker(f.config("a"))
	if err != nil {
		t.Fatal(err)
	}
	says(t, "Drain before Start", w.Drain(t.Context()), worqr.ErrNotStarted)
	leave := make(chan struct{})
	b, stop := f.join("b", by(f.winding("b", leave)))
	f.ready(1)
	enqueue(t, f.mesh, "q", "t")
	f.now("t", 1)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := b.Drain(ctx); !errors.Is(err, worqr.ErrStopping) {
		t.Errorf("Drain with a handler that does not return: %v, want ErrStopping", err)
	}
	close(leave)
	if err := b.Drain(t.Context()); err != nil {
		t.Errorf("Drain when it has: %v", err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	says(t, "Drain after the end", b.Drain(t.Context()), worqr.ErrClosed)
}

// Not all connections break at one instant, and all have before Grace ends.
func TestPersistentDrainKeepsAPace(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(t *testing.T, f *fleet, s *embedded.Server) {
		const tasks, rate, grace = 200, 20, 20 * time.Second
		slow := func(c *worqr.WorkerConfig, q *worqr.Queue) {
			c.Grace, q.Hold = grace, worqr.Hold{Settle: time.Hour, MoveRate: rate}
		}
		a, _ := run(t, cuttable(t, s).mesh, f.config("a", slow))
		run(t, cuttable(t, s).mesh, f.config("b", slow))
		f.ready(2)
		enqueue(t, f.mesh, "q", numbered("t", tasks)...)
		f.spread(tasks, "a", "b")
		began := time.Now()
		if err := a.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		took := time.Since(began)
		f.spread(tasks, "b")
		var ends []time.Time
		for _, turn := range f.chosen(func(t *turn) bool { return t.who == "a" }) {
			ends = append(ends, turn.ended)
		}
		if took > grace {
			t.Errorf("it took %v, want less than the grace of %v", took, grace)
		}
		keepsRate(t, "releases", ends, rate*1.1, rate*1.1)
	})
}

func TestPersistentStopReleasesBeforeGrace(t *testing.T) {
	t.Parallel()
	for _, tasks := range []int{1, 60} {
		f := newFleet(t)
		const grace = 3 * time.Second
		short := func(c *worqr.WorkerConfig, q *worqr.Queue) { c.Grace, q.Hold.Settle = grace, time.Hour }
		_, stop := f.join("a", short)
		f.ready(1)
		enqueue(t, f.mesh, "q", numbered("t", tasks)...)
		f.spread(tasks, "a")
		b, _ := f.join("b", short)
		f.ready(2)
		began := time.Now()
		if err := stop(); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > grace {
			t.Errorf("%d tasks: the stop took %v, want less than its grace of %v", tasks, took, grace)
		} else {
			t.Logf("%d tasks: the stop took %v", tasks, took)
		}
		f.spread(tasks, "b")
		f.beats(b, 5)
		if n := f.begun(""); n != 2*tasks {
			t.Errorf("%d turns, want %d", n, 2*tasks)
		}
		for _, turn := range f.history("t0")[1:] {
			if turn.past.Why != worqr.ReasonDrain {
				t.Errorf("past %+v, want drain", turn.past)
			}
		}
	}
}

// A handler that outstays Grace keeps its task: peers hold it only when the worker has lapsed.
func TestPersistentOverstayingHandlerKeepsItsTask(t *testing.T) {
	t.Parallel()
	f := newFrailFleet(t)
	leave := make(chan struct{})
	short := func(c *worqr.WorkerConfig, q *worqr.Queue) { c.Grace, q.Hold.Settle = 200*time.Millisecond, time.Hour }
	a, stop := f.join("a", short, by(f.winding("a", leave)))
	f.ready(1)
	enqueue(t, f.mesh, "q", "t")
	old := f.now("t", 1)
	f.join("b", under(worqr.Hold{Settle: time.Hour}))
	f.ready(2)
	done := make(chan error, 1)
	go func() { done <- stop() }()
	f.await("it is told to end", func() bool { return old.p.Context().Err() != nil })
	f.await("the last beat is older than trust", func() bool { return !a.Alive() })
	close(leave)
	if err := receive(t, "the stop", done); err != nil && !errors.Is(err, worqr.ErrStopping) {
		t.Error(err)
	}
	if second := f.now("t", 2); second.who != "b" {
		t.Errorf("%s holds it, want b", second.who)
	}
}
