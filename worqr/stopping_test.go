package worqr_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/events"
	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// scenario 44
func TestStopWorkConcernsOneWorker(t *testing.T) {
	t.Parallel()
	ctx, m := t.Context(), open(t)
	enqueue(t, m, "q", "t1", "t2", "t3", "t4", "t5")
	enqueue(t, m, "other", "o")
	a, b := start(t, m, patient(), "q", "other"), start(t, m, patient(), "q")
	a1, b2, a3, b4, o := take(t, a, "q"), take(t, b, "q"), take(t, a, "q"), take(t, b, "q"), take(t, a, "other")
	if err := a.StopWork(ctx, "q"); err != nil {
		t.Fatal(err)
	}
	for _, p := range []*worqr.Process{a1, a3} {
		if cause := ended(t, p.Context()); !errors.Is(cause, worqr.ErrStopping) {
			t.Errorf("the context of %q ended with %v, want ErrStopping", p.Task(), cause)
		}
		if ok, err := p.Finish(ctx); ok || !errors.Is(err, worqr.ErrStopping) {
			t.Errorf("finish of %q after StopWork: %v, %v; want ErrStopping", p.Task(), ok, err)
		}
	}
	want(t, "tasks", waiting(t, m, "q"), []string{"t1", "t3", "t5"})
	want(t, "in hand", held(t, m, "q"), []string{b.ID() + ":t2", b.ID() + ":t4"})
	want(t, "in hand of other", held(t, m, "other"), []string{a.ID() + ":o"})
	for _, p := range []*worqr.Process{b2, b4, o} {
		if p.Context().Err() != nil {
			t.Errorf("the context of %q has ended: %v", p.Task(), context.Cause(p.Context()))
		}
		finish(t, p)
	}
	queues, err := m.WorkingQueues(ctx, a.ID())
	if err != nil {
		t.Fatal(err)
	}
	want(t, "still served", queues, []string{"other"})
}

// scenario 44: a worker that fails itself gives everything back in order, and leaves
func TestFailOfOneselfReturnsEverything(t *testing.T) {
	t.Parallel()
	ctx, m := t.Context(), open(t)
	tasks := numbered("t", 12)
	enqueue(t, m, "q", tasks...)
	enqueue(t, m, "other", tasks...)
	w := start(t, m, patient(), "q", "other")
	for range 7 {
		take(t, w, "q")
		take(t, w, "other")
	}
	id := w.ID()
	for range 2 {
		if err := w.Fail(ctx); err != nil {
			t.Fatal(err)
		}
	}
	want(t, "tasks", waiting(t, m, "q"), tasks)
	want(t, "tasks of other", waiting(t, m, "other"), tasks)
	if workers, err := m.Workers(ctx); len(workers) != 0 || err != nil {
		t.Errorf("registered is still %v, %v", workers, err)
	}
	if err := m.Fail(ctx, id); !errors.Is(err, worqr.ErrGone) {
		t.Errorf("Fail of a worker that has left: %v, want ErrGone", err)
	}
	if _, err := w.Take(ctx, "q"); !errors.Is(err, worqr.ErrClosed) {
		t.Errorf("Take: %v, want ErrClosed", err)
	}
	if err := w.StartWork(ctx, "q"); !errors.Is(err, worqr.ErrClosed) {
		t.Errorf("StartWork: %v, want ErrClosed", err)
	}
	if err := w.Start(ctx); !errors.Is(err, worqr.ErrClosed) {
		t.Errorf("Start: %v, want ErrClosed", err)
	}
}

// scenario 45
func TestHandlersThatEndWithinGraceFinish(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*worqr.Worker, func() error) error{
		"the end of Run": func(_ *worqr.Worker, stop func() error) error { return stop() },
		"StopWork":       func(w *worqr.Worker, _ func() error) error { return w.StopWork(context.Background(), "q") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := open(t)
			heard := hear(t, m, "q", events.Done)
			enqueue(t, m, "q", "t1", "t2", "t3", "t4")
			d := newDoor()
			cfg := handling(quick(), "q", 2, d.handle)
			cfg.Grace, cfg.Lapse = time.Minute, 3*time.Second
			w, stop := run(t, m, cfg)
			first, second := receive(t, "a run", d.entered), receive(t, "a run", d.entered)
			result := make(chan error, 1)
			go func() { result <- end(w, stop) }()
			// That it has begun to stop shows when Take is refused, as it is before what is running
			// has ended.
			redistest.Eventually(t, soon, "the stop has begun", func() bool {
				_, err := w.Take(t.Context(), "q")
				return errors.Is(err, worqr.ErrClosed) || errors.Is(err, worqr.ErrNotWorking)
			})
			d.leave <- nil
			if e := receive(t, "a done event", heard); e.Worker != w.ID() {
				t.Errorf("heard %+v", e)
			}
			for _, p := range []*worqr.Process{first, second} {
				if cause := context.Cause(p.Context()); cause != nil && !errors.Is(cause, worqr.ErrSettled) {
					t.Errorf("within the grace the context of %q has ended with %v", p.Task(), cause)
				}
			}
			d.leave <- nil
			if err := receive(t, "the end", result); err != nil {
				t.Error(err)
			}
			receive(t, "a done event", heard)
			want(t, "tasks", waiting(t, m, "q"), []string{"t3", "t4"})
			want(t, "in hand", held(t, m, "q"), nil)
			if n := d.runs.Load(); n != 2 {
				t.Errorf("%d handlers were started, want 2", n)
			}
		})
	}
}

// scenario 46
func TestHandlersThatOutstayGraceAreTold(t *testing.T) {
	t.Parallel()
	m, log := logged(t, redistest.Shared(t).URL(), worqr.Config{Namespace: redistest.Namespace(t)})
	heard := hear(t, m, "q", events.Done)
	enqueue(t, m, "q", "t1", "t2", "t3", "t4", "t5")
	causes := make(chan error, 3)
	var runs atomic.Int64
	cfg := handling(steady(), "q", 3, func(ctx context.Context, p *worqr.Process) error {
		runs.Add(1)
		<-ctx.Done()
		causes <- context.Cause(ctx)
		if string(p.Task()) == "t2" {
			return nil // what it returns does not count: its work was interrupted
		}
		return ctx.Err()
	})
	cfg.Grace = 50 * time.Millisecond
	_, stop := run(t, m, cfg)
	redistest.Eventually(t, soon, "three handlers run", func() bool { return runs.Load() == 3 })
	if err := stop(); err != nil {
		t.Error(err)
	}
	for range 3 {
		if cause := receive(t, "a cause", causes); !errors.Is(cause, worqr.ErrStopping) {
			t.Errorf("a handler's context ended with %v, want ErrStopping", cause)
		}
	}
	if lines := log.lines("outstayed"); len(lines) > 0 {
		t.Errorf("they returned when they were told, and yet the log says %v", lines)
	}
	want(t, "tasks", waiting(t, m, "q"), []string{"t1", "t2", "t3", "t4", "t5"})
	finish(t, take(t, start(t, m, patient(), "q"), "q"))
	if e := receive(t, "a done event", heard); string(e.Task) != "t1" {
		t.Errorf("heard %+v, want t1 done, which nobody had finished before", e)
	}
}

// scenario 46: one that takes no notice loses its process, and is named
func TestHandlerThatTakesNoNoticeIsNamed(t *testing.T) {
	t.Parallel()
	ns := redistest.Namespace(t)
	watcher := openAt(t, redistest.Shared(t).URL(), worqr.Config{Namespace: ns})
	m, log := logged(t, redistest.Shared(t).URL(), worqr.Config{Namespace: ns})
	enqueue(t, m, "q", "t1", "t2")
	d := newDoor()
	cfg := handling(steady(), "q", 1, d.handle)
	cfg.Grace = 50 * time.Millisecond
	w, stop := run(t, m, cfg)
	p := receive(t, "a run", d.entered)
	defer func() { d.leave <- nil }()
	if err := stop(); !errors.Is(err, worqr.ErrStopping) {
		t.Errorf("Run: %v, want ErrStopping", err)
	}
	if cause := ended(t, p.Context()); !errors.Is(cause, worqr.ErrStopping) {
		t.Errorf("its context ended with %v, want ErrStopping", cause)
	}
	lines := log.lines("outstayed")
	if len(lines) != 1 || lines[0]["process"] != p.ID() || lines[0]["queue"] != "q" || lines[0]["age"] == nil {
		t.Errorf("the log says %v, want one line that names %s and its age", lines, p.ID())
	}
	want(t, "tasks", waiting(t, watcher, "q"), []string{"t1", "t2"})
	finish(t, take(t, start(t, watcher, steady(), "q"), "q"))
	if ok, _ := p.Finish(t.Context()); ok {
		t.Error("the one that overstayed finished what another one has finished")
	}
	if w.Alive() {
		t.Error("the worker is alive after Run")
	}
	want(t, "tasks", waiting(t, watcher, "q"), []string{"t2"})
}

// scenario 47
func TestStopWorkAndStartWorkWhileATaskRuns(t *testing.T) {
	t.Parallel()
	m := open(t)
	d := newDoor()
	cfg := handling(steady(), "q", 1, d.handle)
	cfg.Grace = time.Minute
	w, _ := run(t, m, cfg)
	enqueue(t, m, "q", "t1", "t2")
	receive(t, "a run", d.entered)
	var both sync.WaitGroup
	both.Go(func() {
		if err := w.StopWork(t.Context(), "q"); err != nil {
			t.Error(err)
		}
	})
	redistest.Eventually(t, soon, "the stop has begun", func() bool {
		_, err := w.Take(t.Context(), "q")
		return errors.Is(err, worqr.ErrNotWorking)
	})
	both.Go(func() {
		if err := w.StartWork(t.Context(), "q"); err != nil {
			t.Error(err)
		}
	})
	d.leave <- nil
	both.Wait()
	if p := receive(t, "the next run", d.entered); string(p.Task()) != "t2" {
		t.Errorf("ran %q, want t2", p.Task())
	}
	d.leave <- nil
	redistest.Eventually(t, soon, "all is finished", func() bool { return len(held(t, m, "q")) == 0 })
	if n, most := d.runs.Load(), d.inside.most.Load(); n != 2 || most != 1 {
		t.Errorf("%d runs, %d at once; want 2 and 1", n, most)
	}
}

// scenario 48
func TestStartWorkTwiceIsOneDispatcher(t *testing.T) {
	t.Parallel()
	ns := redistest.Namespace(t)
	m, c := openAt(t, redistest.Shared(t).URL(), worqr.Config{Namespace: ns}), redistest.Shared(t).Conn(t)
	d := newDoor()
	w, _ := run(t, m, handling(steady(), "q", 2, d.handle))
	redistest.Eventually(t, soon, "the worker runs", w.Alive)
	var callers sync.WaitGroup
	for range 10 {
		callers.Go(func() {
			if err := w.StartWork(t.Context(), "q"); err != nil {
				t.Error(err)
			}
		})
	}
	callers.Wait()
	if n, err := redis.Int(c.Do("HLEN", queuePrefix(ns, "q")+":workers")); n != 1 || err != nil {
		t.Errorf("%d memberships, %v; want 1", n, err)
	}
	const n = 40
	enqueue(t, m, "q", numbered("t", n)...)
	for range n {
		receive(t, "a run", d.entered)
		d.leave <- nil
	}
	if most := d.inside.most.Load(); most > 2 {
		t.Errorf("%d ran at once, want 2", most)
	}
	if err := w.StopWork(t.Context(), "q"); err != nil { // one stop is enough
		t.Fatal(err)
	}
	if n, err := redis.Int(c.Do("HLEN", queuePrefix(ns, "q")+":workers")); n != 0 || err != nil {
		t.Errorf("%d memberships after StopWork, %v; want 0", n, err)
	}
}
