package worqr_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/worqr/worqr-go/internal/embedded"
	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/internal/share"
	"github.com/worqr/worqr-go/worqr"
)

func TestPersistentJoinMovesTheFewest(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	names := numbered("w", 3)
	for _, name := range names {
		f.join(name)
	}
	f.ready(3)
	enqueue(t, f.mesh, "q", numbered("t", 13)...)
	f.spread(13, names...)
	joiner, stop := f.join("joiner")
	f.spread(13, append(names, "joiner")...)
	f.beats(joiner, 12)
	moved := f.endedBy(worqr.ErrHandover)
	if len(moved) != 3 || f.begun("") != 16 || len(f.holds("joiner")) != 3 {
		t.Errorf("%d moves, %d turns, the joiner holds %d; want 3, 16, 3", len(moved), f.begun(""), len(f.holds("joiner")))
	}
	f.mu.Lock()
	if f.taken["joiner"] != 3 || f.taken["w0"]+f.taken["w1"]+f.taken["w2"] != 13 {
		t.Errorf("taken %v, want 3 by the joiner and 13 by the others", f.taken)
	}
	f.mu.Unlock()
	// It leaves: its three go to the others, and nothing else.
	if err := stop(); err != nil {
		t.Error(err)
	}
	f.spread(13, names...)
	if n := f.begun(""); n != 19 {
		t.Errorf("%d turns after it left, want 19", n)
	}
}

// a joiner of any weight among others of any weight, against the plan
func TestPersistentJoinMovesWhatThePlanMoves(t *testing.T) {
	t.Parallel()
	rng := seeded(t)
	for i := range 4 {
		members := []share.Member{}
		for j := range 2 + rng.IntN(3) {
			members = append(members, share.Member{ID: fmt.Sprint("w", j), Weight: 1 + rng.IntN(5)})
		}
		joiner := share.Member{ID: "x", Weight: 1 + rng.IntN(5)}
		tasks := 1 + rng.IntN(60)
		t.Run(fmt.Sprint("round ", i), func(t *testing.T) {
			t.Parallel()
			joinAsPlanned(t, members, joiner, tasks)
		})
	}
}

func joinAsPlanned(t *testing.T, members []share.Member, joiner share.Member, tasks int) {
	t.Logf("%+v, then %+v; %d tasks", members, joiner, tasks)
	f := newFleet(t)
	var names []string
	for _, m := range members {
		names = append(names, m.ID)
		f.join(m.ID, weight(m.Weight))
	}
	f.ready(len(members))
	enqueue(t, f.mesh, "q", numbered("t", tasks)...)
	f.await("all are held", func() bool { return sum(f.loads(names...)) == tasks })
	for i, load := range f.loads(names...) {
		members[i].Held = load
	}
	parts, err := share.Plan(append(members, joiner), 0)
	if err != nil {
		t.Fatal(err)
	}
	w, _ := f.join(joiner.ID, weight(joiner.Weight))
	f.await(fmt.Sprint("the joiner's part of ", parts), func() bool {
		loads := f.loads(append(names, joiner.ID)...)
		return sum(loads) == tasks && loads[len(names)] == parts[len(names)].Target
	})
	f.beats(w, 8)
	if moves := f.begun("") - tasks; moves != share.Moves(parts) {
		t.Errorf("%d moves, the plan has %d; loads %v, plan %+v", moves, share.Moves(parts), f.loads(append(names, joiner.ID)...), parts)
	}
}

func TestPersistentNothingMovesWhenBalanced(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(t *testing.T, f *fleet, s *embedded.Server) {
		names := numbered("w", 3)
		for _, name := range names {
			run(t, cuttable(t, s).mesh, f.config(name, under(worqr.Hold{})))
		}
		f.ready(3)
		enqueue(t, f.mesh, "q", numbered("t", 10)...)
		time.Sleep(3 * time.Minute)
		if n := f.begun(""); n != 10 {
			t.Errorf("%d turns in 3 minutes, want 10", n)
		}
		f.spread(10, names...)
	})
}

// Joins within the window: what moves, moves once, and after the last one.
func TestPersistentMovesWaitUntilTheMembersAreAtRest(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(t *testing.T, f *fleet, s *embedded.Server) {
		const settle = 10 * time.Second
		patient := under(worqr.Hold{Settle: settle})
		join := func(name string) { run(t, cuttable(t, s).mesh, f.config(name, patient)) }
		join("w0")
		f.ready(1)
		enqueue(t, f.mesh, "q", numbered("t", 24)...)
		f.spread(24, "w0")
		time.Sleep(time.Minute)
		var last time.Time
		for _, name := range []string{"w1", "w2", "w3"} {
			time.Sleep(6 * time.Second)
			last = time.Now()
			join(name)
		}
		time.Sleep(time.Until(last.Add(settle)))
		if n := f.begun(""); n != 24 {
			t.Errorf("%d turns within the window, want 24: nothing moves", n)
		}
		time.Sleep(5 * time.Second)
		f.spread(24, "w0", "w1", "w2", "w3")
		if n := f.begun(""); n != 24+18 {
			t.Errorf("%d turns, want 42: 18 moves, each task once", n)
		}
	})
}

// the budget: in no second more moves begin than the rate, and a burst of one second's
func TestPersistentMovesKeepTheirRate(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(t *testing.T, f *fleet, s *embedded.Server) {
		const tasks, rate = 120, 5
		slow := under(worqr.Hold{Settle: time.Second, MoveRate: rate})
		for _, name := range []string{"a", "b"} {
			run(t, cuttable(t, s).mesh, f.config(name, slow))
		}
		f.ready(2)
		enqueue(t, f.mesh, "q", numbered("t", tasks)...)
		f.spread(tasks, "a", "b")
		time.Sleep(time.Minute)
		run(t, cuttable(t, s).mesh, f.config("c", slow))
		time.Sleep(time.Minute)
		f.spread(tasks, "a", "b", "c")
		moved := f.endedBy(worqr.ErrHandover)
		if len(moved) != tasks/3 {
			t.Errorf("%d moves, want %d", len(moved), tasks/3)
		}
		var ends []time.Time
		for _, turn := range moved {
			ends = append(ends, turn.ended)
		}
		keepsRate(t, "moves", ends, rate, rate)
	})
}

// keepsRate checks that within no window more events lie than a rate brings, and a burst; and that
// they do not take more than twice as long as the rate needs.
func keepsRate(t *testing.T, what string, at []time.Time, rate, burst float64) {
	t.Helper()
	slices.SortFunc(at, time.Time.Compare)
	for i := range at {
		for j := i; j < len(at); j++ {
			if n, most := float64(j-i+1), burst+rate*at[j].Sub(at[i]).Seconds(); n > most+1e-6+1 {
				t.Errorf("%v %s within %v, want %.1f at most", n, what, at[j].Sub(at[i]), most)
				return
			}
		}
	}
	if n := len(at); n > 1 {
		took := at[n-1].Sub(at[0])
		t.Logf("%d %s in %v, the rate is %v/s", n, what, took, rate)
		if slowest := time.Duration(float64(n)/rate*2*float64(time.Second)) + 5*time.Second; took > slowest {
			t.Errorf("they took %v, want %v at most", took, slowest)
		}
	}
}

// The receiver starts when the old handler has returned, and then at once: a wake-up, not a poll.
// Not parallel: it measures time.
func TestPersistentHandOverIsShort(t *testing.T) {
	f := newFleet(t)
	slow := func(c *worqr.WorkerConfig, _ *worqr.Queue) {
		c.Beat, c.Lapse, c.Margin, c.Sweep = time.Second, 3*time.Second, 0, time.Second
	}
	f.join("a", slow)
	f.ready(1)
	const tasks = 40
	enqueue(t, f.mesh, "q", numbered("t", tasks)...)
	f.spread(tasks, "a")
	f.join("b", slow)
	f.spread(tasks, "a", "b")
	var gaps []time.Duration
	for _, old := range f.endedBy(worqr.ErrHandover) {
		gaps = append(gaps, f.history(old.task)[1].began.Sub(old.ended))
	}
	slices.Sort(gaps)
	t.Logf("gaps of %d moves: %v at least, %v p50, %v at most", len(gaps), gaps[0], gaps[len(gaps)/2], gaps[len(gaps)-1])
	if gaps[len(gaps)/2] > 50*time.Millisecond || gaps[len(gaps)-1] > 500*time.Millisecond {
		t.Errorf("gaps %v, want 50 ms at most", gaps)
	}
}

// a handler that needs long to return keeps its own task waiting, and nothing more is given up in
// its place
func TestPersistentSlowHandlerHoldsUpItsOwnMoveOnly(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	leave := make(chan struct{})
	f.join("a", by(f.winding("a", leave)))
	f.ready(1)
	enqueue(t, f.mesh, "q", numbered("t", 10)...)
	f.spread(10, "a")
	b, _ := f.join("b")
	defer close(leave)
	f.await("5 contexts have ended", func() bool {
		return len(f.chosen(func(t *turn) bool { return t.p.Context().Err() != nil })) == 5
	})
	f.beats(b, 15)
	asked := f.chosen(func(t *turn) bool { return t.p.Context().Err() != nil })
	if len(asked) != 5 || len(f.holds("b")) != 0 {
		t.Fatalf("%d were told to end, b holds %d; want 5, and none while they have not returned", len(asked), len(f.holds("b")))
	}
	for i := range 5 {
		leave <- struct{}{}
		redistest.Eventually(t, soon, "b takes what was given up", func() bool { return len(f.holds("b")) == i+1 })
	}
	f.beats(b, 10)
	if n := f.begun(""); n != 15 {
		t.Errorf("%d turns, want 15", n)
	}
}
