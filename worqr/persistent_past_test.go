package worqr_test

import (
	"context"
	"testing"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// pastCase is one way in which a task comes from one holder to the next.
type pastCase struct {
	why worqr.Reason
	// move makes the task "t", which "a" holds, go on. a's connections are proxy's.
	move func(f *fleet, w *worqr.Worker, proxy *redistest.Proxy)
}

var pastCases = map[string]pastCase{
	"a death": {why: worqr.ReasonDeath, move: func(f *fleet, _ *worqr.Worker, proxy *redistest.Proxy) {
		f.join("b")
		f.ready(2)
		kill(proxy)
	}},
	"a silent death": {why: worqr.ReasonDeath, move: func(f *fleet, _ *worqr.Worker, proxy *redistest.Proxy) {
		f.join("b")
		f.ready(2)
		proxy.Freeze(redistest.Both)
	}},
	"Mesh.Fail": {why: worqr.ReasonDeath, move: func(f *fleet, w *worqr.Worker, _ *redistest.Proxy) {
		f.join("b")
		f.ready(2)
		if err := f.mesh.Fail(context.Background(), w.ID()); err != nil {
			f.t.Error(err)
		}
	}},
	"Worker.Drain": {why: worqr.ReasonDrain, move: func(f *fleet, w *worqr.Worker, _ *redistest.Proxy) {
		if err := w.Drain(context.Background()); err != nil {
			f.t.Error(err)
		}
		f.join("b")
	}},
	"StopWork": {why: worqr.ReasonDrain, move: func(f *fleet, w *worqr.Worker, _ *redistest.Proxy) {
		if err := w.StopWork(context.Background(), "q"); err != nil {
			f.t.Error(err)
		}
		f.join("b")
	}},
	"Worker.Fail": {why: worqr.ReasonDrain, move: func(f *fleet, w *worqr.Worker, _ *redistest.Proxy) {
		if err := w.Fail(context.Background()); err != nil {
			f.t.Error(err)
		}
		f.join("b")
	}},
	"a join": {why: worqr.ReasonRebalance, move: func(f *fleet, _ *worqr.Worker, _ *redistest.Proxy) {
		f.join("b", weight(1000))
	}},
}

func TestPersistentPastTellsWhy(t *testing.T) {
	t.Parallel()
	for name, c := range pastCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFrailFleet(t)
			w, proxy := f.mortal("a")
			f.ready(1)
			enqueue(t, f.mesh, "q", "t")
			first := f.now("t", 1)
			if p := first.past; p.Why != worqr.ReasonFirst || p.Token != 0 || p.Checkpoint != nil {
				t.Errorf("the first one's past is %+v, want none", p)
			}
			if err := first.p.Checkpoint(t.Context(), []byte("so far")); err != nil {
				t.Fatal(err)
			}
			f.beats(w, 3) // it is written
			c.move(f, w, proxy)
			second := f.now("t", 2)
			if p := second.past; p.Why != c.why || p.Token != first.p.Token() || string(p.Checkpoint) != "so far" {
				t.Errorf("past %q, token %d, checkpoint %q; want %q, %d and the checkpoint", p.Why, p.Token, p.Checkpoint, c.why, first.p.Token())
			}
		})
	}
}

// a handler that puts its task back by Stop
func TestPersistentPastAfterStop(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(*worqr.Process) error{
		"Stop":       func(p *worqr.Process) error { return p.Stop(context.Background()) },
		"StopToBack": func(p *worqr.Process) error { return p.StopToBack(context.Background()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t)
			holds := f.holder("a")
			stopped := make(chan error, 1)
			f.join("a", by(func(ctx context.Context, p *worqr.Process) error {
				if f.begun("t") > 0 {
					return holds(ctx, p)
				}
				f.leave(f.enter("a", p), nil)
				stopped <- stop(p)
				return nil
			}))
			f.ready(1)
			enqueue(t, f.mesh, "q", "t")
			if err := receive(t, "the stop", stopped); err != nil {
				t.Error(err)
			}
			second := f.now("t", 2)
			if p := second.past; p.Why != worqr.ReasonHandover || p.Token != f.history("t")[0].p.Token() {
				t.Errorf("past %+v, want handover", p)
			}
		})
	}
}

// the past is the last hold's, whatever was before
func TestPersistentPastIsTheLastHolds(t *testing.T) {
	t.Parallel()
	f := newFrailFleet(t)
	a, _ := f.join("a")
	f.ready(1)
	enqueue(t, f.mesh, "q", "t")
	f.now("t", 1)
	_, proxy := f.mortal("b", weight(1000))
	f.now("t", 2) // rebalanced
	f.ready(2)
	kill(proxy)
	f.now("t", 3) // dead
	f.join("c")
	f.ready(2)
	if err := a.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	f.now("t", 4)
	reasons := []worqr.Reason{}
	h := f.history("t")
	for i, turn := range h {
		reasons = append(reasons, turn.past.Why)
		if i > 0 && turn.past.Token != h[i-1].p.Token() {
			t.Errorf("turn %d: token before %d, want %d", i+1, turn.past.Token, h[i-1].p.Token())
		}
	}
	want(t, "reasons", reasons, []worqr.Reason{worqr.ReasonFirst, worqr.ReasonRebalance, worqr.ReasonDeath, worqr.ReasonDrain})
}
