package worqr_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/worqr/worqr-go/events"
	"github.com/worqr/worqr-go/internal/share"
	"github.com/worqr/worqr-go/worqr"
)

func TestPersistentBadConfigurationIsRefused(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	group := func([]byte) string { return "g" }
	for name, c := range map[string]struct {
		set   setting
		parts []string
	}{
		"Limit below 0":           {atMost(-1), []string{"q", "Limit", "-1"}},
		"Capacity below 0":        {weight(-1), []string{"Capacity", "-1"}},
		"Capacity too large":      {weight(share.MaxWeight + 1), []string{"Capacity", "1048577"}},
		"MoveRate below 0":        {under(worqr.Hold{MoveRate: -1}), []string{"q", "MoveRate", "-1"}},
		"MoveRate not a number":   {under(worqr.Hold{MoveRate: math.NaN()}), []string{"q", "MoveRate", "NaN"}},
		"MoveRate endless":        {under(worqr.Hold{MoveRate: math.Inf(1)}), []string{"q", "MoveRate", "Inf"}},
		"StartRate below 0":       {under(worqr.Hold{StartRate: -0.5}), []string{"q", "StartRate", "-0.5"}},
		"StartRate not a number":  {under(worqr.Hold{StartRate: math.NaN()}), []string{"q", "StartRate", "NaN"}},
		"GroupRate below 0":       {under(worqr.Hold{GroupRate: -3, Group: group}), []string{"q", "GroupRate", "-3"}},
		"GroupRate without Group": {under(worqr.Hold{GroupRate: 3}), []string{"q", "GroupRate", "Group"}},
		"Settle below 0":          {under(worqr.Hold{Settle: -1}), []string{"q", "Settle", "-1"}},
		"Takeover unknown":        {takenOver(7), []string{"q", "Takeover", "7"}},
		"Takeover below 0":        {takenOver(-1), []string{"q", "Takeover", "-1"}},
		"no handler":              {by(nil), []string{"q", "Handler"}},
	} {
		cfg := f.config("a", c.set)
		if name == "no handler" {
			cfg.Queues["q"] = worqr.Queue{Persistent: true}
		}
		w, err := f.mesh.NewWorker(cfg)
		if w != nil || err == nil {
			t.Errorf("%s: accepted", name)
			continue
		}
		says(t, name, err, worqr.ErrConfig, c.parts...)
	}
	if _, err := f.mesh.NewWorker(f.config("a", weight(share.MaxWeight), takenOver(worqr.TakeoverFast), under(worqr.Hold{
		MoveRate: 0.5, StartRate: 0.1, GroupRate: 1000, Group: group, Settle: time.Minute, MakeBeforeBreak: true,
	}))); err != nil {
		t.Errorf("a good configuration: %v", err)
	}
}

// refused checks that a worker which serves "q" in another way is refused, by StartWork and by Run.
func (f *fleet) refused(name string, q worqr.Queue) {
	f.t.Helper()
	cfg := firm()
	cfg.Queues = map[string]worqr.Queue{"q": q, "other": {Handler: worqr.HandlerFunc(func(context.Context, *worqr.Process) error { return nil })}}
	errs := make(chan error, 1_000)
	cfg.Hooks.OnError = func(err error) {
		if errors.Is(err, worqr.ErrConfig) {
			errs <- err
		}
	}
	once, err := f.mesh.NewWorker(cfg)
	if err != nil {
		f.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- once.Run(context.Background()) }()
	says(f.t, name+": Run", receive(f.t, "the end of Run", ended), worqr.ErrConfig, "q", "ersistent")

	w := start(f.t, f.mesh, cfg)
	says(f.t, name+": StartWork", w.StartWork(context.Background(), "q"), worqr.ErrConfig, "q", "ersistent")
	for range 2 { // it serves its other queues, and tries this one no more
		if err := w.StartWork(context.Background(), "other"); err != nil {
			f.t.Fatal(err)
		}
		heard := hear(f.t, f.mesh, "other", events.Done)
		enqueue(f.t, f.mesh, "other", "x")
		receive(f.t, "an event of the other queue", heard)
		if err := w.StopWork(context.Background(), "other"); err != nil {
			f.t.Fatal(err)
		}
	}
	if n := len(errs); n > 2 { // by Run and by StartWork, when the worker tried before them
		f.t.Errorf("%s: OnError was told %d times", name, n)
	}
}

func TestPersistentQueueRefusesOtherWorkers(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	a, _ := f.join("a")
	f.ready(1)
	enqueue(t, f.mesh, "q", "t", "u")
	f.spread(2, "a")
	var ran crowd
	f.refused("a one-shot handler", worqr.Queue{Limit: 3, Handler: worqr.HandlerFunc(func(context.Context, *worqr.Process) error {
		ran.enter()
		return nil
	})})
	// nor by Take
	w := start(t, f.mesh, firm())
	says(t, "StartWork without a handler", w.StartWork(t.Context(), "q"), worqr.ErrConfig, "q", "ersistent")
	if _, err := w.Take(t.Context(), "q"); !errors.Is(err, worqr.ErrNotWorking) {
		t.Errorf("Take: %v, want ErrNotWorking", err)
	}
	f.beats(a, 5)
	if ran.now.Load() != 0 || f.begun("") != 2 || len(f.holds("a")) != 2 {
		t.Errorf("%d one-shot runs, %d turns, held: %v; want nothing disturbed", ran.now.Load(), f.begun(""), f.holds(""))
	}
	f.join("b")
	f.spread(2, "a", "b")
}

// a queue that only Reconcile has marked
func TestPersistentDesiredQueueRefusesOtherWorkers(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.reconcile("t")
	f.refused("a one-shot handler", worqr.Queue{Handler: worqr.HandlerFunc(func(context.Context, *worqr.Process) error {
		t.Error("the task was run")
		return nil
	})})
	f.join("a")
	f.now("t", 1)
}

func TestOneShotQueueRefusesPersistentWorkers(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	d := newDoor()
	run(t, f.mesh, handling(firm(), "q", 2, d.handle))
	enqueue(t, f.mesh, "q", "x", "x", "y")
	p, other := receive(t, "a run", d.entered), receive(t, "a run", d.entered)
	f.refused("a persistent handler", worqr.Queue{Persistent: true, Handler: f.holder("a")})
	for _, p := range []*worqr.Process{p, other} {
		if !p.Valid() {
			t.Errorf("the one-shot process has ended: %v", context.Cause(p.Context()))
		}
	}
	want(t, "tasks", waiting(t, f.mesh, "q"), []string{"y"})
	for range 3 {
		d.leave <- nil
	}
	receive(t, "the third run", d.entered)
	if n := f.begun(""); n != 0 {
		t.Errorf("%d turns of the persistent worker, want none", n)
	}
}

func TestCheckpointOfAOneShotProcessIsRefused(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	w := start(t, f.mesh, firm(), "q")
	enqueue(t, f.mesh, "q", "x")
	p := take(t, w, "q")
	if err := p.Checkpoint(t.Context(), []byte("x")); err == nil {
		t.Error("accepted: nobody would ever get it")
	}
	finish(t, p)
}
