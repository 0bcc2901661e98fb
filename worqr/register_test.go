package worqr_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/events"
	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// scenario 11, scenario 12: before Start
func TestNothingIsServedBeforeStart(t *testing.T) {
	t.Parallel()
	ctx, m := t.Context(), open(t)
	enqueue(t, m, "q", "a")
	w, err := m.NewWorker(worqr.WorkerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.StartWork(ctx, "q"); !errors.Is(err, worqr.ErrNotStarted) || !strings.Contains(err.Error(), `"q"`) {
		t.Errorf("StartWork: %v, want ErrNotStarted that names q", err)
	}
	if err := w.StopWork(ctx, "q"); !errors.Is(err, worqr.ErrNotStarted) {
		t.Errorf("StopWork: %v, want ErrNotStarted", err)
	}
	if p, err := w.Take(ctx, "q"); p != nil || !errors.Is(err, worqr.ErrNotStarted) {
		t.Errorf("Take: %v, %v; want ErrNotStarted", p, err)
	}
	if w.ID() != "" || w.Alive() || w.Process("x") != nil {
		t.Errorf("it has id %q, is alive: %v", w.ID(), w.Alive())
	}
	if workers, err := m.Workers(ctx); len(workers) != 0 || err != nil {
		t.Errorf("registered is %v, %v", workers, err)
	}
	if err := w.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if err := w.Start(ctx); !errors.Is(err, worqr.ErrStarted) {
		t.Errorf("second Start: %v, want ErrStarted", err)
	}
	if w.ID() == "" || !w.Alive() {
		t.Errorf("after Start it has id %q, is alive: %v", w.ID(), w.Alive())
	}
	if err := w.StartWork(ctx, "q"); err != nil {
		t.Fatal(err)
	}
	finish(t, take(t, w, "q"))
}

// scenario 12
func TestTakeFromAQueueThatIsNotServed(t *testing.T) {
	t.Parallel()
	ns := redistest.Namespace(t)
	ctx, m, c := t.Context(), openAt(t, redistest.Shared(t).URL(), worqr.Config{Namespace: ns}), redistest.Shared(t).Conn(t)
	enqueue(t, m, "q", "a", "b")
	w := start(t, m, patient(), "other")
	unchanged := func(when string) {
		t.Helper()
		before := snapshot(t, c, ns)
		if p, err := w.Take(ctx, "q"); p != nil || !errors.Is(err, worqr.ErrNotWorking) || !strings.Contains(err.Error(), `"q"`) {
			t.Errorf("Take %s: %v, %v; want ErrNotWorking that names q", when, p, err)
		}
		if err := w.StopWork(ctx, "q"); !errors.Is(err, worqr.ErrNotWorking) {
			t.Errorf("StopWork %s: %v, want ErrNotWorking", when, err)
		}
		want(t, "changed "+when, differences(before, snapshot(t, c, ns)), nil)
	}
	unchanged("before StartWork")
	if err := w.StartWork(ctx, "q"); err != nil {
		t.Fatal(err)
	}
	finish(t, take(t, w, "q"))
	if err := w.StopWork(ctx, "q"); err != nil {
		t.Fatal(err)
	}
	unchanged("after StopWork")
	want(t, "tasks", waiting(t, m, "q"), []string{"b"})
}

// scenario 13
func TestStartWorkTellsOfWaitingTasks(t *testing.T) {
	t.Parallel()
	m := open(t)
	enqueue(t, m, "q", "a", "b")
	w := start(t, m, patient())
	heard := make(chan events.Event, 100)
	if _, err := w.On("q", func(e events.Event) { heard <- e }); err != nil {
		t.Fatal(err)
	}
	if err := w.StartWork(t.Context(), "q"); err != nil {
		t.Fatal(err)
	}
	if e := receive(t, "a work event", heard); e.Kind != events.Work || e.Queue != "q" || e.Count != 2 {
		t.Errorf("heard %+v, want work of q with count 2", e)
	}
}

// scenario 13: with a handler nothing else is needed
func TestRunWorksOnWaitingTasks(t *testing.T) {
	t.Parallel()
	m := open(t)
	enqueue(t, m, "q", "a", "b")
	ran := make(chan string, 2)
	run(t, m, handling(patient(), "q", 1, gather(ran)))
	for _, task := range []string{"a", "b"} {
		if got := receive(t, "a run", ran); got != task {
			t.Errorf("ran %q, want %q", got, task)
		}
	}
}

// scenario 14
func TestOneTaskIsRunByOneOfTwoIdleWorkers(t *testing.T) {
	t.Parallel()
	ns := redistest.Namespace(t)
	m, c := openAt(t, redistest.Shared(t).URL(), worqr.Config{Namespace: ns}), redistest.Shared(t).Conn(t)
	var runs atomic.Int32
	ran := make(chan string, 1_000)
	for range 2 {
		run(t, m, handling(patient(), "q", 1, func(_ context.Context, p *worqr.Process) error {
			runs.Add(1)
			ran <- string(p.Task())
			return nil
		}))
	}
	const rounds = 50
	for _, task := range numbered("t", rounds) {
		awaitIdle(t, c, ns, "q", 2)
		enqueue(t, m, "q", task)
		if got := receive(t, "a run of "+task, ran); got != task {
			t.Fatalf("ran %q, want %q", got, task)
		}
	}
	awaitIdle(t, c, ns, "q", 2)
	if n := runs.Load(); n != rounds {
		t.Errorf("%d runs of %d tasks", n, rounds)
	}
}

// scenario 93
func TestRedisIsDownAtStart(t *testing.T) {
	t.Parallel()
	proxy := redistest.NewProxy(t, redistest.Shared(t).URL())
	proxy.Refuse(true)
	ns := redistest.Namespace(t)

	began := time.Now()
	m, err := worqr.Open(t.Context(), proxy.URL(), worqr.Config{Namespace: ns})
	if m != nil || err == nil || !strings.Contains(err.Error(), proxy.Addr()) || !strings.Contains(err.Error(), "refused") {
		t.Errorf("Open: %v, %v; want an error that names %s", m, err, proxy.Addr())
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v to fail", took)
	}

	// WaitForRedis waits, as long as the context lasts.
	short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := worqr.Open(short, proxy.URL(), worqr.Config{Namespace: ns, WaitForRedis: true}); err == nil || short.Err() == nil {
		t.Errorf("Open: %v, with its context %v; want an error at its end", err, short.Err())
	}
	opened := make(chan error, 1)
	go func() {
		m, err := worqr.Open(t.Context(), proxy.URL(), worqr.Config{Namespace: ns, WaitForRedis: true})
		if err == nil {
			err = errors.Join(m.Enqueue(t.Context(), "q", []byte("a")), m.Close())
		}
		opened <- err
	}()
	proxy.Refuse(false)
	if err := receive(t, "Open", opened); err != nil {
		t.Error(err)
	}
}

// scenario 93: the same for Start
func TestRedisIsDownAtWorkersStart(t *testing.T) {
	t.Parallel()
	proxy := redistest.NewProxy(t, redistest.Shared(t).URL())
	ns := redistest.Namespace(t)
	for _, wait := range []bool{false, true} {
		proxy.Refuse(true)
		pool := &redis.Pool{Dial: func() (redis.Conn, error) { return redis.DialURL(proxy.URL()) }}
		t.Cleanup(func() { _ = pool.Close() })
		m, err := worqr.New(pool, worqr.Config{Namespace: ns, WaitForRedis: wait})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = m.Close() })
		w, err := m.NewWorker(quick())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if err := w.Start(ctx); err == nil || (ctx.Err() != nil) != wait {
			t.Errorf("WaitForRedis %v: Start: %v, with its context %v", wait, err, ctx.Err())
		}
		started := make(chan error, 1)
		if wait {
			go func() { started <- w.Start(t.Context()) }()
			proxy.Refuse(false)
		} else {
			proxy.Refuse(false)
			started <- w.Start(t.Context()) // it can be started again
		}
		if err := receive(t, "Start", started); err != nil || !w.Alive() {
			t.Errorf("WaitForRedis %v: Start: %v, alive: %v", wait, err, w.Alive())
		}
	}
}

// A worker under Run that could not start tells why, and is not left half-way.
func TestRunTellsWhyItDidNotStart(t *testing.T) {
	t.Parallel()
	proxy := redistest.NewProxy(t, redistest.Shared(t).URL())
	m := openAt(t, proxy.URL(), worqr.Config{})
	proxy.Refuse(true)
	w, err := m.NewWorker(quick())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "start worker") {
		t.Errorf("Run: %v, want an error of the start", err)
	}
	proxy.Refuse(false)
}
