package simulator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

const soon = 30 * time.Second // until a fact must hold, on a slow machine with many neighbours

// stage is one case: a victim behind a proxy, a healthy peer, and what has to come of each task.
type stage struct {
	testing.TB
	ctx      context.Context
	life     context.Context // of the victim: ends when it dies
	server   *redistest.Server
	conn     redis.Conn // of the test itself
	ns       string
	boundary *boundary
	data     *redistest.Proxy // all that the victim sends
	wakes    *redistest.Proxy // what it is told
	witness  *witness

	victim *worqr.Mesh
	w      *worqr.Worker // takes by Take: the victim's, when the operation has one, or else
	other  *worqr.Mesh   // that of a healthy one
	peer   *worqr.Mesh
	p      *worqr.Worker // of the peer: it reclaims, and works at the end

	mu      sync.Mutex
	tasks   map[string]span
	trues   map[string]int // how often Finish answered true
	runs    []string       // the tasks that the peer worked on, in their order
	lapsed  bool           // the peer has, on a slow machine: what it had taken comes back later
	inOrder [][]string     // of each of these, whatever the peer works on has to be in this order
	hand    []*worqr.Process

	succeeded map[string]bool // processes whose handler returned nil
	lateSpan  span            // of tasks that are stored before what is very late arrives
	ended     func() error    // ends the victim's Run and waits for it
}

// span is how often a task may be finished: at least and at most.
type span struct{ least, most int }

// quick has short times, so that a case takes seconds.
func quick() worqr.WorkerConfig {
	return worqr.WorkerConfig{
		Takeover: worqr.TakeoverStrict, Beat: 150 * time.Millisecond, Lapse: 600 * time.Millisecond, Sweep: 100 * time.Millisecond, Grace: 200 * time.Millisecond,
	}
}

// newStage makes the meshes and starts nothing.
func newStage(t testing.TB, server *redistest.Server, witness *witness, ns string, b *boundary) *stage {
	ctx, cancel := context.WithCancel(context.Background())
	life, kill := context.WithCancel(ctx)
	t.Cleanup(cancel)
	s := &stage{
		TB: t, ctx: ctx, life: life, server: server, conn: server.Conn(t), ns: ns, boundary: b, witness: witness,
		data: redistest.NewProxy(t, server.URL()), wakes: redistest.NewProxy(t, server.URL()),
		tasks: map[string]span{}, trues: map[string]int{}, succeeded: map[string]bool{}, lateSpan: span{1, 1},
	}
	b.t = t
	b.died = func() {
		s.wakes.Refuse(true)
		kill()
	}
	s.data.Intercept(b.intercept)
	s.victim = s.mesh(s.data.URL(), s.wakes.URL(), 500*time.Millisecond) // what was lost is tried again soon
	s.peer = s.mesh(server.URL(), server.URL(), soon)
	return s
}

// startPeer starts the worker of the peer. It looks after the dead, and serves nothing yet.
func (s *stage) startPeer() {
	s.Helper()
	cfg := quick()
	cfg.Queues = map[string]worqr.Queue{"q": {Handler: worqr.HandlerFunc(s.work)}}
	cfg.Hooks.OnSettle = s.settled
	cfg.Hooks.OnLapse = func(string, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.lapsed = true
	}
	s.p = s.worker(s.peer, cfg)
	s.start(s.p)
}

// start starts a worker for certain: on a slow machine a join may get no answer in time.
func (s *stage) start(w *worqr.Worker) {
	s.Helper()
	redistest.Eventually(s, soon, "the worker has started", func() bool { return w.Start(s.ctx) == nil })
}

// startWork begins to serve q for certain.
func (s *stage) startWork(w *worqr.Worker) {
	s.Helper()
	redistest.Eventually(s, soon, "the queue is served", func() bool { return w.StartWork(s.ctx, "q") == nil })
}

// comesBack notes that processes will come back in the order in which they were taken. That is
// promised for those of one membership: on a slow machine their worker may have lapsed in between.
func (s *stage) comesBack(list ...*worqr.Process) {
	byMembership := map[string][]string{}
	for _, p := range list {
		m := membershipOf(p.ID())
		byMembership[m] = append(byMembership[m], string(p.Task()))
	}
	for _, tasks := range byMembership {
		s.inOrder = append(s.inOrder, tasks)
	}
}

// everybodyLeaves ends the peer's worker. One that lapses just then, on a slow machine, needs a
// successor who buries it.
func (s *stage) everybodyLeaves() {
	s.Helper()
	for range 5 {
		_ = s.p.Fail(s.ctx)
		if len(s.state().registered) == 0 {
			return
		}
		s.startPeer()
		s.eventually("only the last one is registered", func(st *state) bool { return len(st.registered) == 1 })
	}
	s.Errorf("somebody is still registered: %+v\n%s", s.state(), s.story())
}

// mesh gives one whose commands may take so long.
func (s *stage) mesh(data, wakes string, timeout time.Duration) *worqr.Mesh {
	dial := func(url string) func(context.Context) (redis.Conn, error) {
		return func(ctx context.Context) (redis.Conn, error) {
			return redis.DialURLContext(ctx, url, redis.DialConnectTimeout(timeout),
				redis.DialReadTimeout(timeout), redis.DialWriteTimeout(timeout))
		}
	}
	pool := &redis.Pool{DialContext: dial(data), MaxIdle: 4}
	m, err := worqr.New(pool, worqr.Config{Namespace: s.ns, Subscribe: dial(wakes)})
	s.must(err)
	s.Cleanup(func() {
		_ = m.Close() // a dead one cannot say goodbye
		pool.Close()
	})
	return m
}

func (s *stage) worker(m *worqr.Mesh, cfg worqr.WorkerConfig) *worqr.Worker {
	s.Helper()
	w, err := m.NewWorker(cfg)
	s.must(err)
	return w
}

func (s *stage) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// store enqueues tasks for certain: each has to be finished once.
func (s *stage) store(tasks ...string) { s.storeFor(span{1, 1}, tasks...) }

func (s *stage) storeFor(often span, tasks ...string) {
	s.Helper()
	list := make([][]byte, len(tasks))
	for i, task := range tasks {
		list[i] = []byte(task)
		s.expect(task, often.least, often.most)
	}
	s.must(s.peer.Enqueue(s.ctx, "q", list...))
}

// expect says how often a task has to be finished in the end.
func (s *stage) expect(task string, least, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tasks[task] = span{least, most}
}

// work is the peer's handler.
func (s *stage) work(_ context.Context, p *worqr.Process) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs = append(s.runs, string(p.Task()))
	s.succeeded[p.ID()] = true
	return nil
}

// settled is told what became of a handler's process.
func (s *stage) settled(p *worqr.Process, result worqr.Outcome, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if result == worqr.OutcomeDone && s.succeeded[p.ID()] {
		s.trues[string(p.Task())]++
	}
}

// take has a worker take n tasks into its hands. On a slow machine it may lapse meanwhile.
func (s *stage) take(w *worqr.Worker, n int) {
	s.Helper()
	redistest.Eventually(s, soon, "it has taken", func() bool {
		p, err := w.Take(s.ctx, "q")
		switch {
		case err == nil:
			s.hand = append(s.hand, p)
			n--
		case !errors.Is(err, worqr.ErrLapsed) && !errors.Is(err, worqr.ErrEmpty):
			s.Fatal(err)
		}
		return n == 0
	})
}

// finish finishes a process of the victim, and notes a true. It answers whether the answer can be
// that of a first Finish.
func (s *stage) finish(p *worqr.Process) bool {
	ctx, cancel := context.WithTimeout(s.life, soon)
	defer cancel()
	won, err := p.Finish(ctx)
	if won {
		s.mu.Lock()
		s.trues[string(p.Task())]++
		s.mu.Unlock()
	}
	if won && err != nil {
		s.Errorf("finish of %q: true and %v", p.Task(), err)
	}
	return won || err != nil
}

// goOn is what a victim that lives does after the operation: it finishes what it has, and all that
// waits.
func (s *stage) goOn() {
	for _, p := range s.hand {
		s.finish(p)
	}
	for range 100 {
		p, err := s.w.Take(s.life, "q")
		switch {
		case err == nil:
			s.finish(p)
		case errors.Is(err, worqr.ErrLapsed), errors.Is(err, worqr.ErrFenced), errors.Is(err, worqr.ErrUnknown):
			// it comes back, or a peer does the rest
		default:
			return
		}
	}
}

// state reads what is in Redis, as the simulator sees it, and checks what always holds.
func (s *stage) state() *state {
	s.Helper()
	sections, err := redis.Strings(s.conn.Do("EVAL", dump, 0, "*"+s.ns+"*"))
	s.must(err)
	names := strings.NewReplacer("{"+s.ns+"}:", meshKey+":", s.ns+":{", namespace+":{")
	for i := range sections {
		sections[i] = names.Replace(sections[i])
	}
	st, err := newState(sections, nil)
	s.must(err)
	if err := st.wellFormed(); err != nil {
		s.Fatalf("%v\n%s", err, s.story())
	}
	return st
}

// eventually waits for a fact about the state.
func (s *stage) eventually(what string, fact func(*state) bool) {
	s.Helper()
	var last *state
	holds := false
	defer func() {
		if !holds && last != nil {
			s.Logf("%s: %+v, queue %+v\n%s", what, *last, *last.queues["q"], s.story())
		}
	}()
	redistest.Eventually(s, soon, what, func() bool {
		last = s.state()
		holds = fact(last)
		return holds
	})
}

// story tells what the operation sent, and what is known of the tasks.
func (s *stage) story() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf("%s; sent %v, fired %v; expected %v, finished %v, answered true %v, the peer ran %v",
		s.Name(), s.boundary.sent(), s.boundary.hasFired(), s.tasks, s.witness.of(s.ns), s.trues, s.runs)
}
