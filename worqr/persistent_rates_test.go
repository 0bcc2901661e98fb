package worqr_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/worqr/worqr-go/internal/embedded"
	"github.com/worqr/worqr-go/worqr"
)

// starts is when these turns began.
func starts(turns []turn) []time.Time {
	at := make([]time.Time, len(turns))
	for i, turn := range turns {
		at[i] = turn.began
	}
	return at
}

// groupOf is what stands before the task's first colon.
func groupOf(task []byte) string {
	group, _, found := strings.Cut(string(task), ":")
	if !found {
		return ""
	}
	return group
}

func TestPersistentStartRateBoundsAWorker(t *testing.T) {
	t.Parallel()
	for _, rate := range []float64{0.5, 10} {
		t.Run(fmt.Sprint(rate, " per second"), func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, f *fleet, s *embedded.Server) {
				tasks := int(rate * 12)
				for _, name := range []string{"a", "b"} {
					run(t, cuttable(t, s).mesh, f.config(name, under(worqr.Hold{StartRate: rate, Settle: time.Hour})))
				}
				f.ready(2)
				enqueue(t, f.mesh, "q", numbered("t", tasks)...)
				time.Sleep(time.Minute)
				f.spread(tasks, "a", "b")
				for _, name := range []string{"a", "b"} {
					of := f.chosen(func(t *turn) bool { return t.who == name })
					keepsRate(t, "starts of "+name, starts(of), rate, max(rate, 1))
				}
			})
		})
	}
}

// a worker without a rate beside one with it is not slowed down, nor does it take the other's share
func TestPersistentStartRateConcernsOneWorker(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(t *testing.T, f *fleet, s *embedded.Server) {
		run(t, cuttable(t, s).mesh, f.config("slow", under(worqr.Hold{StartRate: 2, Settle: time.Hour})))
		run(t, cuttable(t, s).mesh, f.config("fast", under(worqr.Hold{Settle: time.Hour})))
		f.ready(2)
		enqueue(t, f.mesh, "q", numbered("t", 40)...)
		time.Sleep(2 * time.Second)
		if n := len(f.holds("fast")); n != 20 {
			t.Errorf("after 2 s the fast one holds %d, want its 20", n)
		}
		time.Sleep(20 * time.Second)
		f.spread(40, "slow", "fast")
		keepsRate(t, "starts of slow", starts(f.chosen(func(t *turn) bool { return t.who == "slow" })), 2, 2)
	})
}

func TestPersistentGroupRateBoundsTheMesh(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(t *testing.T, f *fleet, s *embedded.Server) {
		const rate = 4
		names := numbered("w", 3)
		for _, name := range names {
			run(t, cuttable(t, s).mesh, f.config(name, under(worqr.Hold{Group: groupOf, GroupRate: rate, Settle: time.Hour})))
		}
		f.ready(3)
		enqueue(t, f.mesh, "q", numbered("x:", 60)...)
		enqueue(t, f.mesh, "q", numbered("y:", 30)...)
		enqueue(t, f.mesh, "q", numbered("free", 30)...) // of no group, and behind all others
		began := time.Now()
		time.Sleep(2 * time.Second)
		if n := len(f.chosen(func(t *turn) bool { return strings.HasPrefix(t.task, "free") })); n != 30 {
			t.Errorf("after 2 s %d of the 30 of no group are held", n)
		}
		time.Sleep(time.Minute - time.Since(began))
		f.spread(120, names...)
		for _, group := range []string{"x:", "y:"} {
			of := f.chosen(func(t *turn) bool { return strings.HasPrefix(t.task, group) })
			keepsRate(t, "starts of "+group, starts(of), rate, rate)
			if last := of[len(of)-1].began.Sub(began); group == "y:" && last > 15*time.Second {
				t.Errorf("y took %v: one group holds up another", last)
			}
		}
	})
}

// after a death the restarts keep both rates, in the whole mesh
func TestPersistentRestartsAfterADeathKeepTheRates(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(t *testing.T, f *fleet, s *embedded.Server) {
		const tasks, rate, groupRate = 60, 6, 4
		hold := under(worqr.Hold{StartRate: rate, Group: groupOf, GroupRate: groupRate, Settle: time.Hour})
		doomed := cuttable(t, s)
		run(t, doomed.mesh, f.config("doomed", hold))
		for _, name := range []string{"a", "b"} {
			run(t, cuttable(t, s).mesh, f.config(name, hold))
		}
		f.ready(3)
		enqueue(t, f.mesh, "q", numbered("x:", tasks)...)
		time.Sleep(time.Minute)
		f.spread(tasks, "doomed", "a", "b")
		killed := time.Now()
		doomed.cut(true)
		time.Sleep(time.Minute)
		f.spread(tasks, "a", "b")
		restarts := f.chosen(func(t *turn) bool { return t.began.After(killed) })
		if len(restarts) != tasks/3 {
			t.Errorf("%d restarts, want %d", len(restarts), tasks/3)
		}
		for _, turn := range restarts {
			if turn.past.Why != worqr.ReasonDeath {
				t.Errorf("%q came by %q, want death", turn.task, turn.past.Why)
			}
		}
		keepsRate(t, "restarts", starts(restarts), groupRate, groupRate)
	})
}
