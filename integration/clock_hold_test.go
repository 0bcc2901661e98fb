package integration

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// scenario 116: the same step: delayed tasks, hand-overs, shares of a joiner, start rates and moves
// go on within the same time; a hold of a minute stays innocent. With WORQR_LONG the holds are a
// minute old, else they are older than any that is blamed.
func TestHoldsGoOnAfterTheClockWentBack(t *testing.T) {
	t.Parallel()
	eachStep(t, func(t *testing.T, s *stepping) {
		c := &crowd{stepping: s, ways: map[string]*redistest.Proxy{}, stops: map[string]func(){},
			holds: map[string]map[string]bool{}, began: map[string]time.Duration{}}
		t.Cleanup(c.end)
		c.join(t, "a")
		c.join(t, "b")
		s.enqueue(t, append(named("t", 14), named("g:", 4)...)...)
		c.awaitShared(t, 18)
		c.join(t, "c")
		c.awaitShared(t, 18) // this has drawn on the budget of moves
		pass(time.Duration(longer(8, 60)) * time.Second)
		s.enqueue(t, "flaky")
		redistest.Eventually(t, soon, "it has failed", func() bool { return c.last("flaky") > 0 })

		limit := 2*usual.Lapse + usual.Sweep + time.Second
		within := func(what string, from time.Duration) {
			t.Helper()
			took := stamp() - from
			t.Logf("%s: %v", what, took.Round(time.Millisecond))
			if took > limit {
				t.Errorf("%s took %v, want %v at most", what, took, limit)
			}
		}
		failed := c.last("flaky")
		redistest.Eventually(t, soon, "it is delayed", func() bool {
			at, err := s.mesh.Locate(t.Context(), queue, []byte("flaky"))
			return err == nil && at.State == "delayed"
		})
		s.enqueue(t, "g:0008") // its turn is kept when the clock goes back
		redistest.Eventually(t, soon, "it is held", func() bool { return c.last("g:0008") > 0 })
		at := s.back(t)
		s.enqueueAgain(t, "g:0005", "g:0006", "g:0007")
		c.join(t, "d")
		redistest.Eventually(t, 2*soon, "three more of an upstream begin", func() bool {
			return c.last("g:0005") > 0 && c.last("g:0006") > 0 && c.last("g:0007") > 0
		})
		within("starts of an upstream", at)
		redistest.Eventually(t, 2*soon, "the delayed task is tried again", func() bool { return c.last("flaky") > failed })
		within("a delayed task", at)
		c.awaitShared(t, 22)
		within("a joiner's share, by moves", at)

		old := c.heldBy("a", at) // since before the step
		at = stamp()
		c.ways["a"].Refuse(true)
		c.forget("a")
		c.awaitShared(t, 22)
		within("what a dead worker held", at)
		for _, task := range old {
			if where, err := s.mesh.Locate(t.Context(), queue, []byte(task)); err != nil || where.Deaths > 0 {
				t.Errorf("%s, held since before the step: %+v, %v; want it innocent", task, where, err)
			}
		}
		if len(old) == 0 {
			t.Error("it held nothing since before the step")
		}

		at = stamp()
		c.stop("b")
		c.awaitShared(t, 22)
		within("hand-overs of one that stopped", at)

		if _, err := s.mesh.Reconcile(t.Context(), queue, nil); err != nil {
			t.Error(err)
		}
		redistest.Eventually(t, soon, "no clock is kept without tasks", func() bool { return s.count(t, "EXISTS", s.key("clock")) == 0 })
	})
}

// enqueueAgain stores tasks of which a second copy has no effect, also while the server is another
// one.
func (s *stepping) enqueueAgain(t testing.TB, tasks ...string) {
	t.Helper()
	for _, task := range tasks {
		redistest.Eventually(t, soon, task+" is stored", func() bool { return s.mesh.Enqueue(t.Context(), queue, []byte(task)) == nil })
	}
}

// crowd are workers of this process that hold tasks, each over a proxy of its own.
type crowd struct {
	*stepping
	ways  map[string]*redistest.Proxy
	stops map[string]func()

	mu    sync.Mutex
	holds map[string]map[string]bool // by worker; the task flaky is not held
	began map[string]time.Duration   // when each task was last begun
}

func (c *crowd) join(t testing.TB, name string) {
	t.Helper()
	c.ways[name] = redistest.NewProxy(t, c.way.URL())
	joined := make(chan string, 8)
	w, err := c.client(t, c.ways[name].URL()).NewWorker(worqr.WorkerConfig{
		Hooks: worqr.Hooks{OnJoin: func(worker string) {
			select {
			case joined <- worker:
			default:
			}
		}},
		Queues: map[string]worqr.Queue{queue: {
			Persistent: true, Hold: worqr.Hold{Group: upstream, GroupRate: 5},
			Handler: worqr.HandlerFunc(func(ctx context.Context, p *worqr.Process) error { return c.hold(ctx, name, string(p.Task())) }),
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	c.mu.Lock()
	c.holds[name] = map[string]bool{}
	c.mu.Unlock()
	go func() { ended <- w.Run(ctx) }()
	c.stops[name] = sync.OnceFunc(func() {
		cancel()
		<-ended
	})
	id := <-joined
	c.awaitMember(t, id)
}

// upstream returns the part of a task's name before the colon.
func upstream(task []byte) string {
	before, _, _ := strings.Cut(string(task), ":")
	if before == string(task) {
		return ""
	}
	return before
}

func (c *crowd) hold(ctx context.Context, name, task string) error {
	c.mu.Lock()
	c.began[task] = stamp()
	if task == "flaky" {
		c.mu.Unlock()
		return errors.New("it fails each time")
	}
	mine := c.holds[name]
	if mine != nil {
		mine[task] = true
	}
	c.mu.Unlock()
	<-ctx.Done()
	c.mu.Lock()
	delete(mine, task)
	c.mu.Unlock()
	return context.Cause(ctx)
}

// last returns when a task was last begun, 0 when it never was.
func (c *crowd) last(task string) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.began[task]
}

// heldBy returns what a worker has held since before an instant.
func (c *crowd) heldBy(name string, at time.Duration) (list []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for task := range c.holds[name] {
		if c.began[task] < at {
			list = append(list, task)
		}
	}
	return list
}

// forget stops counting a worker.
func (c *crowd) forget(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.holds, name)
}

func (c *crowd) stop(name string) {
	c.stops[name]()
	c.forget(name)
}

// awaitShared waits until the workers that count hold so many tasks, and no two differ by more than
// one.
func (c *crowd) awaitShared(t testing.TB, tasks int) {
	t.Helper()
	var counts []int
	defer func() {
		if t.Failed() {
			t.Logf("they hold %v", counts)
		}
	}()
	redistest.Eventually(t, 2*soon, "all are held, and evenly", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		all := 0
		counts = nil
		for _, holds := range c.holds {
			counts = append(counts, len(holds))
			all += len(holds)
		}
		return all == tasks && slices.Max(counts)-slices.Min(counts) <= 1
	})
}

// end stops all at once.
func (c *crowd) end() {
	var ending sync.WaitGroup
	for name, stop := range c.stops {
		c.ways[name].Refuse(false)
		ending.Go(stop)
	}
	ending.Wait()
}
