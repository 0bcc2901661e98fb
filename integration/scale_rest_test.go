package integration

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// A mesh of 100 workers at rest: each sends at most 2.5 commands per second, the same with 1 queue
// as with 50, and with nothing in hand as with 1,000 processes. All four kinds are in one mesh,
// each behind a proxy that counts; each worker has a client of its own, as a daemon has. One worker
// of the mesh watches the presence of all: that is every worker's share. Not parallel: it counts
// over time.
func TestRestOf100Workers(t *testing.T) {
	const each, window, most, same = 25, 5 * time.Second, 2.5, 1.2
	server := redistest.Own(t)
	f := fieldAt(t, server)
	var kinds []*resting
	for _, k := range []struct{ queues, inHand int }{{1, 0}, {50, 0}, {1, 1000}, {50, 1000}} {
		kinds = append(kinds, f.resting(t, each, k.queues, k.inHand))
	}
	for range each {
		for _, r := range kinds {
			f.serve(t, r.proxy.URL(), r.cfg)
			pass(time.Second / (4 * each)) // so that each second has as many beats of each kind
		}
	}
	for _, r := range kinds {
		r.await(t)
	}
	for _, r := range kinds {
		r.rate()
	}
	for _, r := range kinds {
		r.awaitBeats(t, 5) // who has joined within the last lapse, of three beats, looks more often
	}
	// A machine that stands still for a moment has others watch meanwhile, and look again: that
	// only adds, and is not rest.
	watchMachine(t, 1).inTime(t, func(t *testing.T) (wrong func(int) []string, _ bool) {
		for range 3 {
			for _, r := range kinds {
				r.rate()
			}
			<-time.After(window) // a rate is a matter of time
			if wrong = tooBusy(t, kinds, most, same); len(wrong(1)) == 0 {
				break
			}
		}
		return wrong, false
	})
}

// tooBusy compares the rates since the last time: none above most, and none more than same times
// another.
func tooBusy(t testing.TB, kinds []*resting, most, same float64) func(times int) []string {
	var rates []float64
	var lists []string
	var watching, workers float64
	for _, r := range kinds {
		watching += r.called("watch")
		workers += float64(r.workers)
	}
	for _, r := range kinds {
		own := r.called("watch") / float64(r.workers)
		rate, list := r.rate()
		rate += watching/workers - own
		t.Logf("%s: %.2f commands per second and worker: %s", r.name, rate, list)
		rates, lists = append(rates, rate), append(lists, list)
	}
	return func(times int) (wrong []string) {
		most, same := most*float64(times), same*float64(times)
		for i, r := range kinds {
			if rates[i] > most {
				wrong = append(wrong, fmt.Sprintf("%s: %.2f commands per second and worker, want %.1f at most: %s", r.name, rates[i], most, lists[i]))
			}
		}
		if low, high := slices.Min(rates), slices.Max(rates); high > same*low {
			wrong = append(wrong, fmt.Sprintf("the rates are %.2f to %.2f: want the same for all", low, high))
		}
		return wrong
	}
}

// resting are workers of one kind.
type resting struct {
	*field
	name    string
	workers int
	inHand  int // in the hands of each
	queues  []string
	running atomic.Int64 // handlers
	proxy   *redistest.Proxy
	cfg     worqr.WorkerConfig

	mu     sync.Mutex
	byName map[string]int // what they have sent, by script, or by command where there is none
	began  time.Time
}

// resting prepares workers that serve so many queues of their own, and hold so many processes each.
func (f *field) resting(t testing.TB, workers, queues, inHand int) *resting {
	t.Helper()
	r := &resting{
		field: f, name: fmt.Sprintf("%d queues, %d in hand", queues, inHand), workers: workers, inHand: inHand,
		queues: named(fmt.Sprintf("of-%d-%d-", queues, inHand), queues), proxy: redistest.NewProxy(t, f.server.URL()),
		byName: map[string]int{},
	}
	names := scripts()
	r.proxy.Intercept(func(c redistest.Command) redistest.Action {
		name := c.Name()
		if len(c.Args) > 1 && names[string(c.Args[1])] != "" {
			name = names[string(c.Args[1])]
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.byName[name]++
		return redistest.Pass
	})
	hold := worqr.HandlerFunc(func(ctx context.Context, _ *worqr.Process) error {
		r.running.Add(1)
		<-ctx.Done()
		return ctx.Err()
	})
	r.cfg = worqr.WorkerConfig{Grace: time.Millisecond, Queues: map[string]worqr.Queue{}}
	for _, queue := range r.queues {
		f.fill(t, queue, workers*inHand/queues)
		r.cfg.Queues[queue] = worqr.Queue{Limit: max(1, inHand/queues), Handler: hold}
	}
	return r
}

// await waits until all of them have nothing more to do.
func (r *resting) await(t testing.TB) {
	t.Helper()
	redistest.Eventually(t, soon, r.name, func() bool { return r.running.Load() == int64(r.workers*r.inHand) })
	for _, queue := range r.queues {
		members, parked := r.ns+":{"+queue+"}:workers", r.ns+":{"+queue+"}:idle"
		redistest.Eventually(t, soon, "they serve "+queue, func() bool {
			return r.count(t, "HLEN", members) == r.workers && (r.inHand > 0 || r.count(t, "SCARD", parked) == r.workers)
		})
	}
}

// awaitBeats waits until each has sent so many, since rate was last asked.
func (r *resting) awaitBeats(t testing.TB, each int) {
	t.Helper()
	redistest.Eventually(t, soon, "a time of rest", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.byName["beat"] >= each*r.workers
	})
}

// called returns how often per second they have sent a command since rate was last called.
func (r *resting) called(name string) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return float64(r.byName[name]) / time.Since(r.began).Seconds()
}

// rate returns how many commands each has sent per second since its last call, and lists them.
func (r *resting) rate() (rate float64, list string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	each := time.Since(r.began).Seconds() * float64(r.workers)
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(r.byName)) {
		rate += float64(r.byName[name]) / each
		parts = append(parts, fmt.Sprintf("%s %.2f", name, float64(r.byName[name])/each))
	}
	clear(r.byName)
	r.began = time.Now()
	return rate, strings.Join(parts, ", ")
}
