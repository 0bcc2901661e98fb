package integration

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// A worker that dies with 100,000 processes holds nobody up: no script of the reclaim takes 10 ms,
// life cycles on another queue take at most three times as long as just before, and the tasks are
// back in the order of their takes.
//
// Three deaths: what is the machine's doing is not the same in all of them. A script that takes too
// long does so each time, so the best one counts for it; of the p99 the middle one.
func TestDeathOfAHolderOf100000(t *testing.T) {
	watchMachine(t, 1).inTime(t, func(t *testing.T) (func(int) []string, bool) {
		ms, ratio := dieHolding100000(t)
		return func(times int) (over []string) {
			if most := 10 * float64(times); ms > most {
				over = append(over, fmt.Sprintf("in each death a script took %.1f ms or more; want %.0f at most", ms, most))
			}
			if most := 3 * float64(times); ratio > most {
				over = append(over, fmt.Sprintf("the p99 of another queue rose to %.1f times its usual; want %.0f at most", ratio, most))
			}
			return over
		}, false
	})
}

// dieHolding100000 returns the milliseconds of the longest script, and the p99 of another queue as
// a multiple of its usual.
func dieHolding100000(t *testing.T) (step, ratio float64) {
	const held, deaths, taken = 100_000, 5, 10
	server := redistest.Own(t, "--slowlog-log-slower-than", "1000", "--slowlog-max-len", "100000")
	f := fieldAt(t, server)
	reclaimed := make(chan reclaim, 100) // more than there are: two peers may both report
	cfg := worqr.WorkerConfig{Beat: brisk.Beat, Lapse: brisk.Lapse, Hooks: worqr.Hooks{
		OnReclaim: func(worker, _ string, _ int) { reclaimed <- reclaim{worker, time.Now()} },
	}}
	f.serve(t, server.URL(), cfg)
	b := f.bystander(t, cfg)
	var steps, ratios []float64
	for i := range deaths {
		h := f.play(t, named("q", deaths)[i], brisk.Lapse.Milliseconds())
		tasks := f.fill(t, h.queue, held)
		for range held / 1000 {
			h.hold(1000)
			h.beat()
		}
		f.serve(t, server.URL(), holding(cfg, h.queue, taken)) // wakes up to what comes back, and takes some
		if _, err := f.conn.Do("SLOWLOG", "RESET"); err != nil {
			t.Fatal(err)
		}
		quiet := time.Now()
		end := h.end(reclaimed)
		began := h.closed()
		usual, meanwhile := b.between(quiet, began), b.between(began, end)
		step, what := f.slowest(t)
		steps = append(steps, float64(step.Microseconds())/1000)
		ratios = append(ratios, float64(p99(meanwhile))/float64(p99(usual)))
		t.Logf("reclaimed in %v; the longest script took %v (%s); life cycles elsewhere, p50 and p99: %v %v before (%d), %v %v meanwhile (%d)",
			end.Sub(began), step, what, p50(usual), p99(usual), len(usual), p50(meanwhile), p99(meanwhile), len(meanwhile))
		if back := h.back(taken); !slices.Equal(back, tasks) {
			t.Fatalf("%d of %d tasks are back, or not in the order of their takes", len(back), held)
		}
	}
	return slices.Min(steps), median(ratios)
}

// holding returns the configuration of a peer that takes n tasks and keeps them.
func holding(cfg worqr.WorkerConfig, queue string, n int) worqr.WorkerConfig {
	cfg.Grace = time.Millisecond
	cfg.Queues = map[string]worqr.Queue{queue: {Limit: n, Handler: worqr.HandlerFunc(func(ctx context.Context, _ *worqr.Process) error {
		<-ctx.Done()
		return ctx.Err()
	})}}
	return cfg
}

// back returns the tasks in the order in which they came back: those that a peer has taken since,
// and those that wait.
func (h *hand) back(taken int) []string {
	h.t.Helper()
	var list []string
	redistest.Eventually(h.t, soon, "a peer has taken some", func() bool {
		list = nil
		processes, err := h.mesh.Processes(h.t.Context(), h.queue)
		if err != nil {
			h.t.Fatal(err)
		}
		for _, p := range processes {
			list = append(list, string(p.Task))
		}
		return len(list) == taken
	})
	waiting, err := h.mesh.Tasks(h.t.Context(), h.queue, 0, 1_000_000)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, task := range waiting {
		list = append(list, string(task))
	}
	return list
}

type reclaim struct {
	worker string
	at     time.Time
}

// end waits for the report that all of this worker is reclaimed.
func (h *hand) end(reclaimed <-chan reclaim) time.Time {
	h.t.Helper()
	limit := time.After(soon)
	for {
		select {
		case r := <-reclaimed:
			if r.worker == h.worker {
				return r.at
			}
		case <-limit:
			h.t.Fatalf("nobody reclaimed within %v", soon)
		}
	}
}

// closed returns when the queue's last membership was taken out of it: the token that was drawn
// then is Redis's clock.
func (h *hand) closed() time.Time {
	h.t.Helper()
	us, err := redis.Int64(h.conn.Do("GET", h.ns+":{"+h.queue+"}:closed"))
	if err != nil {
		h.t.Fatal(err)
	}
	return time.UnixMicro(us)
}

// slowest returns the longest script since the slow log was reset.
func (f *field) slowest(t testing.TB) (took time.Duration, name string) {
	t.Helper()
	list, err := redis.SlowLogs(f.conn.Do("SLOWLOG", "GET", -1))
	if err != nil {
		t.Fatal(err)
	}
	names := scripts()
	for _, l := range list {
		if l.ExecutionTime > took {
			took, name = l.ExecutionTime, l.Args[0]
			if len(l.Args) > 1 && names[l.Args[1]] != "" {
				name = names[l.Args[1]]
			}
		}
	}
	return took, name
}

// bystander does one life cycle after the other on another queue: an enqueue, and a worker that
// finishes the task.
type bystander struct {
	mu     sync.Mutex
	cycles []cycle
}

type cycle struct {
	began time.Time
	took  time.Duration
}

func (f *field) bystander(t testing.TB, cfg worqr.WorkerConfig) *bystander {
	t.Helper()
	const queue = "another"
	b, finished := &bystander{}, make(chan struct{}, 1)
	cfg.Queues = map[string]worqr.Queue{queue: {Handler: worqr.HandlerFunc(func(ctx context.Context, p *worqr.Process) error {
		ok, err := p.Finish(ctx)
		if !ok || err != nil {
			t.Errorf("finish: %v, %v", ok, err)
		}
		finished <- struct{}{}
		return nil
	})}}
	f.serve(t, f.server.URL(), cfg)
	ctx, stop := context.WithCancel(t.Context())
	var cycling sync.WaitGroup
	cycling.Go(func() {
		pace := time.NewTicker(time.Millisecond) // so that what the machine does besides hits as many before as meanwhile
		defer pace.Stop()
		for ctx.Err() == nil {
			<-pace.C
			began := time.Now()
			if err := f.mesh.Enqueue(ctx, queue, []byte("a task")); err != nil {
				break
			}
			select {
			case <-finished:
			case <-ctx.Done():
			}
			b.mu.Lock()
			b.cycles = append(b.cycles, cycle{began, time.Since(began)})
			b.mu.Unlock()
		}
	})
	t.Cleanup(func() {
		stop()
		cycling.Wait()
	})
	return b
}

// between returns how long the cycles took that fell into this time, also in part; the shortest
// first.
func (b *bystander) between(from, to time.Time) []time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []time.Duration
	for _, c := range b.cycles {
		if c.began.Before(to) && c.began.Add(c.took).After(from) {
			list = append(list, c.took)
		}
	}
	slices.Sort(list)
	return list
}

func p50(sorted []time.Duration) time.Duration { return sorted[len(sorted)/2] }
func p99(sorted []time.Duration) time.Duration { return sorted[len(sorted)*99/100] }
