//go:build linux

package faults

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// runsOfAMesh is the number of runs after which a mesh is replaced by another one.
const runsOfAMesh = 25

// TestFaults runs what doc.go describes.
func TestFaults(t *testing.T) {
	runs, seed := number("WORQR_FAULT_RUNS", 0), uint64(number("WORQR_FAULT_SEED", 0))
	if seed == 0 {
		seed = rand.Uint64() >> 33 // easy to type
	}
	if runs > 0 {
		faults(t, runs, seed)
		return
	}
	faults(t, 30, 1)
	faults(t, 30, seed)
}

// tally is the sum of all runs.
type tally struct {
	mu                     sync.Mutex
	began                  time.Duration
	want, runs             int
	overlaps, lost, bad    int
	lapses, quick, planned int
	least                  float64 // between a deadline and the next begin, as a part of the margin
	any                    bool
	heals, slowest         time.Duration
	struck                 map[string]int // how often each kind of fault struck
}

func faults(t *testing.T, runs int, seed uint64) {
	fmt.Printf("faults: %d runs, seed %d: WORQR_FAULT_SEED=%d repeats these faults\n", runs, seed, seed)
	all := &tally{want: runs, began: stamp(), struck: map[string]int{}}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for tick := time.NewTicker(5 * time.Second); ; {
			select {
			case <-tick.C:
				fmt.Println(all)
			case <-stop:
				tick.Stop()
				return
			}
		}
	}()
	t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
		each := min(runsOfAMesh, max(5, (runs+5)/6))
		for n, left := 0, runs; left > 0; n, left = n+1, left-each {
			count := min(each, left)
			t.Run(fmt.Sprintf("mesh %d", n), func(t *testing.T) {
				t.Parallel()
				newFleet(t, fmt.Sprintf("mesh %d of seed %d", n, seed), seed<<20|uint64(n), false).live(count, all)
			})
		}
	})
	close(stop)
	<-stopped
	fmt.Println(all)
	fmt.Println("faults that struck:", all.struck)
	fmt.Printf("runs %d, overlaps %d, lost %d, seed %d\n", all.runs, all.overlaps, all.lost, seed)
	if all.runs < runs {
		t.Errorf("%d runs of %d", all.runs, runs)
	}
}

// live runs one mesh for that many runs.
func (f *fleet) live(runs int, all *tally) {
	f.Helper()
	if wrong, _ := f.recover(); wrong != "" {
		f.Fatalf("%s\nthe mesh does not begin: after %v %s", f.history(), soon, wrong)
	}
	for range runs {
		if all.enough() {
			f.Error("too much is wrong: no more runs")
			return
		}
		f.suffer()
		lost, took := f.recover()
		out := f.check(lost)
		all.add(f, out, took)
		if len(out.wrong) > 0 {
			f.Errorf("%s\n%s", f.history(), strings.Join(out.wrong, "\n"))
		}
		if out.lost > 0 {
			return // what follows would only repeat it
		}
		f.renew()
	}
	f.end()
}

func (a *tally) add(f *fleet, r result, took time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.runs++
	a.overlaps += r.overlaps
	a.lost += r.lost
	if len(r.wrong) > 0 {
		a.bad++
	}
	j := &f.judge
	a.lapses, a.quick, a.planned = a.lapses+j.lapses, a.quick+j.quick, a.planned+j.planned
	if least := float64(j.least) / float64(j.margin); j.any && (!a.any || least < a.least) {
		a.any, a.least = true, least
	}
	j.lapses, j.quick, j.planned = 0, 0, 0
	for name, n := range f.struck {
		a.struck[name] += n
	}
	clear(f.struck)
	a.heals += took
	a.slowest = max(a.slowest, took)
}

// enough reports whether there is no use in going on.
func (a *tally) enough() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.bad >= 10 || os.Getenv("WORQR_FAULT_STOP") != "" && a.bad > 0
}

func (a *tally) String() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return fmt.Sprintf("%d of %d runs in %v: overlaps %d, lost %d; %d takeovers after a lapse (%d without doubt), at the least %.2f of "+
		"the margin after the deadline; %d hand-overs; healed within %v, at most %v", a.runs, a.want,
		(stamp() - a.began).Round(time.Second), a.overlaps, a.lost, a.lapses, a.quick, a.least, a.planned,
		(a.heals / time.Duration(max(a.runs, 1))).Round(time.Millisecond), a.slowest.Round(time.Millisecond))
}
