package integration

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// Nine workers share what is to be held; a tenth joins, and is stopped again. After each no two
// differ by more than one; as few tasks move as can; and it is done within the time that the budget
// gives: 10,000 tasks with WORQR_LONG, else 1,000.
func TestHoldsAreSharedOutWithTheFewestMoves(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures time")
	}
	t.Parallel()
	const workers, moveRate, settle, rounds = 9, 100, 2 * time.Second, 3 * time.Second
	tasks := longer(1000, 10_000)
	s := &sharers{field: newField(t), holds: map[string]map[string]bool{}}
	t.Cleanup(s.end)
	for i := range workers {
		s.join(t, fmt.Sprint("w", i))
	}
	desired := make([][]byte, tasks)
	for i, task := range named("t", tasks) {
		desired[i] = []byte(task)
	}
	if r, err := s.mesh.Reconcile(t.Context(), queue, desired); err != nil || r.Added != tasks {
		t.Fatalf("%+v, %v", r, err)
	}
	s.awaitShared(t, tasks)
	s.quiet(t)
	if n := s.count(); n != tasks {
		t.Errorf("%d handlers were started for %d tasks", n, tasks)
	}

	// A member that had one more than a tenth of it gives up what is above. A member that leaves
	// gives up all that it has.
	fewest := tasks / (workers + 1)
	within := time.Duration(fewest)*time.Second/moveRate + settle + rounds
	began := time.Now()
	leave := s.join(t, "w9")
	s.done(t, "a worker joined "+fmt.Sprint(workers), began, within, tasks, fewest)
	began = time.Now()
	leave()
	s.done(t, fmt.Sprint("a worker left ", workers), began, within, tasks, fewest)
}

// sharers are workers of this process that share tasks. Each has a client of its own, as a daemon
// has.
type sharers struct {
	*field
	leaves []func()

	mu    sync.Mutex
	holds map[string]map[string]bool // by worker: what it holds
	begun int                        // handlers
	twice []string
	seen  int
}

// join adds a worker, and returns a function that stops it, once, and waits.
func (s *sharers) join(t testing.TB, name string) (leave func()) {
	t.Helper()
	m, err := worqr.Open(t.Context(), s.server.URL(), worqr.Config{Namespace: s.ns})
	if err != nil {
		t.Fatal(err)
	}
	joined := make(chan string, 1)
	w, err := m.NewWorker(worqr.WorkerConfig{
		Hooks: worqr.Hooks{
			OnJoin:  func(worker string) { joined <- worker },
			OnLapse: func(worker string, cause error) { t.Errorf("%s lapsed: %v", name, cause) },
		},
		Queues: map[string]worqr.Queue{queue: {Persistent: true, Handler: worqr.HandlerFunc(func(ctx context.Context, p *worqr.Process) error {
			s.enter(name, string(p.Task()))
			<-ctx.Done()
			s.leave(name, string(p.Task()))
			return context.Cause(ctx)
		})}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	s.mu.Lock()
	s.holds[name] = map[string]bool{}
	s.mu.Unlock()
	go func() { ended <- w.Run(ctx) }()
	leave = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
		if err := m.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if n := len(s.holds[name]); n > 0 {
			t.Errorf("%s has left, and %d handlers run", name, n)
		}
		delete(s.holds, name)
	})
	s.leaves = append(s.leaves, leave)
	s.awaitMember(t, <-joined)
	return leave
}

// end stops all that have not left, at once: then none has to take what the others give up.
func (s *sharers) end() {
	var leaving sync.WaitGroup
	for _, leave := range s.leaves {
		leaving.Go(leave)
	}
	leaving.Wait()
}

func (s *sharers) enter(name, task string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for other, holds := range s.holds {
		if holds[task] {
			s.twice = append(s.twice, fmt.Sprintf("%s by %s and %s", task, other, name))
		}
	}
	s.holds[name][task] = true
	s.begun++
}

func (s *sharers) leave(name, task string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.holds[name], task)
}

// spread returns how many tasks are held, and by how many the member that holds most exceeds the
// one that holds least.
func (s *sharers) spread() (all, spread int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var counts []int
	for _, holds := range s.holds {
		counts = append(counts, len(holds))
		all += len(holds)
	}
	return all, slices.Max(counts) - slices.Min(counts)
}

// count returns how many handlers were started since its last call.
func (s *sharers) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.begun - s.seen
	s.seen = s.begun
	return n
}

func (s *sharers) awaitShared(t testing.TB, tasks int) {
	t.Helper()
	all, spread := 0, 0
	defer func() {
		if t.Failed() {
			t.Logf("at last %d are held, the spread is %d", all, spread)
		}
	}()
	redistest.Eventually(t, 3*soon, fmt.Sprintf("all %d are held, and evenly", tasks), func() bool {
		all, spread = s.spread()
		return all == tasks && spread <= 1
	})
}

// quiet waits until no handler was started for three rounds.
func (s *sharers) quiet(t testing.TB) {
	t.Helper()
	const long = 2500 * time.Millisecond
	last, since := -1, time.Now()
	redistest.Eventually(t, soon, "nothing moves", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.begun != last {
			last, since = s.begun, time.Now()
		}
		return time.Since(since) > long
	})
}

// done waits until all is shared out, and compares how long that took and how many moved with the
// limits.
func (s *sharers) done(t *testing.T, what string, began time.Time, within time.Duration, tasks, fewest int) {
	t.Helper()
	s.awaitShared(t, tasks)
	took := time.Since(began)
	s.quiet(t)
	all, spread := s.spread()
	moves := s.count()
	t.Logf("%s: %d moves of %d tasks in %v (budgeted %v), spread %d", what, moves, tasks, took.Round(time.Millisecond), within, spread)
	if all != tasks || spread > 1 || moves != fewest || took > within {
		t.Errorf("%s: %d are held, spread %d, %d moves in %v; want %d, 1, %d, %v", what, all, spread, moves, took, tasks, fewest, within)
	}
	if s.mu.Lock(); len(s.twice) > 0 {
		t.Errorf("held twice at once: %s", short(s.twice))
	}
	s.mu.Unlock()
}
