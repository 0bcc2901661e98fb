package worqr_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// A worker whose connections end, as those of a killed process do, is taken over long before its
// lapse; by then it has ended what it held, and it opens the queue again when it can.
func TestFastTakeoverOfAWorkerThatIsCutOff(t *testing.T) {
	t.Parallel()
	ns := redistest.Namespace(t)
	cutOff, proxy := mortal(t, ns)
	m := openAt(t, redistest.Shared(t).URL(), worqr.Config{Namespace: ns})
	var mu sync.Mutex
	held, overlaps := map[string]string{}, 0
	count := func(worker string) (n int) {
		mu.Lock()
		defer mu.Unlock()
		for _, w := range held {
			if w == worker {
				n++
			}
		}
		return n
	}
	serve := func(name string) worqr.WorkerConfig {
		cfg := worqr.WorkerConfig{Lapse: 20 * time.Second, Beat: time.Second}
		cfg.Queues = map[string]worqr.Queue{"q": {
			Persistent: true, Takeover: worqr.TakeoverFast, Hold: worqr.Hold{Settle: 100 * time.Millisecond},
			Handler: worqr.HandlerFunc(func(ctx context.Context, p *worqr.Process) error {
				task := string(p.Task())
				mu.Lock()
				if held[task] != "" {
					overlaps++
				}
				held[task] = name
				mu.Unlock()
				<-ctx.Done()
				mu.Lock()
				delete(held, task)
				mu.Unlock()
				return nil
			}),
		}}
		return cfg
	}
	run(t, cutOff, serve("a"))
	var tasks [][]byte
	for _, task := range numbered("t", 10) {
		tasks = append(tasks, []byte(task))
	}
	if _, err := m.Reconcile(t.Context(), "q", tasks); err != nil {
		t.Fatal(err)
	}
	redistest.Eventually(t, soon, "a holds all", func() bool { return count("a") == 10 })
	run(t, m, serve("b"))
	redistest.Eventually(t, soon, "the shares are even", func() bool { return count("a") == 5 && count("b") == 5 })
	begun := time.Now()
	proxy.Refuse(true)
	redistest.Eventually(t, 10*time.Second, "b holds all", func() bool { return count("b") == 10 })
	t.Logf("taken over within %v", time.Since(begun))
	proxy.Refuse(false)
	redistest.Eventually(t, soon, "the shares are even again", func() bool { return count("a") == 5 && count("b") == 5 })
	mu.Lock()
	defer mu.Unlock()
	if overlaps > 0 {
		t.Errorf("%d overlaps", overlaps)
	}
}
