package worqr_test

import (
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/worqr/worqr-go/events"
	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// scenario 120: Finish whose answer was lost at the lapse: one sentinel, and it is true.
func TestFinishLostAtTheLapse(t *testing.T) {
	t.Parallel()
	ns := redistest.Namespace(t)
	bystander := openAt(t, redistest.Shared(t).URL(), worqr.Config{Namespace: ns})
	heard := hear(t, bystander, "q", events.Done)
	m, proxy := mortal(t, ns)
	w := start(t, m, frail(), "q")
	enqueue(t, bystander, "q", "first", "t")
	finish(t, take(t, w, "q")) // Redis knows the script now
	receive(t, "a done event", heard)
	p := take(t, w, "q")
	var settled atomic.Bool
	proxy.Intercept(func(c redistest.Command) redistest.Action {
		switch {
		case settled.Load():
			return redistest.CutBefore
		case settles(c):
			settled.Store(true)
			return redistest.CutAfter
		}
		return redistest.Pass
	})
	t.Cleanup(func() { revive(proxy) })
	ok, err := p.Finish(t.Context())
	if e := receive(t, "a done event", heard); e.Process != p.ID() {
		t.Errorf("heard %+v", e)
	}
	if ok || !errors.Is(err, worqr.ErrUnknown) {
		t.Fatalf("Finish: %v, %v; want ErrUnknown", ok, err)
	}
	for _, other := range []error{worqr.ErrLapsed, worqr.ErrFenced, worqr.ErrStopping, worqr.ErrGone} {
		if errors.Is(err, other) {
			t.Errorf("%v is %v too: that says that it was not finished, and it was", err, other)
		}
	}
}

// A StartWork that a StopWork overtakes says so, and does not advise to call StartWork.
func TestStartWorkOvertakenByStopWork(t *testing.T) {
	t.Parallel()
	m := open(t)
	d := newDoor()
	cfg := handling(firm(), "q", 1, d.handle)
	cfg.Grace = time.Minute
	w := start(t, m, cfg, "q")
	enqueue(t, m, "q", "t")
	receive(t, "a run", d.entered)
	first, second, started := make(chan error, 1), make(chan error, 1), make(chan error, 1)
	go func() { first <- w.StopWork(t.Context(), "q") }()
	redistest.Eventually(t, soon, "the stop has begun", func() bool {
		_, err := w.Take(t.Context(), "q")
		return errors.Is(err, worqr.ErrNotWorking)
	})
	go func() { started <- w.StartWork(t.Context(), "q") }()
	go func() {
		err := w.StopWork(t.Context(), "q")
		for errors.Is(err, worqr.ErrNotWorking) { // StartWork has not come so far
			runtime.Gosched()
			err = w.StopWork(t.Context(), "q")
		}
		second <- err
	}()
	select { // nobody can see that the second one waits for the first; it does so by now, and if not, nothing is shown
	case err := <-second:
		t.Fatalf("the second StopWork: %v", err)
	case <-time.After(300 * time.Millisecond):
	}
	d.leave <- nil
	if err := errors.Join(receive(t, "StopWork", first), receive(t, "StopWork", second)); err != nil {
		t.Error(err)
	}
	err := receive(t, "StartWork", started)
	if err != nil && (!errors.Is(err, worqr.ErrStopping) || errors.Is(err, worqr.ErrNotWorking) || !strings.Contains(err.Error(), "StopWork")) {
		t.Errorf("StartWork: %v, want ErrStopping that names StopWork", err)
	}
}
