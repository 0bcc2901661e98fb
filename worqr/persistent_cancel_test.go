package worqr_test

import (
	"context"
	"errors"
	"testing"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

func TestPersistentCancelEndsAHold(t *testing.T) {
	t.Parallel()
	for name, returns := range map[string]func() error{
		"nil": ways["nil"], "an error": ways["an error"], "a panic": ways["a panic"], "ErrDone": func() error { return worqr.ErrDone },
	} {
		t.Run("the handler returns "+name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t)
			leave := make(chan struct{})
			winds := f.winding("a", leave)
			w, _ := f.join("a", by(func(ctx context.Context, p *worqr.Process) error {
				_ = winds(ctx, p)
				return returns()
			}))
			defer close(leave)
			f.join("b")
			f.ready(2)
			enqueue(t, f.mesh, "q", "t", "u")
			f.await("both are held", func() bool { return len(f.holds("")) == 2 })
			task, other := f.holds("a")[0], f.holds("b")[0]
			hold := f.now(task, 1)
			c := f.cancel(task)
			if c.Waiting != 0 || len(c.Running) != 1 || c.Running[0].ID != hold.p.ID() || c.Running[0].Worker != w.ID() {
				t.Errorf("Cancel: %+v, want %s in hand of %s", c, hold.p.ID(), w.ID())
			}
			f.canceled(hold)
			if at := f.locate(task); at.State != "ending" || at.Worker != w.ID() || at.Process != hold.p.ID() || at.Token != hold.p.Token() {
				t.Errorf("located %+v, want ending as %s", at, hold.p.ID())
			}
			leave <- struct{}{}
			f.located(task, "gone")
			f.beats(w, 12)
			if n := f.begun(task); n != 1 || f.begun(other) != 1 {
				t.Errorf("%d turns, and %d of the other, want 1 and 1", n, f.begun(other))
			}
			if c := f.cancel(task); c.Waiting != 0 || len(c.Running) != 0 {
				t.Errorf("a second Cancel: %+v, want nothing found", c)
			}
		})
	}
}

func TestPersistentCancelOfWhatWaits(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	w, _ := f.join("a", atMost(1))
	f.ready(1)
	enqueue(t, f.mesh, "q", "t", "u", "v")
	f.now("t", 1)
	if c := f.cancel("u"); c.Waiting != 1 || len(c.Running) != 0 {
		t.Errorf("Cancel: %+v, want 1 waiting", c)
	}
	if state := f.state("u"); state != "gone" {
		t.Errorf("it is %s, want gone", state)
	}
	f.cancel("t")
	f.now("v", 1)
	f.beats(w, 5)
	if n := f.begun("u"); n != 0 {
		t.Errorf("u was begun %d times", n)
	}
	enqueue(t, f.mesh, "q", "u") // it can be added again
	if state := f.state("u"); state != "waiting" {
		t.Errorf("it is %s, want waiting", state)
	}
}

func TestPersistentLostCancelIsMadeGood(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(*redistest.Proxy){
		"refused": func(p *redistest.Proxy) { kill(p) },
		"silent":  func(p *redistest.Proxy) { p.Freeze(redistest.ToClient) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t)
			m, proxy := deaf(t, f.ns)
			run(t, m, f.config("a"))
			t.Cleanup(func() { revive(proxy); proxy.Thaw() })
			f.ready(1)
			redistest.Eventually(t, soon, "the subscription", m.Listener().Ready)
			enqueue(t, f.mesh, "q", numbered("t", 20)...)
			f.spread(20, "a")
			fault(proxy)
			f.cancel("t7")
			if turn := f.gone("t7", 1); !errors.Is(turn.cause, worqr.ErrCanceled) {
				t.Errorf("ended with %v, want ErrCanceled", turn.cause)
			}
			f.located("t7", "gone")
			f.spread(19, "a")
		})
	}
}

// the holder is cut off, then the task is canceled: nobody starts it again
func TestPersistentCancelOfADeadHoldersTask(t *testing.T) {
	t.Parallel()
	f := newFrailFleet(t)
	_, proxy := f.mortal("a")
	f.ready(1)
	enqueue(t, f.mesh, "q", "t", "u")
	f.now("t", 1)
	f.now("u", 1)
	b, _ := f.join("b", under(worqr.Hold{Settle: 1e12}))
	f.ready(2)
	kill(proxy)
	f.cancel("t")
	f.now("u", 2)
	f.located("t", "gone")
	f.beats(b, 5)
	if n := f.begun("t"); n != 1 {
		t.Errorf("%d turns, want 1", n)
	}
	enqueue(t, f.mesh, "q", "t")
	if turn := f.now("t", 2); turn.past.Why != worqr.ReasonFirst || turn.past.Token != 0 {
		t.Errorf("past %+v, want none: it is a new task", turn.past)
	}
}

// canceled while its old holder ends for a move: the receiver never starts it
func TestPersistentCancelDuringAMove(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	leave := make(chan struct{})
	f.join("a", by(f.winding("a", leave)))
	f.ready(1)
	enqueue(t, f.mesh, "q", "t")
	hold := f.now("t", 1)
	b, _ := f.join("b", weight(1000))
	defer close(leave)
	if cause := ended(t, hold.p.Context()); !errors.Is(cause, worqr.ErrHandover) {
		t.Errorf("ended with %v, want ErrHandover", cause)
	}
	if c := f.cancel("t"); len(c.Running) != 1 {
		t.Errorf("Cancel: %+v, want one running", c)
	}
	leave <- struct{}{}
	f.located("t", "gone")
	f.beats(b, 5)
	if n := f.begun("t"); n != 1 {
		t.Errorf("%d turns, want 1", n)
	}
}

// DeleteQueue: what waits or is delayed goes, what is held goes on and does not come back
func TestPersistentDeleteQueue(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	holds, fails := f.holder("a"), f.broken("a", ways["an error"])
	w, stop := f.join("a", atMost(2), by(func(ctx context.Context, p *worqr.Process) error {
		if string(p.Task()) == "bad" {
			return fails(ctx, p)
		}
		return holds(ctx, p)
	}))
	f.ready(1)
	enqueue(t, f.mesh, "q", "bad")
	f.await("bad has failed often", func() bool { return f.begun("bad") > 5 })
	enqueue(t, f.mesh, "q", "t", "u", "waits")
	f.now("t", 1)
	f.now("u", 1)
	if _, err := f.mesh.DeleteQueue(t.Context(), "q"); err != nil {
		t.Fatal(err)
	}
	n := f.begun("bad")
	for _, task := range []string{"waits", "bad"} {
		if state := f.state(task); state != "gone" {
			t.Errorf("%q is %s, want gone", task, state)
		}
	}
	f.beats(w, 5)
	if f.begun("t") != 1 || f.begun("u") != 1 || len(f.holds("")) != 2 || f.begun("bad") != n {
		t.Errorf("held: %v, bad began %d times more; want t and u in their first turn", f.holds(""), f.begun("bad")-n)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	want(t, "tasks", waiting(t, f.mesh, "q"), nil)
}
