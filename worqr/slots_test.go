package worqr_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/worqr/worqr-go/worqr"
)

// scenario 137: no memory is used for what does not run. Not in parallel, as it counts what is
// allocated.
func TestLimitCostsNoMemory(t *testing.T) {
	for _, persistent := range []bool{false, true} {
		t.Run(fmt.Sprintf("persistent=%v", persistent), func(t *testing.T) {
			m := open(t)
			const n, most = 50, 32 << 20
			started, leave := make(chan string, 2*n), make(chan struct{})
			defer close(leave)
			limit := int64(1) << 31
			cfg := firm()
			cfg.Queues = map[string]worqr.Queue{"q": {
				Limit: int(limit), Persistent: persistent,
				Handler: worqr.HandlerFunc(func(ctx context.Context, p *worqr.Process) error {
					started <- string(p.Task())
					select {
					case <-leave:
					case <-ctx.Done():
					}
					return nil
				}),
			}}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			run(t, m, cfg)
			if persistent {
				if _, err := m.Reconcile(t.Context(), "q", raw(numbered("t", n))); err != nil {
					t.Fatal(err)
				}
			} else {
				enqueue(t, m, "q", numbered("t", n)...)
			}
			for range n { // all at once
				receive(t, "a run", started)
			}
			runtime.ReadMemStats(&after)
			if got := after.TotalAlloc - before.TotalAlloc; got > most {
				t.Errorf("%d bytes were allocated to run %d handlers, want %d at most", got, n, most)
			}
		})
	}
}
