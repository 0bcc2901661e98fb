package worqr_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// traffic is what idle workers send by way of a proxy.
type traffic struct {
	proxy   *redistest.Proxy
	workers int

	mu     sync.Mutex
	byName map[string]int // by script, or by command where there is none
}

// idle starts daemons, of which each serves these queues with handlers, and waits until all of it
// is at rest.
func idle(t testing.TB, workers, meshes int, queues []string) *traffic {
	t.Helper()
	ns := redistest.Namespace(t)
	c := redistest.Shared(t).Conn(t)
	f := &traffic{proxy: redistest.NewProxy(t, redistest.Shared(t).URL()), workers: workers, byName: map[string]int{}}
	var cfg worqr.WorkerConfig
	for _, q := range queues {
		cfg = handling(cfg, q, 3, gather(nil))
	}
	var shared []*worqr.Mesh
	for range meshes {
		shared = append(shared, openAt(t, f.proxy.URL(), worqr.Config{Namespace: ns}))
	}
	for i := range workers {
		run(t, shared[i%meshes], cfg)
	}
	for _, q := range queues {
		awaitIdle(t, c, ns, q, workers)
	}
	for _, m := range shared {
		redistest.Eventually(t, soon, "the subscription", m.Listener().Ready)
	}
	f.proxy.Intercept(func(c redistest.Command) redistest.Action {
		name := scriptOf(c)
		if name == "" {
			name = c.Name()
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.byName[name]++
		return redistest.Pass
	})
	// A worker that has joined within the last lapse, of three beats, looks more often.
	redistest.Eventually(t, soon, "a lapse of rest", func() bool { return f.count("beat") >= 5*workers })
	return f
}

func (f *traffic) count(name string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.byName[name]
}

// rate measures the commands per second, and answers them by name too.
func (f *traffic) rate(t testing.TB, window time.Duration) (rate float64, list string) {
	t.Helper()
	f.mu.Lock()
	clear(f.byName)
	f.mu.Unlock()
	began := time.Now()
	<-time.After(window) // a rate is a matter of time
	took := time.Since(began).Seconds()
	f.mu.Lock()
	defer f.mu.Unlock()
	total := 0
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(f.byName)) {
		total += f.byName[name]
		parts = append(parts, fmt.Sprintf("%s %.2f/s", name, float64(f.byName[name])/took))
	}
	return float64(total) / took, strings.Join(parts, ", ")
}

// scenario 69: each worker's beat and look, and for the whole mesh one round, one who watches who
// is present, and a deputy. It counts over time: no other test runs beside its meshes.
func TestIdleWorkersAreQuiet(t *testing.T) {
	const window, ofWorker, ofRound, ofWatch = 5 * time.Second, 2.5, 5, 14
	for _, c := range []struct{ workers, meshes int }{{10, 1}, {10, 10}, {1, 1}} {
		t.Run(fmt.Sprintf("%d workers of %d clients", c.workers, c.meshes), func(t *testing.T) {
			t.Parallel()
			f := idle(t, c.workers, c.meshes, []string{"q"})
			most := ofWorker*float64(c.workers) + ofRound
			if c.workers > 1 {
				most += ofWatch
			}
			var rate float64
			var list string
			for range 3 { // who gets slow answers is in doubt for a Lapse, and then each looks at its peers
				rate, list = f.rate(t, window)
				t.Logf("%.1f commands per second: %s", rate, list)
				if rate <= most {
					return
				}
			}
			t.Errorf("%.1f commands per second, want %.1f at most: %s", rate, most, list)
		})
	}
}

// scenario 108. It counts over time: no other test runs beside its two meshes.
func TestRestOfManyQueuesIsThatOfOne(t *testing.T) {
	const window = 5 * time.Second
	numbers := []int{1, 50}
	rates, lists := make([]float64, len(numbers)), make([]string, len(numbers))
	t.Run("both", func(t *testing.T) {
		for i, n := range numbers {
			t.Run(fmt.Sprintf("%d queues", n), func(t *testing.T) {
				t.Parallel()
				rates[i], lists[i] = idle(t, 1, 1, numbered("q", n)).rate(t, window)
				t.Logf("%.2f/s: %s", rates[i], lists[i])
			})
		}
	})
	if rates[1] > 1.3*rates[0] {
		t.Errorf("50 queues cost %.2f commands per second, one costs %.2f: %s", rates[1], rates[0], lists[1])
	}
}
