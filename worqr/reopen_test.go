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

// A handler that outstays StopWork keeps its task, and the queue is opened again only when it has returned: a second
// membership would make the first one an orphan, whose tasks peers take.
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
