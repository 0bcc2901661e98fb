package worqr_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// A handler that outstays StopWork keeps its task, and the queue is opened again only when it has
// returned: a second membership would make the first one an orphan, whose tasks peers take.
func TestAnOverstayingHandlerKeepsItsTaskOverAReopen(t *testing.T) {
	t.Parallel()
	m := open(t)
	var running, most, turns atomic.Int32
	release := make(chan struct{})
	cfg := quick()
	cfg.Queues = map[string]worqr.Queue{"q": {Persistent: true, Handler: worqr.HandlerFunc(func(ctx context.Context, _ *worqr.Process) error {
		most.Store(max(most.Load(), running.Add(1)))
		defer running.Add(-1)
		if turns.Add(1) == 1 {
			<-release // it takes long to close what it holds
		} else {
			<-ctx.Done()
		}
		return context.Cause(ctx)
	})}}
	a, _ := run(t, m, cfg)
	if _, err := m.Reconcile(t.Context(), "q", [][]byte{[]byte("x")}); err != nil {
		t.Fatal(err)
	}
	redistest.Eventually(t, soon, "it is held", func() bool { return running.Load() == 1 })
	run(t, m, cfg)
	short, done := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer done()
	if err := a.StopWork(short, "q"); !errors.Is(err, worqr.ErrStopping) {
		t.Fatalf("StopWork: %v, want ErrStopping", err)
	}
	if err := a.StartWork(t.Context(), "q"); !errors.Is(err, worqr.ErrStopping) {
		t.Errorf("StartWork: %v, want ErrStopping", err)
	}
	close(release)
	redistest.Eventually(t, soon, "it is held again", func() bool { return turns.Load() == 2 })
	if n := most.Load(); n != 1 {
		t.Errorf("%d held it at once", n)
	}
}

// A StartWork waits for what a StopWork drains no longer than its context, and the queue is opened
// when the handlers have returned. Who waits for that holds up no join after a lapse.
func TestStartWorkWaitsForADrainAsLongAsItsContext(t *testing.T) {
	for name, lapses := range map[string]bool{"it lives": false, "it lapses": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, proxy := mortal(t, redistest.Namespace(t))
			started, release := make(chan struct{}, 2), make(chan struct{})
			cfg := quick()
			cfg.Grace = time.Minute
			cfg.Queues = map[string]worqr.Queue{"q": {Limit: 1, Handler: worqr.HandlerFunc(func(context.Context, *worqr.Process) error {
				started <- struct{}{}
				<-release
				return nil
			})}}
			w, _ := run(t, m, cfg)
			enqueue(t, m, "q", "one")
			receive(t, "the start of a handler", started)
			stopped := make(chan error, 1)
			go func() { stopped <- w.StopWork(t.Context(), "q") }()
			redistest.Eventually(t, soon, "it drains", func() bool { _, err := w.Take(t.Context(), "q"); return errors.Is(err, worqr.ErrNotWorking) })
			short, done := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer done()
			if err := w.StartWork(short, "q"); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("StartWork: %v, want the end of its context", err)
			}
			if lapses {
				before := w.ID()
				proxy.Refuse(true)
				redistest.Eventually(t, soon, "it lapses", func() bool { return !w.Alive() })
				proxy.Refuse(false)
				redistest.Eventually(t, soon, "it joins again", func() bool { return w.Alive() && w.ID() != before })
			}
			close(release)
			if err := receive(t, "the end of StopWork", stopped); err != nil {
				t.Errorf("StopWork: %v", err)
			}
			enqueue(t, m, "q", "two")
			receive(t, "the start of a handler after StartWork", started)
		})
	}
}
