package simulator

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// stand makes the victim's worker.
func (s *stage) stand() {
	cfg := quick()
	cfg.Sweep = time.Hour // its peer looks after the dead
	s.w = s.worker(s.victim, cfg)
}

// serve has the victim's worker started and serving q by Take.
func (s *stage) serve() {
	s.Helper()
	s.stand()
	s.start(s.w)
	s.startWork(s.w)
}

// holdsTwo: the victim holds t1 and t2, and t3 waits.
func holdsTwo(s *stage) {
	s.store("t1", "t2", "t3")
	s.serve()
	s.take(s.w, 2)
}

// another starts a healthy worker that serves q by Take, in place of one of the victim's.
func (s *stage) another() {
	s.Helper()
	s.other = s.mesh(s.server.URL(), s.server.URL(), soon)
	s.w = s.worker(s.other, quick())
	s.start(s.w)
	s.startWork(s.w)
}

// tryStore enqueues over the victim's connections, and notes what may have come of it.
func (s *stage) tryStore(tasks ...string) {
	list := make([][]byte, len(tasks))
	for i, task := range tasks {
		list[i] = []byte(task)
	}
	least, most := 1, 1
	if err := s.victim.Enqueue(s.life, "q", list...); errors.Is(err, worqr.ErrUnknown) {
		least = 0
	} else if err != nil {
		least, most = 0, 0
	}
	for _, task := range tasks {
		s.expect(task, least, most)
	}
}

// cancels: a copy of c waits and another one is in hand.
func cancels(s *stage) {
	if _, err := s.victim.Cancel(s.life, "q", []byte("c")); err != nil {
		s.expect("c", 0, 2)
		return
	}
	s.expect("c", 0, 0)
	p := s.hand[1]
	redistest.Eventually(s, soon, "the holder hears of the cancel", func() bool { return p.Context().Err() != nil })
	_ = p.Stop(s.ctx) // which drops it
}

func deletes(s *stage) {
	most := 1
	if _, err := s.victim.DeleteQueue(s.life, "q"); err == nil {
		most = 0
	} else {
		s.lateSpan.least = 0 // the first copy of it may be what arrives very late
	}
	for _, task := range []string{"t1", "t2", "t3"} {
		s.expect(task, 0, most)
	}
	for _, p := range s.hand {
		s.expect(string(p.Task()), 0, 1) // it goes on, unless it comes back
	}
}

// run starts a victim's Run.
func (s *stage) run(handler worqr.HandlerFunc) {
	cfg := quick()
	cfg.Sweep = time.Hour
	cfg.Queues = map[string]worqr.Queue{"q": {Handler: handler, Limit: 2}}
	cfg.Hooks.OnSettle = s.settled
	w := s.worker(s.victim, cfg)
	ctx, cancel := context.WithCancel(s.life)
	result := make(chan error, 1)
	go func() {
		err := w.Run(ctx)
		for range 3 { // a start that failed is repeated, as a supervisor of processes does
			if err == nil || ctx.Err() != nil {
				break
			}
			err = w.Run(ctx)
		}
		result <- err
	}()
	s.ended = func() error {
		cancel()
		err := <-result
		result <- err
		return err
	}
	s.Cleanup(func() { _ = s.ended() })
}

// oneFails is a handler that fails with its first process.
func (s *stage) oneFails() worqr.HandlerFunc {
	var first atomic.Bool
	return func(_ context.Context, p *worqr.Process) error {
		if first.CompareAndSwap(false, true) {
			return errors.New("not this time")
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.succeeded[p.ID()] = true
		return nil
	}
}

func untilStopped(ctx context.Context, _ *worqr.Process) error {
	<-ctx.Done()
	return ctx.Err()
}

// loseTake has a take executed whose answers are all lost: the process is in Redis and its worker
// does not know.
func (s *stage) loseTake() {
	s.data.Intercept(func(c redistest.Command) redistest.Action {
		switch scriptOf(s, c) {
		case "take":
			return redistest.CutAfter
		case "look":
			return redistest.CutBefore // not yet
		}
		return redistest.Pass
	})
	redistest.Eventually(s, soon, "the take is not answered", func() bool { // it may lapse meanwhile
		_, err := s.w.Take(s.ctx, "q")
		return errors.Is(err, worqr.ErrUnknown)
	})
	s.data.Intercept(s.boundary.intercept)
}

// supervises starts a victim that looks after dead workers, as soon as sweeps pass.
func (s *stage) supervises() {
	s.Helper()
	s.start(s.worker(s.victim, quick()))
}

// deadWith leaves a worker behind that died with n processes in hand.
func (s *stage) deadWith(n int) {
	s.Helper()
	proxy := redistest.NewProxy(s, s.server.URL())
	m := s.mesh(proxy.URL(), proxy.URL(), soon)
	cfg := quick()
	cfg.Sweep = time.Hour
	w := s.worker(m, cfg)
	s.start(w)
	s.startWork(w)
	s.take(w, n)
	s.comesBack(s.hand...)
	id := w.ID()
	proxy.Refuse(true)
	s.eventually("its heartbeat ends", func(st *state) bool { return !st.beating[id] })
}

// orphan makes a member with n processes whose worker nobody knows: what is left of commands that
// came after its death.
func (s *stage) orphan(n int) {
	s.Helper()
	for _, c := range []*command{
		{script: "open", args: []string{"ghost.1", "0"}},
		{script: "take", args: []string{"ghost.1", "1", string(rune('0' + n)), "0"}},
	} {
		args := []any{sources()[c.script].sha, 1, s.ns + ":{q}", s.ns + "@0", "q"}
		for _, a := range c.args {
			args = append(args, a)
		}
		_, err := s.conn.Do("EVALSHA", args...)
		s.must(err)
	}
	s.inOrder = append(s.inOrder, []string{"t1", "t2"})
}

// empty leaves a queue on the list that has no tasks.
func (s *stage) empty() {
	s.store("t1")
	_, err := s.peer.Cancel(s.ctx, "q", []byte("t1"))
	s.must(err)
	s.expect("t1", 0, 0)
}

// reads asks for everything. With an answer it has to be right.
func reads(s *stage) {
	if names, err := s.victim.Queues(s.life); err == nil && !slices.Equal(names, []string{"q"}) {
		s.Errorf("queues: %v", names)
	}
	if workers, err := s.victim.Workers(s.life); err == nil && len(workers) == 0 {
		s.Error("no workers")
	}
	if names, err := s.victim.WorkingQueues(s.life, s.w.ID()); err == nil && s.w.Alive() && !slices.Equal(names, []string{"q"}) {
		s.Errorf("working queues: %v", names)
	}
	if list, err := s.victim.Processes(s.life, "q"); err == nil && s.w.Alive() && len(list) != 2 {
		s.Errorf("processes: %v", list)
	}
	if n, err := s.victim.Len(s.life, "q"); err == nil && s.w.Alive() && n != 1 {
		s.Errorf("len: %d", n)
	}
	if task, err := s.victim.Peek(s.life, "q"); err == nil && s.w.Alive() && string(task) != "t3" {
		s.Errorf("peek: %q", task)
	}
}
