package worqr_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// doubled notes who holds what at the same time.
type doubled struct {
	mu             sync.Mutex
	holders        map[string]map[string]bool // by task
	overlaps, gaps int
}

func (d *doubled) begin(task, worker string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.holders[task] == nil {
		d.holders[task] = map[string]bool{}
	}
	d.holders[task][worker] = true
	if len(d.holders[task]) > 1 {
		d.overlaps++
	}
}

func (d *doubled) end(task, worker string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.holders[task], worker)
	if len(d.holders[task]) == 0 {
		d.gaps++
	}
}

func (d *doubled) held(worker string) (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, holders := range d.holders {
		if holders[worker] {
			n++
		}
	}
	return n
}

// overlapping configures a worker whose tasks have their next holder before the present one ends.
func overlapping(t *testing.T, d *doubled, name string, ready bool) worqr.WorkerConfig {
	cfg := quick()
	cfg.Lapse = 3 * time.Second // a lapse on a busy machine would be a gap
	cfg.Queues = map[string]worqr.Queue{"q": {
		Persistent: true, Hold: worqr.Hold{Settle: 100 * time.Millisecond, MakeBeforeBreak: true},
		Handler: worqr.HandlerFunc(func(ctx context.Context, p *worqr.Process) error {
			d.begin(string(p.Task()), name)
			defer d.end(string(p.Task()), name)
			if ready {
				if err := p.Ready(ctx); err != nil && ctx.Err() == nil {
					t.Errorf("ready: %v", err)
				}
			}
			<-ctx.Done()
			return nil
		}),
	}}
	return cfg
}

// The holder goes on until the receiver is ready, or has had the task for a lapse: no task is
// without a holder for a moment, and each that moves is held twice for a moment.
func TestMakeBeforeBreakLeavesNoGap(t *testing.T) {
	t.Parallel()
	for name, ready := range map[string]bool{"ready": true, "never says that it is ready": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := open(t)
			d := &doubled{holders: map[string]map[string]bool{}}
			run(t, m, overlapping(t, d, "a", ready))
			var tasks [][]byte
			for _, task := range numbered("t", 10) {
				tasks = append(tasks, []byte(task))
			}
			if _, err := m.Reconcile(t.Context(), "q", tasks); err != nil {
				t.Fatal(err)
			}
			redistest.Eventually(t, soon, "all are held", func() bool { return d.held("a") == 10 })
			run(t, m, overlapping(t, d, "b", ready))
			redistest.Eventually(t, soon, "the shares are even", func() bool { return d.held("a") == 5 && d.held("b") == 5 })
			d.mu.Lock()
			defer d.mu.Unlock()
			if d.overlaps != 5 || d.gaps != 0 {
				t.Errorf("5 tasks moved with %d overlaps and %d gaps, want 5 and none", d.overlaps, d.gaps)
			}
		})
	}
}
