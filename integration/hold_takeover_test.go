package integration

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// scenario 97: ten processes hold 1,000 tasks, with the worker's defaults, and a witness from
// outside sees who holds what. One after the other is killed by SIGKILL, at another phase of its
// beat, and replaced: 3 where takeover is Strict and 6 where it is Fast, 20 with WORQR_LONG. Then
// two are stopped. From SIGKILL to held again, and from the return of the old handler to the start
// of the new one at most so much time passes, and no two ever hold one task.
func TestHoldsAreTakenOver(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	strict := bounds{half: lapse + time.Second, most: lapse + time.Second, handover: 50 * time.Millisecond}
	fast := bounds{half: 600 * time.Millisecond, most: time.Second, handover: strict.handover}
	t.Run("Strict", func(t *testing.T) { testTakeover(t, worqr.TakeoverStrict, strict) })
	t.Run("Fast", func(t *testing.T) { testTakeover(t, worqr.TakeoverFast, fast) })
}

// bounds are what half of the takeovers after a SIGKILL, 99 of 100 of them, and 99 of 100 of the
// hand-overs may take.
type bounds struct{ half, most, handover time.Duration }

func testTakeover(t *testing.T, takeover worqr.Takeover, b bounds) {
	random := seeded(t)
	watchMachine(t, 3).inTime(t, func(t *testing.T) (func(int) []string, bool) {
		took := takeOver(t, takeover, random)
		return func(times int) []string { return b.over(took, time.Duration(times)) }, false
	})
}

// times are how long it took until a task was held again.
type times struct {
	killed              []time.Duration
	rebalanced, drained []time.Duration
}

// over returns what took too long.
func (b bounds) over(took times, by time.Duration) (over []string) {
	compare := func(what string, list []time.Duration, half, most time.Duration) {
		p50, p99, words := quantiles(list)
		if half, most = by*half, by*most; len(list) == 0 || p50 > half || p99 > most {
			over = append(over, fmt.Sprintf("%s: %s; want p50 and p99 of %v and %v at most", what, words, half, most))
		}
	}
	compare("from SIGKILL to held again", took.killed, b.half, b.most)
	compare("gap at a hand-over, rebalance", took.rebalanced, b.handover, b.handover)
	compare("gap at a hand-over, drain", took.drained, b.handover, b.handover)
	return over
}

func takeOver(t *testing.T, takeover worqr.Takeover, random *rand.Rand) (took times) {
	const processes, tasks, stops = 10, 1000, 2
	kills := longer(map[worqr.Takeover]int{worqr.TakeoverStrict: 3, worqr.TakeoverFast: 6}[takeover], 20)
	server := redistest.Own(t, "--slowlog-log-slower-than", "1000", "--slowlog-max-len", "100000")
	w := watch(t, fieldAt(t, server), keeper{Timing: timing{Beat: time.Second}, Takeover: takeover, Unwind: 20 * time.Millisecond})
	w.hold(t, processes, tasks)
	pass(lapse) // whoever was started a moment ago is in doubt of others
	killed := map[string]time.Duration{}
	for range kills {
		// A task that was begun just before a death is suspected of it. This is not about that: so
		// some time passes, and one of the older half is the victim, as what came from the dead
		// goes on to the newest.
		pass(2*time.Second + time.Duration(random.Int64N(int64(time.Second))))
		victim := w.names()[random.IntN(processes/2)]
		killed[victim] = w.kill(t, victim)
		w.awaitHeld(t)
		w.start(t)
	}
	w.awaitShared(t)
	for range stops {
		name := w.names()[random.IntN(len(w.up))]
		w.up[name].end(t)
		w.ended(t, name)
		w.awaitHeld(t)
	}
	longest, name := w.slowest(t)
	t.Logf("the longest script took %v: %s", longest, name)
	list := w.review(t)
	odd := 0
	for _, p := range list {
		at, dead := killed[p.from.Holder]
		byDeath := p.to.Reason == string(worqr.ReasonDeath)
		if dead && byDeath { // also what its handler had returned, and it had no time to give back
			took.killed = append(took.killed, p.begun-at)
		} else if byDeath || p.from.State == "cut" {
			if odd++; odd <= 5 {
				t.Errorf("%s went from %s, %s, to %s for the reason %q", p.key, p.from.Holder, p.from.State, p.to.Holder, p.to.Reason)
			}
		}
	}
	if least := kills * tasks / processes; len(took.killed) < least {
		t.Errorf("%d tasks were held again after a SIGKILL, want %d at least", len(took.killed), least)
	}
	took.rebalanced, took.drained = gaps(list, string(worqr.ReasonRebalance)), gaps(list, string(worqr.ReasonDrain))
	for _, list := range [][]time.Duration{took.killed, took.rebalanced, took.drained} {
		_, _, words := quantiles(list)
		t.Log(words)
	}
	return took
}
