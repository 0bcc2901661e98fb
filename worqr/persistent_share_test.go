package worqr_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/internal/share"
	"github.com/worqr/worqr-go/worqr"
)

func TestPersistentHandlerHoldsUntilItsContextEnds(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	w, stop := f.join("a")
	f.ready(1)
	enqueue(t, f.mesh, "q", "t")
	first := f.now("t", 1)
	f.beats(w, 12)
	if h := f.history("t"); len(h) != 1 || h[0].over {
		t.Errorf("turns %+v, want one that goes on", h)
	}
	if at := f.locate("t"); at.State != "held" || at.Process != first.p.ID() {
		t.Errorf("located %+v, want held as %s", at, first.p.ID())
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if last := f.gone("t", 1); !errors.Is(last.cause, worqr.ErrStopping) {
		t.Errorf("ended with %v, want ErrStopping", last.cause)
	}
	want(t, "tasks", waiting(t, f.mesh, "q"), []string{"t"})
}

func TestPersistentTasksAreSpreadEvenly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ workers, tasks int }{{1, 5}, {2, 1}, {3, 10}, {4, 4}, {5, 32}} {
		for _, first := range []string{"workers", "tasks"} {
			t.Run(fmt.Sprintf("%d workers, %d tasks, %s first", c.workers, c.tasks, first), func(t *testing.T) {
				t.Parallel()
				f := newFleet(t)
				tasks, names := numbered("t", c.tasks), numbered("w", c.workers)
				if first == "tasks" {
					f.reconcile(tasks...)
				}
				for _, name := range names {
					f.join(name)
				}
				if first == "workers" {
					f.ready(c.workers)
					enqueue(t, f.mesh, "q", tasks...)
				}
				f.spread(c.tasks, names...)
				if moves := len(f.endedBy(worqr.ErrHandover)); first == "workers" && moves != 0 {
					t.Errorf("%d moves, want none: all were there when the tasks came", moves)
				}
			})
		}
	}
}

func TestPersistentTasksComeOneByOneAndNothingMoves(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	names := numbered("w", 3)
	var w *worqr.Worker
	for _, name := range names {
		w, _ = f.join(name)
	}
	f.ready(3)
	for i, task := range numbered("t", 20) {
		enqueue(t, f.mesh, "q", task)
		f.spread(i+1, names...)
	}
	f.beats(w, 10)
	if n := f.begun(""); n != 20 {
		t.Errorf("%d turns, want 20: nothing has to move", n)
	}
}

func TestPersistentSharesFollowTheCapacity(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"workers", "tasks"} {
		t.Run(first+" first", func(t *testing.T) {
			t.Parallel()
			f := newFleet(t)
			if first == "tasks" {
				f.reconcile(numbered("t", 40)...)
			}
			f.join("one", weight(1))
			f.join("two", weight(2))
			f.join("five", weight(5))
			if first == "workers" {
				f.ready(3)
				enqueue(t, f.mesh, "q", numbered("t", 40)...)
			}
			f.await("5, 10 and 25 tasks", func() bool { return slices.Equal(f.loads("one", "two", "five"), []int{5, 10, 25}) })
		})
	}
}

// odd weights with limits, against the plan
func TestPersistentSharesFollowThePlan(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	members := []share.Member{{ID: "a", Weight: 7}, {ID: "b", Weight: 3, Limit: 2}, {ID: "c", Weight: 1}, {ID: "d", Weight: 4, Limit: 20}}
	for _, m := range members {
		f.join(m.ID, weight(m.Weight), atMost(m.Limit))
	}
	f.ready(len(members))
	enqueue(t, f.mesh, "q", numbered("t", 61)...)
	parts, err := share.Plan(members, 61)
	if err != nil {
		t.Fatal(err)
	}
	var wanted []int
	for _, part := range parts {
		wanted = append(wanted, part.Target)
	}
	f.await(fmt.Sprint("the plan ", wanted), func() bool { return slices.Equal(f.loads("a", "b", "c", "d"), wanted) })
}

func TestPersistentLimitBoundsWhatAWorkerHolds(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	a, _ := f.join("a", atMost(3))
	f.join("b", atMost(2))
	f.ready(2)
	tasks := numbered("t", 9)
	enqueue(t, f.mesh, "q", tasks...)
	f.await("both hold their limit", func() bool { return slices.Equal(f.loads("a", "b"), []int{3, 2}) })
	f.beats(a, 5)
	if n, err := f.mesh.Len(t.Context(), "q"); n != 4 || err != nil {
		t.Errorf("%d wait, %v; want the 4 for which there is no room", n, err)
	}
	if n := f.begun(""); n != 5 {
		t.Errorf("%d turns, want 5", n)
	}
	for _, task := range tasks {
		wanted := "waiting"
		if slices.Contains(f.holds(""), task) {
			wanted = "held"
		}
		if state := f.state(task); state != wanted {
			t.Errorf("%q is %s, want %s", task, state, wanted)
		}
	}
	// Where one ends, one that waits begins.
	for i := range 4 {
		f.cancel(f.holds("a")[0])
		f.await("the next one begins", func() bool { return f.begun("") == 6+i && len(f.holds("")) == 5 })
	}
	f.cancel(f.holds("a")[0])
	f.await("what is left is spread", func() bool { return len(f.holds("")) == 4 })
	for _, name := range []string{"a", "b"} {
		if load := len(f.holds(name)); load > 3 || name == "b" && load > 2 {
			t.Errorf("%s holds %d", name, load)
		}
	}
	if n := f.begun(""); n > 10 {
		t.Errorf("%d turns, want 9, or 10 when the last cancel made one move", n)
	}
}

// what is above all limits is taken by a worker that comes later
func TestPersistentTasksWithoutRoomWaitForAJoiner(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.join("a", atMost(2))
	f.ready(1)
	enqueue(t, f.mesh, "q", numbered("t", 5)...)
	f.await("a is full", func() bool { return len(f.holds("a")) == 2 })
	f.join("b", atMost(2))
	f.await("b is full", func() bool { return len(f.holds("b")) == 2 })
	redistest.Eventually(t, soon, "one waits", func() bool { return len(waiting(t, f.mesh, "q")) == 1 })
	if n := f.begun(""); n != 4 {
		t.Errorf("%d turns, want 4: what waits is taken, and nothing moves", n)
	}
}

// many more than one take brings
func TestPersistentTasksBeyondOneChunk(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.join("a")
	f.join("b")
	f.ready(2)
	enqueue(t, f.mesh, "q", numbered("t", 2_000)...)
	f.spread(2_000, "a", "b")
	if n := f.begun(""); n != 2_000 {
		t.Errorf("%d turns, want 2000", n)
	}
}
