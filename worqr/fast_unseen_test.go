package worqr_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// scenario 118: only the presence connection of a worker is lost, and it is not to be had again,
// while its beats and all else go on. It runs a task of each of 30 queues that are taken over Fast,
// and serves others besides. A peer runs all of them soon, and from then on each of the first
// handlers is told within 1 s. On a machine that stalls it may take longer, so there are three
// attempts.
func TestWhoseTaskWasTakenOverHearsOfItWithinASecond(t *testing.T) {
	const promise, attempts = time.Second, 3
	for n := 1; ; n++ {
		late := toldAfter(t)
		slices.Sort(late)
		t.Logf("told after %v at half of them, %v at most", late[len(late)/2].Round(time.Millisecond), late[len(late)-1].Round(time.Millisecond))
		if late[len(late)-1] <= promise {
			return
		} else if n == attempts {
			t.Fatalf("the last was told after %v, want %v at most", late[len(late)-1], promise)
		}
	}
}

// toldAfter returns for each of 30 tasks how long after its begin at a peer the first handler was
// told.
func toldAfter(t *testing.T) []time.Duration {
	const queues = 30
	ns, url := redistest.Namespace(t), redistest.Shared(t).URL()
	u := &unheard{url: url}
	pool := &redis.Pool{DialContext: u.dial}
	t.Cleanup(func() { pool.Close() })
	cutOff, err := worqr.New(pool, worqr.Config{Namespace: ns})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cutOff.Close() })
	m := openAt(t, url, worqr.Config{Namespace: ns})

	type instant struct {
		queue string
		at    time.Time
	}
	begun := map[string]chan instant{"a": make(chan instant, queues), "b": make(chan instant, queues)}
	ended, lapsed := make(chan instant, queues), make(chan error, queues)
	done := make(chan struct{})
	finish := sync.OnceFunc(func() { close(done) })
	idle := worqr.HandlerFunc(func(context.Context, *worqr.Process) error { return nil })
	serve := func(name string) worqr.WorkerConfig {
		cfg := worqr.WorkerConfig{Lapse: 20 * time.Second, Beat: time.Second, Queues: map[string]worqr.Queue{}} // no machine stalls for so long
		cfg.Hooks.OnLapse = func(_ string, err error) { lapsed <- err }
		for i := range queues {
			cfg.Queues[fmt.Sprint("q", i)] = worqr.Queue{Handler: worqr.HandlerFunc(func(ctx context.Context, p *worqr.Process) error {
				begun[name] <- instant{p.Queue(), time.Now()}
				select {
				case <-done:
				case <-ctx.Done():
					ended <- instant{p.Queue(), time.Now()}
					if cause := context.Cause(ctx); !errors.Is(cause, worqr.ErrFenced) {
						t.Errorf("%s ended with %v, want ErrFenced", p.Queue(), cause)
					}
					<-done // it keeps its slot, so that its worker does not take the task again
				}
				return nil
			})}
			if name == "a" { // a look at one of these finds nothing, and so leads to no other
				cfg.Queues[fmt.Sprint("strict", i)] = worqr.Queue{Handler: idle, Takeover: worqr.TakeoverStrict}
			}
		}
		return cfg
	}
	a, stopA := run(t, cutOff, serve("a"))
	serves := func(w *worqr.Worker, n int) {
		redistest.Eventually(t, soon, "it serves all", func() bool {
			list, err := m.WorkingQueues(t.Context(), w.ID())
			return err == nil && len(list) == n
		})
	}
	serves(a, 2*queues)
	redistest.Eventually(t, soon, "it is told of all", cutOff.Listener().Ready) // what it subscribes to later has it look at all
	for i := range queues {
		enqueue(t, m, fmt.Sprint("q", i), "t")
		receive(t, "a task at a", begun["a"])
	}
	redistest.Eventually(t, soon, "a is taken over Fast", func() bool {
		for i := range queues {
			if mode, err := a.Takeover(fmt.Sprint("q", i)); err != nil || mode != worqr.TakeoverFast {
				return false
			}
		}
		return true
	})
	b, stopB := run(t, m, serve("b"))
	serves(b, queues)
	id := a.ID()
	t.Cleanup(finish)
	u.refuses.Store(true)
	_ = u.presence.Load().Close()
	taken := map[string]time.Time{}
	for range queues {
		one := receive(t, "a task at b", begun["b"])
		taken[one.queue] = one.at
	}
	var late []time.Duration
	for range queues {
		one := receive(t, "the end of a handler at a", ended)
		late = append(late, one.at.Sub(taken[one.queue]))
	}
	if len(lapsed) > 0 || a.ID() != id {
		t.Error("the worker has lapsed: it was to lose its presence connection alone")
	}
	finish()
	u.refuses.Store(false)
	_, _ = stopA(), stopB()
	return late
}
