package worqr_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// fleet is who holds the persistent tasks of one queue, and what the handlers saw. Whatever a test
// is about, it fails when a handler starts while another one still runs with the same task, or with
// a token that is not above the last.
type fleet struct {
	t     testing.TB
	ns    string
	mesh  *worqr.Mesh // a bystander's: no fault of a worker concerns it
	redis redis.Conn
	base  worqr.WorkerConfig // what its workers are made with
	// patience is how long it waits for a fact.
	patience time.Duration

	mu      sync.Mutex
	overlap bool             // two may hold one task for a moment
	holding map[string]*turn // by task
	tokens  map[string]int64 // the last one of each task
	turns   []*turn          // in the order of their beginnings
	taken   map[string]int   // what OnTake told, by worker
	errs    []error          // what OnError told
}

// turn is one hold, as its handler sees it. What a test gets are copies.
type turn struct {
	who, task    string
	p            *worqr.Process
	past         worqr.Past
	began, ended time.Time
	over         bool
	cause        error // of its context's end, nil when the handler returned by itself
}

func newFleet(t testing.TB) *fleet {
	ns := redistest.Namespace(t)
	f := fleetOf(t, ns, openAt(t, redistest.Shared(t).URL(), worqr.Config{Namespace: ns}))
	f.redis = redistest.Shared(t).Conn(t)
	return f
}

// newFrailFleet is one whose workers may die.
func newFrailFleet(t testing.TB) *fleet {
	f := newFleet(t)
	f.base, f.patience = frail(), 2*soon // a busy machine makes judges doubt, and doubt takes time
	return f
}

func fleetOf(t testing.TB, ns string, m *worqr.Mesh) *fleet {
	return &fleet{
		t: t, ns: ns, mesh: m, base: firm(), patience: soon,
		holding: map[string]*turn{}, tokens: map[string]int64{}, taken: map[string]int{},
	}
}

// firm is a worker that looks around often and does not lapse, however busy the machine is.
func firm() worqr.WorkerConfig {
	return worqr.WorkerConfig{
		Beat: 100 * time.Millisecond, Lapse: 20 * time.Second, Margin: time.Second, Sweep: 100 * time.Millisecond, Grace: 10 * time.Second,
	}
}

// frail is one that is dead soon, with a margin that a busy machine does not use up.
func frail() worqr.WorkerConfig {
	cfg := firm()
	cfg.Lapse, cfg.Margin = 2*time.Second, 600*time.Millisecond
	return cfg
}

// brisk begins moves soon after a join, and as many as there are.
func brisk() worqr.Hold { return worqr.Hold{Settle: 300 * time.Millisecond, MoveRate: 1e6} }

// setting changes how a worker serves the fleet's queue.
type setting func(*worqr.WorkerConfig, *worqr.Queue)

func weight(n int) setting { return func(c *worqr.WorkerConfig, _ *worqr.Queue) { c.Capacity = n } }
func atMost(n int) setting { return func(_ *worqr.WorkerConfig, q *worqr.Queue) { q.Limit = n } }
func under(h worqr.Hold) setting {
	return func(_ *worqr.WorkerConfig, q *worqr.Queue) { q.Hold = h }
}
func takenOver(how worqr.Takeover) setting {
	return func(_ *worqr.WorkerConfig, q *worqr.Queue) { q.Takeover = how }
}
func by(h worqr.HandlerFunc) setting {
	return func(_ *worqr.WorkerConfig, q *worqr.Queue) { q.Handler = h }
}

// config is what a worker of that name is made with: it holds until its context ends.
func (f *fleet) config(name string, settings ...setting) worqr.WorkerConfig {
	cfg, q := f.base, worqr.Queue{Handler: f.holder(name), Persistent: true, Hold: brisk()}
	cfg.Hooks.OnTake = func(*worqr.Process) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.taken[name]++
	}
	cfg.Hooks.OnError = func(err error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.errs = append(f.errs, err)
	}
	for _, set := range settings {
		set(&cfg, &q)
	}
	cfg.Queues = map[string]worqr.Queue{"q": q}
	return cfg
}

// join runs a worker of that name.
func (f *fleet) join(name string, settings ...setting) (w *worqr.Worker, stop func() error) {
	f.t.Helper()
	return run(f.t, f.mesh, f.config(name, settings...))
}

// kill takes all connections away and lets no command through: to peers, who is behind it is dead.
// Refuse would do, but that gives the port away, and another test may get it.
func kill(p *redistest.Proxy) {
	p.Intercept(func(redistest.Command) redistest.Action { return redistest.CutBefore })
	p.Cut()
}

func revive(p *redistest.Proxy) { p.Intercept(nil) }

// bury waits until peers have put back what a dead worker held: who comes back sooner has only
// lapsed.
func (f *fleet) bury(p *worqr.Process) {
	for f.t.Context().Err() == nil && errors.Is(context.Cause(p.Context()), worqr.ErrLapsed) {
		if at, err := f.mesh.Locate(context.Background(), "q", p.Task()); err == nil && at.Process != p.ID() {
			return
		}
		<-time.After(10 * time.Millisecond)
	}
}

// mortal runs a worker of that name by way of a proxy, so that it can be killed, and born again.
func (f *fleet) mortal(name string, settings ...setting) (*worqr.Worker, *redistest.Proxy) {
	f.t.Helper()
	m, proxy := mortal(f.t, f.ns)
	w, _ := run(f.t, m, f.config(name, settings...))
	f.t.Cleanup(func() { revive(proxy); proxy.Thaw() })
	return w, proxy
}

// ready waits until so many memberships serve the queue.
func (f *fleet) ready(n int) {
	f.t.Helper()
	redistest.Eventually(f.t, soon, fmt.Sprint(n, " members"), func() bool {
		members, err := redis.Int(f.redis.Do("HLEN", queuePrefix(f.ns, "q")+":workers"))
		return err == nil && members == n
	})
}

// state is where a task is, "gone" when it is nowhere.
func (f *fleet) state(task string) string {
	f.t.Helper()
	return string(f.locate(task).State)
}

func (f *fleet) locate(task string) worqr.Location {
	f.t.Helper()
	at, err := f.mesh.Locate(context.Background(), "q", []byte(task))
	if errors.Is(err, worqr.ErrGone) {
		return worqr.Location{State: "gone"}
	}
	if err != nil {
		f.t.Fatalf("locate %q: %v", task, err)
	}
	return at
}

// located waits until a task is in a state.
func (f *fleet) located(task, state string) (at worqr.Location) {
	f.t.Helper()
	f.await(fmt.Sprintf("%q is %s (it is %s)", task, state, f.state(task)), func() bool {
		at = f.locate(task)
		return string(at.State) == state
	})
	return at
}

// beats waits until a worker has beaten n times more, with all that it does at each beat.
func (f *fleet) beats(w *worqr.Worker, n int) {
	f.t.Helper()
	last, seen := time.Duration(0), 0
	f.await(fmt.Sprintf("%d beats", n), func() bool {
		workers, err := f.mesh.Workers(context.Background())
		if err != nil {
			return false
		}
		for _, info := range workers {
			if info.ID == w.ID() {
				if info.Left > last {
					seen++
				}
				last = info.Left
			}
		}
		return seen > n
	})
}

// reconcile makes the fleet's tasks equal to a list.
func (f *fleet) reconcile(tasks ...string) worqr.Reconciled {
	f.t.Helper()
	r, err := f.mesh.Reconcile(context.Background(), "q", raw(tasks))
	if err != nil {
		f.t.Fatalf("reconcile with %d tasks: %+v, %v", len(tasks), r, err)
	}
	return r
}

func raw(tasks []string) [][]byte {
	list := make([][]byte, len(tasks))
	for i, task := range tasks {
		list[i] = []byte(task)
	}
	return list
}

func (f *fleet) cancel(task string) worqr.Canceled {
	f.t.Helper()
	c, err := f.mesh.Cancel(context.Background(), "q", []byte(task))
	if err != nil {
		f.t.Fatalf("cancel %q: %v", task, err)
	}
	return c
}
