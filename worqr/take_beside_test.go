package worqr_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/worqr/worqr-go/worqr"
)

// scenario 119: Take beside a handler on one queue, under -race. Each task comes to one of them.
func TestTakeBesideHandler(t *testing.T) {
	t.Parallel()
	for _, persistent := range []bool{false, true} {
		t.Run(fmt.Sprintf("persistent=%v", persistent), func(t *testing.T) {
			t.Parallel()
			m := open(t)
			const n = 200
			ended := make(chan string, 2*n)
			cfg := firm()
			cfg.Queues = map[string]worqr.Queue{"q": {
				Limit: 3, Persistent: persistent,
				Handler: worqr.HandlerFunc(func(_ context.Context, p *worqr.Process) error {
					ended <- string(p.Task())
					return worqr.ErrDone
				}),
			}}
			if !persistent {
				q := cfg.Queues["q"]
				q.Handler = gather(ended)
				cfg.Queues["q"] = q
			}
			w := start(t, m, cfg, "q")
			tasks := numbered("t", n)
			if persistent {
				if _, err := m.Reconcile(t.Context(), "q", raw(tasks)); err != nil {
					t.Fatal(err)
				}
			} else {
				enqueue(t, m, "q", tasks...)
			}
			over, stop := context.WithCancel(t.Context())
			taken := make(chan struct{})
			go func() {
				defer close(taken)
				for over.Err() == nil {
					p, err := w.Take(over, "q")
					switch {
					case err == nil:
						if ok, err := p.Finish(t.Context()); !ok || err != nil {
							t.Errorf("finish of %q: %v, %v; want true", p.Task(), ok, err)
						}
						ended <- string(p.Task())
					case !errors.Is(err, worqr.ErrEmpty) && over.Err() == nil:
						t.Errorf("take: %v", err)
						return
					}
				}
			}()
			seen := map[string]int{}
			for range n {
				seen[receive(t, "a task", ended)]++
			}
			stop()
			<-taken
			for _, task := range tasks {
				if seen[task] != 1 {
					t.Errorf("%q came %d times, want once", task, seen[task])
				}
			}
		})
	}
}
