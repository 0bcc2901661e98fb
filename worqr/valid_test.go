package worqr_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// At no instant behind the deadline does Valid say yes.
func TestValidAfterTheDeadline(t *testing.T) {
	const holds, askers = 2000, 4
	proxy := redistest.NewProxy(t, redistest.Shared(t).URL())
	m, err := worqr.Open(t.Context(), proxy.URL(), worqr.Config{Namespace: redistest.Namespace(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	var mu sync.Mutex
	var all []*worqr.Process
	w, err := m.NewWorker(worqr.WorkerConfig{Lapse: 600 * time.Millisecond, Beat: 150 * time.Millisecond, Queues: map[string]worqr.Queue{"q": {
		Persistent: true, Handler: worqr.HandlerFunc(func(ctx context.Context, p *worqr.Process) error {
			mu.Lock()
			all = append(all, p)
			mu.Unlock()
			<-ctx.Done()
			return context.Cause(ctx)
		}),
	}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- w.Run(ctx) }()
	var tasks [][]byte
	for i := range holds {
		tasks = append(tasks, fmt.Appendf(nil, "t%d", i))
	}
	if _, err := m.Reconcile(t.Context(), "q", tasks); err != nil {
		t.Fatal(err)
	}
	redistest.Eventually(t, 20*time.Second, "all are held", func() bool { mu.Lock(); defer mu.Unlock(); return len(all) == holds })
	proxy.Refuse(true)
	var wrong atomic.Int64
	var worst atomic.Int64
	var asking sync.WaitGroup
	deadline := all[0].Deadline()
	for range askers {
		asking.Go(func() {
			for time.Since(deadline) < time.Second {
				for _, p := range all {
					at := time.Now()
					if p.Valid() {
						if late := at.Sub(p.Deadline()); late > 0 {
							wrong.Add(1)
							worst.Store(max(worst.Load(), int64(late)))
						}
					}
				}
			}
		})
	}
	asking.Wait()
	proxy.Refuse(false)
	cancel()
	<-ran
	if wrong.Load() > 0 {
		t.Errorf("Valid said yes %d times after the deadline, up to %v after", wrong.Load(), time.Duration(worst.Load()))
	}
}
