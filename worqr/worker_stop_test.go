package worqr_test

import (
	"context"
	"errors"
	"testing"

	"github.com/worqr/worqr-go/events"
	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// Stop lets a handler end by itself, where Fail ends its context at once.
func TestWorkerStopWaitsForHandlers(t *testing.T) {
	t.Parallel()
	m := open(t)
	begun, goOn := make(chan *worqr.Process, 1), make(chan struct{})
	w, end := run(t, m, handling(patient(), "q", 1, func(ctx context.Context, p *worqr.Process) error {
		begun <- p
		<-goOn
		return ctx.Err()
	}))
	enqueue(t, m, "q", "first", "second")
	p := receive(t, "a run", begun)
	stopped := make(chan error, 1)
	go func() { stopped <- w.Stop(t.Context()) }()
	redistest.Eventually(t, soon, "it has begun to stop", func() bool {
		stop, err := w.On("other", func(events.Event) {})
		if err == nil {
			stop()
		}
		return errors.Is(err, worqr.ErrClosed)
	})
	if err := p.Context().Err(); err != nil {
		t.Errorf("the context of the handler has ended: %v", err)
	}
	close(goOn)
	if err := receive(t, "the end of Stop", stopped); err != nil {
		t.Error(err)
	}
	if err := end(); err != nil {
		t.Errorf("Run: %v", err)
	}
	if n, err := m.Len(t.Context(), "q"); n != 1 || err != nil {
		t.Errorf("%d tasks wait, %v; want the second, as the first was finished", n, err)
	}
}

// With a context that has ended Stop ends the handlers at once.
func TestWorkerStopEndsWithItsContext(t *testing.T) {
	t.Parallel()
	m := open(t)
	begun := make(chan *worqr.Process, 1)
	w, _ := run(t, m, handling(patient(), "q", 1, func(ctx context.Context, p *worqr.Process) error {
		begun <- p
		<-ctx.Done()
		return ctx.Err()
	}))
	enqueue(t, m, "q", "t")
	p := receive(t, "a run", begun)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = w.Stop(ctx)
	if cause := ended(t, p.Context()); !errors.Is(cause, worqr.ErrStopping) {
		t.Errorf("its context ended with %v, want ErrStopping", cause)
	}
	if err := w.Stop(t.Context()); err != nil {
		t.Errorf("the second Stop: %v", err)
	}
	if n, err := m.Len(t.Context(), "q"); n != 1 || err != nil {
		t.Errorf("%d tasks wait, %v; want the one that was put back", n, err)
	}
}

// After its stop a callback of On is not called, and others are; stopping again, and after the
// worker's end, does nothing.
func TestOnReturnsAStop(t *testing.T) {
	t.Parallel()
	m := open(t)
	w := start(t, m, patient())
	heard := map[string]chan events.Event{"one": make(chan events.Event, 10), "other": make(chan events.Event, 10)}
	stops := map[string]func(){}
	for name, c := range heard {
		stop, err := w.On("q", func(e events.Event) { c <- e })
		if err != nil {
			t.Fatal(err)
		}
		stops[name] = stop
	}
	sync := hear(t, m, "q", events.Work) // all are subscribed
	enqueue(t, m, "q", "a")
	for name, c := range heard {
		receive(t, "the event for "+name, c)
	}
	receive(t, "the event", sync)
	stops["one"]()
	stops["one"]()
	enqueue(t, m, "q", "b")
	receive(t, "the event for the other", heard["other"])
	if n := len(heard["one"]); n != 0 {
		t.Errorf("%d events after the stop", n)
	}
	if err := w.Fail(t.Context()); err != nil {
		t.Error(err)
	}
	stops["other"]()
	if _, err := w.On("q", func(events.Event) {}); !errors.Is(err, worqr.ErrClosed) {
		t.Errorf("On after the end: %v, want ErrClosed", err)
	}
}
