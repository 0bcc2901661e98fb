package worqr_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/worqr/worqr-go/internal/embedded"
	"github.com/worqr/worqr-go/worqr"
)

// lapse cuts a worker off until it lapses, and returns when it has joined again.
func (l *line) lapse(w *worqr.Worker) {
	old := w.ID()
	l.cut(true)
	for w.Alive() {
		time.Sleep(10 * time.Millisecond)
	}
	l.cut(false)
	for w.ID() == old {
		time.Sleep(10 * time.Millisecond)
	}
}

// untilServed is how long it is from now until a worker serves the queue, a minute at most.
func (f *fleet) untilServed(w *worqr.Worker) time.Duration {
	f.t.Helper()
	began := time.Now()
	for time.Since(began) < time.Minute {
		queues, err := f.mesh.WorkingQueues(context.Background(), w.ID())
		if err != nil {
			f.t.Fatal(err)
		}
		if len(queues) > 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return time.Since(began)
}

func (f *fleet) wantRest(w *worqr.Worker, want time.Duration) {
	f.t.Helper()
	if rest := f.untilServed(w); rest < want-200*time.Millisecond || rest > want+200*time.Millisecond {
		f.t.Errorf("it serves the queue %v after the join, want %v", rest, want)
	}
}

// scenario 117: who lapses again and again rests longer and longer before it opens what others
// serve.
func TestWhoLapsesOftenRests(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(t *testing.T, f *fleet, s *embedded.Server) {
		f.join("peer")
		l := cuttable(t, s)
		w, _ := run(t, l.mesh, f.config("flapper"))
		f.ready(2)
		for _, rest := range []time.Duration{0, 3, 6, 12, 24, 30, 30} {
			l.lapse(w)
			f.wantRest(w, rest*time.Second)
		}
		time.Sleep(6 * time.Minute)
		for _, rest := range []time.Duration{0, 3} {
			l.lapse(w)
			f.wantRest(w, rest*time.Second)
		}
	})
}

// Nobody rests where no other serves the queue: from the beginning, or from when the last one has
// left.
func TestWhoIsAloneDoesNotRest(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(t *testing.T, f *fleet, s *embedded.Server) {
		l := cuttable(t, s)
		w, _ := run(t, l.mesh, f.config("flapper"))
		f.ready(1)
		for range 4 {
			l.lapse(w)
			f.wantRest(w, 0)
			time.Sleep(time.Second)
		}
		_, stop := f.join("peer")
		f.ready(2)
		l.lapse(w)
		time.Sleep(5 * time.Second)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if left := f.untilServed(w); left > 2*time.Second {
			t.Errorf("it serves the queue %v after the last other has left", left)
		}
	})
}

// A rest holds up neither StartWork for longer than its context, nor StopWork, nor the end of the
// worker.
func TestARestHoldsNothingUp(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(t *testing.T, f *fleet, s *embedded.Server) {
		f.join("peer")
		l := cuttable(t, s)
		w, stop := run(t, l.mesh, f.config("flapper"))
		f.ready(2)
		for range 5 {
			l.lapse(w)
			f.untilServed(w)
		}
		l.lapse(w)
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if err := w.StartWork(ctx, "q"); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 2*time.Second {
			t.Errorf("StartWork: %v after %v", err, time.Since(began))
		}
		if err := w.StopWork(t.Context(), "q"); err != nil {
			t.Errorf("StopWork: %v", err)
		}
		waiting := make(chan error, 1)
		go func() { waiting <- w.StartWork(context.Background(), "q") }()
		time.Sleep(time.Second)
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
		if err := <-waiting; !errors.Is(err, worqr.ErrClosed) {
			t.Errorf("StartWork of a worker that stops: %v", err)
		}
		if took := time.Since(began); took > 4*time.Second {
			t.Errorf("all that took %v", took)
		}
	})
}
