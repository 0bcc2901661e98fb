package worqr_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// restarts is how often a test restarts its server: 20 times with WORQR_LONG.
func restarts() int {
	if os.Getenv("WORQR_LONG") != "" {
		return 20
	}
	return 3
}

// hold is what a handler was given, and where.
type hold struct {
	worker string
	token  int64
}

// holds are the tasks that handlers hold. Each writes its token as its checkpoint.
type holds struct {
	mu     sync.Mutex
	now    map[string]hold
	before map[string]int64 // by task: a token whose checkpoint is stored, so that each later holder is to know as much
	faults []string
	begun  int
}

func (h *holds) handle(worker string) worqr.HandlerFunc {
	return func(ctx context.Context, p *worqr.Process) error {
		h.begin(worker, p)
		err := p.Checkpoint(ctx, strconv.AppendInt(nil, p.Token(), 10))
		look := time.NewTicker(20 * time.Millisecond)
		defer look.Stop()
		for p.Valid() { // before each effect outside, as its doc asks for
			select {
			case <-look.C:
			case <-ctx.Done():
			}
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.now, string(p.Task()))
		return err
	}
}

func (h *holds) begin(worker string, p *worqr.Process) {
	h.mu.Lock()
	defer h.mu.Unlock()
	task, past := string(p.Task()), p.Past()
	h.begun++
	if last, overlap := h.now[task]; overlap {
		h.faults = append(h.faults, fmt.Sprintf("%s begins %s, which %s holds", worker, task, last.worker))
	}
	h.now[task] = hold{worker, p.Token()}
	kept, _ := strconv.ParseInt(string(past.Checkpoint), 10, 64)
	if before := h.before[task]; before > 0 && (past.Why == "" || past.Token < before || kept < before) {
		h.faults = append(h.faults, fmt.Sprintf("%s begins %s after token %d with %+v", worker, task, before, past))
	}
}

// stored reports whether n tasks are held, and the server has the checkpoint of each holder. These
// are what each later holder is to know.
func (h *holds) stored(c redis.Conn, key string, n int) bool {
	kept, err := redis.StringMap(c.Do("HGETALL", key))
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil || len(h.now) != n || len(kept) != n {
		return false
	}
	tokens := map[string]bool{}
	for _, row := range kept {
		_, data, _ := strings.Cut(row, "\n")
		tokens[data] = true
	}
	for _, one := range h.now {
		if !tokens[strconv.FormatInt(one.token, 10)] {
			return false
		}
	}
	for task, one := range h.now {
		h.before[task] = one.token
	}
	return true
}

// beaten reports whether each worker has beaten since then.
func beaten(c redis.Conn, ns string, since time.Time) bool {
	ids, err := redis.Strings(c.Do("SMEMBERS", "{"+ns+"}:workers"))
	for _, id := range ids {
		asked := time.Now()
		left, failed := redis.Int64(c.Do("PTTL", "{"+ns+"}:worker:"+id))
		if failed != nil || time.Duration(left)*time.Millisecond < 3*time.Second-asked.Sub(since) {
			return false
		}
	}
	return err == nil
}

// scenarios 113 and 114: Redis is restarted, and away for 0.1 to 2 s, while five workers hold 200
// tasks. Each next holder gets the last checkpoint that was stored and the reason for which the
// hold before has ended, no two hold one task, and each worker is taken over Fast again by itself,
// where that was asked for, and tells so.
func TestHoldsOverRestartsOfRedis(t *testing.T) {
	for _, takeover := range []worqr.Takeover{worqr.TakeoverStrict, worqr.TakeoverFast} {
		t.Run(takeover.String(), func(t *testing.T) {
			t.Parallel()
			testHoldsOverRestarts(t, takeover)
		})
	}
}

func testHoldsOverRestarts(t *testing.T, takeover worqr.Takeover) {
	const workers, tasks = 5, 200
	random := seeded(t)
	server := redistest.Own(t, "--appendonly", "yes", "--appendfsync", "always")
	h := &holds{now: map[string]hold{}, before: map[string]int64{}}
	cfg := worqr.Config{Namespace: "restarts", WaitForRedis: true}
	fast := map[worqr.Takeover]int{worqr.TakeoverFast: workers}[takeover]
	var fleet []*worqr.Worker
	for i := range workers {
		w, _ := run(t, openAt(t, server.URL(), cfg), worqr.WorkerConfig{Takeover: takeover, Queues: map[string]worqr.Queue{
			"q": {Persistent: true, Handler: h.handle(fmt.Sprint("w", i))},
		}})
		fleet = append(fleet, w)
	}
	m := openAt(t, server.URL(), cfg)
	var desired [][]byte
	for _, task := range numbered("t", tasks) {
		desired = append(desired, []byte(task))
	}
	redistest.Eventually(t, soon, "the tasks are there", func() bool { _, err := m.Reconcile(t.Context(), "q", desired); return err == nil })
	queue := queuePrefix(cfg.Namespace, "q")
	started := time.Now()
	for range restarts() {
		c := server.Conn(t)
		redistest.Eventually(t, soon, "all workers have beaten", func() bool { return beaten(c, cfg.Namespace, started) })
		redistest.Eventually(t, soon, "all is held, and its checkpoints are stored", func() bool { return h.stored(c, queue+":checkpoints", tasks) })
		redistest.Eventually(t, soon, "all workers are taken over as they should", func() bool {
			known, err := redis.Int(c.Do("SCARD", queue+":fast"))
			return err == nil && known == fast && !slices.ContainsFunc(fleet, func(w *worqr.Worker) bool {
				mode, err := w.Takeover("q")
				return err != nil || mode != takeover
			})
		})
		away := 100*time.Millisecond + time.Duration(random.Int64N(int64(1900*time.Millisecond)))
		server.Kill(t)
		<-time.After(away)
		server.Start(t)
		started = time.Now()
		h.mu.Lock()
		t.Logf("away for %v; %d holds so far, %d faults", away.Round(time.Millisecond), h.begun, len(h.faults))
		h.mu.Unlock()
	}
	c := server.Conn(t)
	redistest.Eventually(t, soon, "all is held, and its checkpoints are stored", func() bool { return h.stored(c, queue+":checkpoints", tasks) })
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, fault := range h.faults[:min(len(h.faults), 5)] {
		t.Errorf("%s; there are %d of this kind", fault, len(h.faults))
	}
}
