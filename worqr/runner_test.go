package worqr_test

import (
	"context"
	"errors"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// Handlers that end badly are as many goroutines less: what waits behind them is run all the same.
func TestHandlersThatDieHoldNobodyUp(t *testing.T) {
	t.Parallel()
	m := open(t)
	const n = 40
	var mu sync.Mutex
	runs := map[string]int{}
	done := make(chan string, n)
	run(t, m, handling(quick(), "q", 8, func(_ context.Context, p *worqr.Process) error {
		mu.Lock()
		runs[string(p.Task())]++
		first := runs[string(p.Task())] == 1
		mu.Unlock()
		if first {
			switch p.Task()[len(p.Task())-1] % 3 {
			case 0:
				runtime.Goexit()
			case 1:
				panic("on purpose")
			}
			return errors.New("on purpose")
		}
		done <- string(p.Task())
		return nil
	}))
	enqueue(t, m, "q", numbered("t", n)...)
	for range n {
		receive(t, "a second run", done)
	}
}

// Each of as many handlers as the limit allows runs, also while all the others block; what comes
// later waits.
func TestBlockingHandlersAllRun(t *testing.T) {
	t.Parallel()
	m := open(t)
	const limit = 200
	begun, goOn := make(chan string, 2*limit), make(chan struct{})
	run(t, m, handling(quick(), "q", limit, func(_ context.Context, p *worqr.Process) error {
		begun <- string(p.Task())
		<-goOn
		return nil
	}))
	enqueue(t, m, "q", numbered("t", limit+1)...)
	for range limit {
		receive(t, "a handler", begun)
	}
	select {
	case task := <-begun:
		t.Errorf("%s runs above the limit", task)
	default:
	}
	close(goOn)
	receive(t, "the last handler", begun)
}

// Handlers that return at once share goroutines: that is what makes them cheap.
func TestHandlersThatReturnShareGoroutines(t *testing.T) { // not parallel: it counts the goroutines of the process
	const n = 20_000
	m := benchMesh(t)
	stock(t, m, n)
	before := goroutinesMade(t)
	drain(t, m, n, 64)
	if made := goroutinesMade(t) - before; made > n/4 {
		t.Errorf("%d goroutines were made for %d tasks", made, n)
	} else {
		t.Logf("%d goroutines for %d tasks", made, n)
	}
	redistest.Eventually(t, soon, "nothing is left in the queue", func() bool {
		left, err := m.Len(t.Context(), "q")
		return err == nil && left == 0
	})
}

func goroutinesMade(t testing.TB) uint64 {
	t.Helper()
	sample := []metrics.Sample{{Name: "/sched/goroutines-created:goroutines"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		t.Skip("this Go does not count goroutines")
	}
	return sample[0].Value.Uint64()
}

// While handlers return quickly, tasks are taken ahead of the slots. When one does not, what was
// taken ahead goes to idle peers, in order; the limit holds all the time.
func TestWhatWasTakenAheadGoesBackWhenAHandlerIsSlow(t *testing.T) {
	t.Parallel()
	m := open(t)
	var running, most atomic.Int32
	slow, goOn := make(chan string, 1), make(chan struct{})
	tasks := append(numbered("t", 500), "slow")
	rest := numbered("rest", 20)
	enqueue(t, m, "q", append(tasks, rest...)...)
	var taken, most2 atomic.Int32
	cfg := handling(quick(), "q", 2, func(_ context.Context, p *worqr.Process) error {
		n := running.Add(1)
		defer running.Add(-1)
		most.Store(max(most.Load(), n))
		if string(p.Task()) == "slow" {
			slow <- p.ID()
			<-goOn
		} else if strings.HasPrefix(string(p.Task()), "rest") { // it comes behind the slow one
			<-goOn
		}
		return nil
	})
	cfg.Hooks.OnTake = func(*worqr.Process) { taken.Add(1); most2.Store(max(most2.Load(), taken.Load())) }
	cfg.Hooks.OnSettle = func(*worqr.Process, worqr.Outcome, error) { taken.Add(-1) }
	run(t, m, cfg)
	redistest.Eventually(t, soon, "the slow one runs", func() bool { return len(slow) > 0 })
	redistest.Eventually(t, soon, "only what runs is in hand", func() bool { return len(held(t, m, "q")) == 2 })

	ran := make(chan string, len(rest))
	run(t, m, handling(quick(), "q", 1, gather(ran)))
	first := receive(t, "a run on the peer", ran)
	n := slices.Index(rest, first)
	if n < 0 || n > 1 {
		t.Fatalf("the peer ran %q first, of %v: one of them may run beside the slow one", first, rest[:2])
	}
	for _, task := range rest[n+1:] {
		if got := receive(t, "a run on the peer", ran); got != task {
			t.Fatalf("the peer ran %q, want %q", got, task)
		}
	}
	close(goOn)
	if n := most.Load(); n > 2 {
		t.Errorf("%d handlers ran at once, the limit is 2", n)
	}
	if n := most2.Load(); n < 3 || n > 2+16+2 {
		t.Errorf("%d were in hand at once: with a limit of 2 and quick handlers 18, and those being settled", n)
	}
}
