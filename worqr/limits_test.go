package worqr_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// scenario 71
func TestLimitOneRunsOneAtATime(t *testing.T) {
	t.Parallel()
	m := open(t)
	const n = 3
	var inside crowd
	entered, leave := make(chan string, n), make(chan struct{})
	run(t, m, handling(quick(), "q", 0, func(_ context.Context, p *worqr.Process) error { // 0 means 1
		inside.enter()
		defer inside.leave()
		entered <- string(p.Task())
		<-leave
		return nil
	}))
	tasks := numbered("t", n)
	enqueue(t, m, "q", tasks...)
	for i, task := range tasks {
		if got := receive(t, "a run", entered); got != task {
			t.Errorf("ran %q, want %q", got, task)
		}
		// while it runs, the worker is told of another task and leaves it where it is
		enqueue(t, m, "q", fmt.Sprintf("later%d", i))
		if got := waiting(t, m, "q"); len(got) != n {
			t.Errorf("%v wait, want %d", got, n)
		}
		leave <- struct{}{}
	}
	for range n {
		receive(t, "a later run", entered)
		leave <- struct{}{}
	}
	if most := inside.most.Load(); most != 1 {
		t.Errorf("%d handlers ran at once, want 1", most)
	}
}

// scenario 72
func TestLimitsOfTwoQueues(t *testing.T) {
	t.Parallel()
	m := open(t)
	const wide, n = 20, 60
	var serial, parallel crowd
	all, ran := make(chan struct{}), make(chan string, 2*n)
	cfg := handling(quick(), "serial", 1, func(_ context.Context, p *worqr.Process) error {
		serial.enter()
		defer serial.leave()
		ran <- string(p.Task())
		return nil
	})
	run(t, m, handling(cfg, "parallel", wide, func(_ context.Context, p *worqr.Process) error {
		parallel.enter()
		defer parallel.leave()
		if parallel.now.Load() == wide {
			select {
			case <-all:
			default:
				close(all)
			}
		}
		<-all // so the first ones can only go on when all slots are in use
		ran <- string(p.Task())
		return nil
	}))
	enqueue(t, m, "parallel", numbered("p", n)...)
	enqueue(t, m, "serial", numbered("s", n)...)
	for range 2 * n {
		receive(t, "a run", ran)
	}
	if s, p := serial.most.Load(), parallel.most.Load(); s != 1 || p != wide {
		t.Errorf("at most %d and %d ran at once, want 1 and %d", s, p, wide)
	}
}

// scenario 71, scenario 72: a limit above the number of tasks that one take brings
func TestLimitAboveOneChunk(t *testing.T) {
	t.Parallel()
	m := open(t)
	const limit = 1_100
	var inside crowd
	all := make(chan struct{})
	run(t, m, handling(worqr.WorkerConfig{}, "q", limit, func(ctx context.Context, p *worqr.Process) error {
		inside.enter()
		defer inside.leave()
		if inside.now.Load() == limit {
			close(all)
		}
		select {
		case <-all:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}))
	enqueue(t, m, "q", numbered("t", limit)...)
	receive(t, "all slots to be in use", all)
}

// scenario 109
func TestSlotIsKeptOverALapse(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{1, 3} {
		t.Run(fmt.Sprint("limit ", limit), func(t *testing.T) {
			t.Parallel()
			slotIsKeptOverALapse(t, limit)
		})
	}
}

func slotIsKeptOverALapse(t *testing.T, limit int) {
	ns := redistest.Namespace(t)
	watcher := openAt(t, redistest.Shared(t).URL(), worqr.Config{Namespace: ns})
	m, proxy := mortal(t, ns)
	var inside crowd
	entered, leave := make(chan *worqr.Process, 100), make(chan struct{})
	lapsed := make(chan error, 100)
	cfg := handling(steady(), "q", limit, func(_ context.Context, p *worqr.Process) error { // takes no notice of its context
		inside.enter()
		defer inside.leave()
		entered <- p
		<-leave
		return nil
	})
	cfg.Hooks.OnLapse = func(_ string, cause error) { lapsed <- cause }
	w, _ := run(t, m, cfg)
	enqueue(t, watcher, "q", numbered("t", limit+2)...)
	first := map[string]bool{}
	for range limit {
		p := receive(t, "a run", entered)
		first[string(p.Task())] = true
		defer func() {
			if cause := context.Cause(p.Context()); !errors.Is(cause, worqr.ErrLapsed) {
				t.Errorf("the context of %q ended with %v, want ErrLapsed", p.Task(), cause)
			}
		}()
	}
	before := w.ID()
	proxy.Refuse(true)
	receive(t, "the lapse", lapsed)
	proxy.Refuse(false)
	redistest.Eventually(t, soon, "the worker joins again and all tasks are back", func() bool {
		return w.Alive() && w.ID() != before && len(waiting(t, watcher, "q")) == limit+2
	})
	// Its looks find tasks, which it has no slot for.
	runs := counted(proxy)
	redistest.Eventually(t, soon, "four looks at the queue", func() bool { return runs("look") >= 4 })
	enqueue(t, watcher, "q", "one more")
	if n := len(waiting(t, watcher, "q")); n != limit+3 || len(entered) > 0 {
		t.Fatalf("%d tasks wait and %d handlers were started, want %d and none while the old ones run", n, len(entered), limit+3)
	}
	leave <- struct{}{} // one slot is free: one task is run
	p := receive(t, "a run in the free slot", entered)
	if !first[string(p.Task())] {
		t.Errorf("ran %q, want one of %v, which were at the front", p.Task(), first)
	}
	go func() {
		for range limit + limit + 3 - 1 {
			leave <- struct{}{}
		}
	}()
	for range limit + 2 {
		receive(t, "the other runs", entered)
	}
	redistest.Eventually(t, soon, "everything is finished", func() bool { return inside.now.Load() == 0 })
	if most := inside.most.Load(); most != int64(limit) {
		t.Errorf("%d handlers ran at once, want %d", most, limit)
	}
}

// scenario 47: the handler outstays the stop, and still has its slot when the queue is served again
func TestSlotIsKeptOverStopWork(t *testing.T) {
	t.Parallel()
	m, proxy := mortal(t, redistest.Namespace(t))
	d := newDoor()
	w, _ := run(t, m, handling(steady(), "q", 1, d.handle))
	enqueue(t, m, "q", "t1", "t2")
	receive(t, "a run", d.entered)
	short, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.StopWork(short, "q"); err != nil {
		t.Fatal(err)
	}
	want(t, "tasks", waiting(t, m, "q"), []string{"t1", "t2"})
	for range 2 {
		if err := w.StartWork(t.Context(), "q"); err != nil {
			t.Fatal(err)
		}
	}
	runs := counted(proxy) // what it finds, it has no slot for
	redistest.Eventually(t, soon, "two looks at the queue", func() bool { return runs("look") >= 2 })
	want(t, "tasks, as the slot is in use", waiting(t, m, "q"), []string{"t1", "t2"})
	for range 3 {
		d.leave <- nil
	}
	for _, task := range []string{"t1", "t2"} {
		if p := receive(t, "a run", d.entered); string(p.Task()) != task {
			t.Errorf("ran %q, want %q", p.Task(), task)
		}
	}
	redistest.Eventually(t, soon, "all is finished", func() bool { return len(held(t, m, "q")) == 0 })
	if n, most := d.runs.Load(), d.inside.most.Load(); n != 3 || most != 1 {
		t.Errorf("%d runs, %d at once; want 3 and 1", n, most)
	}
}
