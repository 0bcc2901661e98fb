package worqr_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// everyPersistentVerb calls each verb of persistent tasks at least once: they fail and are delayed,
// are handed over with and without a gap, at a rate, checkpointed, added again while they wind
// down, canceled, and left behind by a dead holder.
func everyPersistentVerb(t testing.TB, m *worqr.Mesh) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx := t.Context()
	var failures, turns atomic.Int64
	serve := func(queue string, hold worqr.Hold) (*worqr.Worker, func() error) {
		cfg := quick()
		cfg.Lapse, cfg.Takeover = 2*time.Second, worqr.TakeoverFast
		cfg.Queues = map[string]worqr.Queue{queue: {Persistent: true, Hold: hold, Handler: worqr.HandlerFunc(func(ctx context.Context, p *worqr.Process) error {
			if string(p.Task()) == "fails once" && failures.Add(1) == 1 {
				return errors.New("at first it fails, and is delayed")
			}
			_ = p.Checkpoint(ctx, []byte("so far"))
			_ = p.Ready(ctx)
			turns.Add(1)
			<-ctx.Done()
			return nil
		})}}
		return run(t, m, cfg)
	}
	for queue, hold := range map[string]worqr.Hold{
		"p/moves":     {Settle: 50 * time.Millisecond, StartRate: 1000},
		"p/overlaps":  {Settle: 50 * time.Millisecond, MakeBeforeBreak: true},
		"p/upstreams": {Settle: 50 * time.Millisecond, GroupRate: 1000, Group: func([]byte) string { return "up" }},
	} {
		shares := func(n, each int) {
			t.Helper()
			redistest.Eventually(t, soon, queue+": evenly held", func() bool {
				processes, err := m.Processes(ctx, queue)
				must(err)
				by := map[string]int{}
				for _, p := range processes {
					by[p.Worker]++
				}
				for _, held := range by {
					if held != each {
						return false
					}
				}
				return len(by) == n
			})
		}
		tasks := append(numbered("t", 5), "fails once")
		_, stopA := serve(queue, hold)
		_, err := m.Reconcile(ctx, queue, raw(tasks))
		must(err)
		shares(1, 6)
		b, stopB := serve(queue, hold) // half of them move
		shares(2, 3)
		_, err = m.Locate(ctx, queue, []byte("t1"))
		must(err)
		must(b.Drain(ctx))
		shares(1, 6)
		must(stopB())
		c, stopC := serve(queue, hold)
		shares(2, 3)
		must(m.Fail(ctx, c.ID())) // a death: it comes back under another id
		_ = stopC
		shares(2, 3)
		_, err = m.Cancel(ctx, queue, []byte("t1"))
		must(err)
		enqueue(t, m, queue, "t1", "t2", "new")
		_, err = m.Reconcile(ctx, queue, raw(tasks[2:]))
		must(err)
		_, err = m.DeleteQueue(ctx, queue)
		must(err)
		must(stopA())
		must(stopC())
	}
	if turns.Load() == 0 {
		t.Error("nothing was held")
	}
}
