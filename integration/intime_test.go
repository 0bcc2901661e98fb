package integration

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// The worker's defaults, and what a machine may add that is busy with dozens of processes.
const (
	lapse    = 3 * time.Second
	interval = time.Second
	slack    = 500 * time.Millisecond
)

// TestInTime checks what is promised in time, with the worker's defaults. No other test runs beside
// it: a judge whose replies are slow is in doubt, and takes its time then, as it should.
func TestInTime(t *testing.T) {
	t.Run("from SIGKILL to running", func(t *testing.T) {
		t.Run("Strict", func(t *testing.T) { testFromKillToRunning(t, worqr.TakeoverStrict, lapse+interval+slack) })
		t.Run("Fast", func(t *testing.T) { testFromKillToRunning(t, worqr.TakeoverFast, time.Second) })
	})
	t.Run("most of a mesh dies", testMostOfAMeshDies)
}

// defaults starts a daemon with the worker's defaults, which brisk must not replace. Only its end
// is quicker.
func (f *field) defaults(t testing.TB, s setup) *daemon {
	t.Helper()
	s.Timing, s.Grace = timing{Beat: time.Second}, 100*time.Millisecond
	return f.daemon(t, s)
}

// testFromKillToRunning: twenty meshes, each with a victim and the same two peers; each victim dies
// at another phase of its beat. From SIGKILL to the task running on a peer at most the lapse, one
// sweep interval and 0.5 s pass; where peers act on the end of the process, at most a second.
//
// That holds for judges without doubt: one that was in doubt, which shows in what it sends, was so
// as the machine stalled.
func testFromKillToRunning(t *testing.T, takeover worqr.Takeover, most time.Duration) {
	watchMachine(t, 3).inTime(t, func(t *testing.T) (func(int) []string, bool) {
		took, doubts := killTwenty(t, takeover)
		t.Logf("from SIGKILL to running on a peer, with %d looks in doubt: %v", doubts, took)
		return longerThan(took[len(took)-1], most), doubts > 0
	})
}

// longerThan compares how long something took with what is promised, in the form that inTime takes.
func longerThan(took, most time.Duration) func(times int) []string {
	return func(times int) (over []string) {
		if most := time.Duration(times) * most; took > most {
			over = append(over, fmt.Sprintf("it took up to %v, at most %v", took, most))
		}
		return over
	}
}

func killTwenty(t *testing.T, takeover worqr.Takeover) (took []time.Duration, doubts int) {
	const runs = 20
	f := newField(t)
	var meshes []*field
	var names []string
	var victims []*daemon
	for i := range runs {
		m := newField(t)
		meshes, names = append(meshes, m), append(names, m.ns)
		m.enqueue(t, fmt.Sprint(i))
		victims = append(victims, m.defaults(t, setup{Queue: queue, Do: "hold", Takeover: takeover}))
	}
	for _, v := range victims {
		v.next(t)
	}
	proxy := redistest.NewProxy(t, f.server.URL())
	doubt := watchDoubt(t, proxy)
	var peers []*daemon
	for range 2 {
		peers = append(peers, f.defaults(t, setup{URL: proxy.URL(), Namespaces: names, Queue: queue, Do: "hold", Takeover: takeover}))
	}
	for _, m := range meshes {
		m.awaitIdle(t, len(peers))
	}
	// whoever was started a moment ago is in doubt
	redistest.Eventually(t, 3*soon, "no peer is in doubt", func() bool { return doubt.quietFor() > 2*interval })

	phase := make([]time.Duration, runs)
	for i := range phase {
		phase[i] = rand.N(2 * interval)
	}
	order := rand.Perm(runs)
	slices.SortFunc(order, func(a, b int) int { return int(phase[a] - phase[b]) })
	before := doubt.count()
	killed, began := make([]time.Duration, runs), stamp()
	late := 0
	for _, i := range order {
		pass(began + phase[i] - stamp())
		if len(victims[i].said("lapsed ")) > 0 { // the machine stalled: a peer may have its task already
			late++
			continue
		}
		killed[i] = stamp()
		victims[i].Kill(t)
	}
	if late == runs {
		t.Fatal("each of the victims lapsed before its death")
	}
	for _, i := range order {
		if killed[i] == 0 {
			continue
		}
		redistest.Eventually(t, soon, "the task runs on a peer", func() bool {
			for _, p := range peers {
				for _, run := range p.deliveries(t) {
					if run.task == fmt.Sprint(i) {
						took = append(took, (run.at - killed[i]).Round(10*time.Millisecond))
						return true
					}
				}
			}
			return false
		})
	}
	for _, d := range peers {
		d.end(t) // it would sweep beside the next attempt
	}
	slices.Sort(took)
	return took, doubt.count() - before + late
}

// testMostOfAMeshDies covers scenario 107, each case in a mesh of its own and all at once.
func testMostOfAMeshDies(t *testing.T) {
	const bound = 2*lapse + interval // its processes start in this time too
	for _, c := range []struct {
		name         string
		workers, die int
	}{
		{"3 of 5 die and a fresh one joins", 5, 3},
		{"all of 5 die and a fresh one joins", 5, 5},
		{"a mesh of one restarts", 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			watchMachine(t, 3).inTime(t, func(t *testing.T) (func(int) []string, bool) {
				took := mostDie(t, c.workers, c.die)
				t.Logf("every task was back %v after the deaths", took.Round(10*time.Millisecond))
				return longerThan(took, bound), false
			})
		})
	}
}

// mostDie kills workers of a mesh and starts a fresh one. It returns how long it took until that
// one had all their tasks.
func mostDie(t *testing.T, workers, die int) time.Duration {
	f := newField(t)
	f.enqueue(t, named("t", workers)...)
	var daemons []*daemon
	lost := map[string]bool{}
	for i := range workers {
		d := f.defaults(t, setup{Queue: queue, Do: "hold"})
		if run := d.next(t); i < die {
			lost[run.task] = true
		}
		daemons = append(daemons, d)
	}
	killed := stamp()
	for _, d := range daemons[:die] {
		d.Kill(t)
	}
	fresh := f.defaults(t, setup{Queue: queue, Limit: workers, Do: "hold"})
	var last time.Duration
	redistest.Eventually(t, soon, "every task of the dead runs again", func() bool {
		back := map[string]bool{}
		for _, run := range fresh.deliveries(t) {
			if lost[run.task] {
				back[run.task], last = true, max(last, run.at)
			} else if !slices.ContainsFunc(daemons[die:], func(d *daemon) bool { return len(d.said("lapsed ")) > 0 }) {
				t.Fatalf("%q runs twice", run.task)
			}
		}
		return len(back) == len(lost)
	})
	for _, d := range daemons[die:] {
		d.end(t)
	}
	fresh.end(t)
	return last - killed
}
