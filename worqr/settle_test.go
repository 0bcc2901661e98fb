package worqr_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/worqr/worqr-go/events"
	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// scenario 15, scenario 17
func TestFinishIsToldOnceAndOnlyOnce(t *testing.T) {
	t.Parallel()
	ctx, m := t.Context(), open(t)
	heard := hear(t, m, "q", events.Done)
	enqueue(t, m, "q", "a", "marker")
	w := start(t, m, patient(), "q")
	p, marker := take(t, w, "q"), take(t, w, "q")
	finish(t, p)
	want(t, "in hand", held(t, m, "q"), []string{w.ID() + ":marker"})
	if cause := ended(t, p.Context()); !errors.Is(cause, worqr.ErrSettled) {
		t.Errorf("the context of a finished process ended with %v, want ErrSettled", cause)
	}
	for range 3 {
		if ok, err := p.Finish(ctx); ok || err != nil {
			t.Errorf("another Finish: %v, %v; want false", ok, err)
		}
	}
	for _, stop := range []func(context.Context) error{p.Stop, p.StopToBack} {
		if err := stop(ctx); !errors.Is(err, worqr.ErrSettled) {
			t.Errorf("a stop after Finish: %v, want ErrSettled", err)
		}
	}
	finish(t, marker)
	for _, p := range []*worqr.Process{p, marker} {
		e := receive(t, "a done event", heard)
		if e.Kind != events.Done || e.Queue != "q" || e.Worker != w.ID() || e.Process != p.ID() || e.Token != p.Token() || string(e.Task) != string(p.Task()) {
			t.Errorf("heard %+v, want done of %s with %q by %s", e, p.ID(), p.Task(), w.ID())
		}
	}
	want(t, "tasks", waiting(t, m, "q"), nil)
}

// scenario 18
func TestAProcessThatRedisLostIsGone(t *testing.T) {
	t.Parallel()
	for _, known := range []bool{false, true} { // before and after the worker has found out by its look
		ctx, ns := t.Context(), redistest.Namespace(t)
		m, c := openAt(t, redistest.Shared(t).URL(), worqr.Config{Namespace: ns}), redistest.Shared(t).Conn(t)
		ear := openAt(t, redistest.Shared(t).URL(), worqr.Config{Namespace: ns}) // not told what the worker's looks find
		heard := hear(t, ear, "q")
		cfg := patient()
		if known {
			cfg = quick()
		}
		enqueue(t, m, "q", "a", "b", "c", "rest")
		receive(t, "the work event", heard)
		w := start(t, m, cfg, "q")
		ps := []*worqr.Process{take(t, w, "q"), take(t, w, "q"), take(t, w, "q")}
		for _, p := range ps {
			// by hand, as nothing of ours does
			dot := strings.LastIndexByte(p.ID(), '.')
			membership, number := p.ID()[:dot], p.ID()[dot+1:]
			for _, command := range [][]any{
				{"ZREM", queuePrefix(ns, "q") + ":processes:" + membership, number}, {"DEL", queuePrefix(ns, "q") + ":process:" + p.ID()},
			} {
				if n, err := c.Do(command[0].(string), command[1:]...); err != nil || n.(int64) != 1 {
					t.Fatalf("%v: %v, %v", command, n, err)
				}
			}
		}
		if known {
			for _, p := range ps {
				if cause := ended(t, p.Context()); !errors.Is(cause, worqr.ErrGone) {
					t.Errorf("its context ended with %v, want ErrGone", cause)
				}
			}
		}
		before := snapshot(t, c, ns)
		if ok, err := ps[0].Finish(ctx); ok || err != nil {
			t.Errorf("known %v: Finish: %v, %v; want false", known, ok, err)
		}
		if err := ps[1].Stop(ctx); !errors.Is(err, worqr.ErrGone) {
			t.Errorf("known %v: Stop: %v, want ErrGone", known, err)
		}
		if err := ps[2].StopToBack(ctx); !errors.Is(err, worqr.ErrGone) {
			t.Errorf("known %v: StopToBack: %v, want ErrGone", known, err)
		}
		if !known { // else beats and rounds change keys
			want(t, "changed", differences(before, snapshot(t, c, ns)), nil)
		}
		want(t, "tasks", waiting(t, m, "q"), []string{"rest"})
		enqueue(t, m, "q", "marker")
		if e := receive(t, "an event", heard); e.Kind != events.Work || e.Count != 1 {
			t.Errorf("known %v: heard %+v, want only the marker", known, e)
		}
		for _, id := range []string{"", "unknown", ps[0].ID(), ps[0].ID() + ".1", w.ID() + ".1.x", w.ID() + ".1.999"} {
			if p := w.Process(id); p != nil {
				t.Errorf("known %v: Process(%q) is %v, want nil", known, id, p.ID())
			}
		}
		finish(t, take(t, w, "q"))
	}
}

// scenario 19
func TestStoppedTaskIsNext(t *testing.T) {
	t.Parallel()
	m := open(t)
	enqueue(t, m, "q", "t1", "t2", "t3")
	a, b := start(t, m, patient(), "q"), start(t, m, patient(), "q")
	p := take(t, a, "q")
	if err := p.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if cause := ended(t, p.Context()); !errors.Is(cause, worqr.ErrSettled) {
		t.Errorf("its context ended with %v, want ErrSettled", cause)
	}
	if err := p.Stop(t.Context()); !errors.Is(err, worqr.ErrSettled) {
		t.Errorf("a second Stop: %v, want ErrSettled", err)
	}
	if ok, err := p.Finish(t.Context()); ok || err != nil {
		t.Errorf("Finish after Stop: %v, %v; want false", ok, err)
	}
	want(t, "tasks", waiting(t, m, "q"), []string{"t1", "t2", "t3"})
	again := take(t, b, "q")
	if string(again.Task()) != "t1" || again.Token() <= p.Token() || again.ID() == p.ID() {
		t.Errorf("next is %q with token %d, want t1 above %d", again.Task(), again.Token(), p.Token())
	}
}

// scenario 19, scenario 20: an idle worker is woken. It neither looks nor beats within this test.
func TestStopWakesAnIdleWorker(t *testing.T) {
	t.Parallel()
	for _, stop := range []func(*worqr.Process, context.Context) error{(*worqr.Process).Stop, (*worqr.Process).StopToBack} {
		ns := redistest.Namespace(t)
		m, c := openAt(t, redistest.Shared(t).URL(), worqr.Config{Namespace: ns}), redistest.Shared(t).Conn(t)
		enqueue(t, m, "q", "t1")
		p := take(t, start(t, m, patient(), "q"), "q")
		ran := make(chan string, 2)
		run(t, m, handling(patient(), "q", 1, gather(ran)))
		awaitIdle(t, c, ns, "q", 1)
		if err := stop(p, t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := receive(t, "a run", ran); got != "t1" {
			t.Errorf("ran %q, want t1", got)
		}
	}
}

// scenario 20
func TestTaskStoppedToTheBackIsLast(t *testing.T) {
	t.Parallel()
	m := open(t)
	enqueue(t, m, "q", "t1", "t2", "t3")
	w := start(t, m, patient(), "q")
	if err := take(t, w, "q").StopToBack(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, task := range []string{"t2", "t3", "t1"} {
		if got := string(take(t, w, "q").Task()); got != task {
			t.Errorf("took %q, want %q", got, task)
		}
	}
}

// scenario 22
func TestOneOfManyFinishesIsTrue(t *testing.T) {
	t.Parallel()
	m := open(t)
	w := start(t, m, patient(), "q")
	for _, task := range numbered("t", 20) {
		enqueue(t, m, "q", task)
		p := take(t, w, "q")
		var wins atomic.Int32
		var callers sync.WaitGroup
		gate := make(chan struct{})
		for range 32 {
			callers.Go(func() {
				<-gate
				ok, err := p.Finish(t.Context())
				if err != nil {
					t.Error(err)
				}
				if ok {
					wins.Add(1)
				}
			})
		}
		close(gate)
		callers.Wait()
		if n := wins.Load(); n != 1 {
			t.Fatalf("%d of 32 finishes were true, want 1", n)
		}
	}
}

// scenario 22: finishes and stops of one process, of which one counts
func TestOneOfManyOutcomesCounts(t *testing.T) {
	t.Parallel()
	m := open(t)
	heard := hear(t, m, "q", events.Done)
	w := start(t, m, patient(), "q")
	finished := 0
	for range 50 {
		enqueue(t, m, "q", "a")
		p := take(t, w, "q")
		var done, stopped atomic.Int32
		var callers sync.WaitGroup
		gate := make(chan struct{})
		for i := range 9 {
			callers.Go(func() {
				<-gate
				switch i % 3 {
				case 0:
					if ok, err := p.Finish(t.Context()); err != nil {
						t.Error(err)
					} else if ok {
						done.Add(1)
					}
				default:
					stop := p.Stop
					if i%3 == 1 {
						stop = p.StopToBack
					}
					if err := stop(t.Context()); err == nil {
						stopped.Add(1)
					} else if !errors.Is(err, worqr.ErrSettled) {
						t.Error(err)
					}
				}
			})
		}
		close(gate)
		callers.Wait()
		back := len(waiting(t, m, "q"))
		if done.Load()+stopped.Load() != 1 || int(stopped.Load()) != back {
			t.Fatalf("%d finishes and %d stops succeeded, and %d tasks are back", done.Load(), stopped.Load(), back)
		}
		for range back {
			finish(t, take(t, w, "q"))
		}
		finished++
	}
	enqueue(t, m, "q", "marker")
	finish(t, take(t, w, "q"))
	for i := 0; ; i++ {
		if e := receive(t, "a done event", heard); string(e.Task) == "marker" {
			if i != finished {
				t.Errorf("%d done events, want %d", i, finished)
			}
			return
		}
	}
}
