package worqr_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// delivery is a one-shot task in a handler that waits until it is let go, or its context ends.
type delivery struct {
	worker, task string
	process      *worqr.Process
	ended        <-chan struct{}
	letGo        func()
}

// waiters makes handlers that tell of what they are given.
type waiters struct {
	told chan *delivery
}

func (w *waiters) serve(worker string, limit int, takeover worqr.Takeover) worqr.WorkerConfig {
	return worqr.WorkerConfig{Lapse: 20 * time.Second, Beat: time.Second, Queues: map[string]worqr.Queue{"q": {
		Limit: limit, Takeover: takeover,
		Handler: worqr.HandlerFunc(func(ctx context.Context, p *worqr.Process) error {
			wait := make(chan struct{})
			w.told <- &delivery{worker, string(p.Task()), p, ctx.Done(), sync.OnceFunc(func() { close(wait) })}
			select {
			case <-wait:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}),
	}}}
}

// By default the one-shot tasks of a worker that is not present any more are taken over long before
// its lapse, in their order and before what waits. A worker that was only cut off goes on
// meanwhile, ends when it hears of it, finishes nothing that is another's, and serves the queue
// again.
func TestOneShotTasksAreTakenOverFastByDefault(t *testing.T) {
	t.Parallel()
	ns := redistest.Namespace(t)
	cutOff, proxy := mortal(t, ns)
	m := openAt(t, redistest.Shared(t).URL(), worqr.Config{Namespace: ns})
	w := &waiters{told: make(chan *delivery, 100)}
	a, _ := run(t, cutOff, w.serve("a", 3, 0))
	redistest.Eventually(t, 10*time.Second, "a peer may take over from a at once", func() bool {
		mode, err := a.Takeover("q")
		return err == nil && mode == worqr.TakeoverFast
	})
	enqueue(t, m, "q", "t1", "t2", "t3", "t4")
	first := map[string]*delivery{}
	for range 3 {
		d := receive(t, "a delivery to a", w.told)
		first[d.task] = d
	}
	run(t, m, w.serve("b", 1, 0)) // its first look is at t4
	last := receive(t, "t4 at b", w.told)
	if last.worker != "b" || last.task != "t4" {
		t.Fatalf("%s at %s, want t4 at b", last.task, last.worker)
	}
	enqueue(t, m, "q", "t5")

	begun := time.Now()
	proxy.Refuse(true)
	redistest.Eventually(t, 10*time.Second, "what a held waits again", func() bool { n, err := m.Len(t.Context(), "q"); return err == nil && n == 4 })
	took := time.Since(begun)
	t.Logf("back within %v", took)
	for _, d := range first {
		select {
		case <-d.ended:
			t.Errorf("%s was ended because the presence connection was lost", d.task)
		default:
		}
		if d.process.Valid() {
			t.Errorf("%s is valid although peers have taken it over", d.task)
		}
	}
	last.letGo()
	for _, want := range []string{"t1", "t2", "t3", "t5"} {
		d := receive(t, want, w.told)
		if d.worker != "b" || d.task != want {
			t.Fatalf("%s at %s, want %s at b", d.task, d.worker, want)
		}
		if old := first[want]; old != nil && d.process.Token() <= old.process.Token() {
			t.Errorf("%s: token %d after %d", want, d.process.Token(), old.process.Token())
		}
		if want == "t5" {
			defer d.letGo()
			break
		}
		d.letGo()
	}

	proxy.Refuse(false)
	for _, d := range first {
		select {
		case <-d.ended:
		case <-time.After(soon):
			t.Fatalf("%s goes on although it was taken over", d.task)
		}
		if cause := context.Cause(d.process.Context()); !errors.Is(cause, worqr.ErrFenced) {
			t.Errorf("%s ended with %v, want ErrFenced", d.task, cause)
		}
		if ok, err := d.process.Finish(t.Context()); ok {
			t.Errorf("%s was finished a second time (%v)", d.task, err)
		}
	}
	enqueue(t, m, "q", "t6")
	d := receive(t, "t6", w.told)
	if d.worker != "a" {
		t.Errorf("t6 at %s, want a, which serves the queue again", d.worker)
	}
	d.letGo()
}

// A one-shot queue that asks for Strict waits for the lapse.
func TestOneShotTasksWaitForTheLapseWhereTheQueueIsStrict(t *testing.T) {
	t.Parallel()
	ns := redistest.Namespace(t)
	cutOff, proxy := mortal(t, ns)
	m := openAt(t, redistest.Shared(t).URL(), worqr.Config{Namespace: ns})
	w := &waiters{told: make(chan *delivery, 100)}
	lapse := 3 * time.Second
	config := func(worker string) worqr.WorkerConfig {
		cfg := w.serve(worker, 1, worqr.TakeoverStrict)
		cfg.Lapse = lapse
		return cfg
	}
	run(t, cutOff, config("a"))
	enqueue(t, m, "q", "t")
	one := receive(t, "t at a", w.told)
	run(t, m, config("b"))
	begun := time.Now()
	proxy.Refuse(true)
	two := receive(t, "t at b", w.told)
	two.letGo()
	if took := time.Since(begun); took < lapse-1100*time.Millisecond { // of a beat since
		t.Errorf("taken over after %v, before the lapse", took)
	}
	select {
	case <-one.ended:
	default:
		t.Error("the first holder had not ended")
	}
}
