package simulator

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// cases is how many run at once: they mostly wait for lapses.
const cases = 24

// scenario 27, scenario 28, scenario 41, scenario 42, scenario 74, scenario 92, scenario 102
func TestAFaultAtEveryBoundary(t *testing.T) {
	server := redistest.Own(t)
	if _, err := newServer(server.Conn(t), server.Conn(t), 0, false); err != nil { // so that no script is sent twice, as the first time ever
		t.Fatal(err)
	}
	begun := time.Now()
	witness := newWitness(t, server)
	var number, missed atomic.Int64
	var running sync.WaitGroup
	places := make(chan struct{}, cases)
	start := func(o operation, f fault, at int, then func(sent []string)) {
		running.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			n := number.Add(1)
			name := o.name
			if at > 0 {
				name = fmt.Sprintf("%s/%d: %s", o.name, at, f.name)
			}
			t.Run(name, func(t *testing.T) {
				b := &boundary{fault: f, at: at, gate: o.gate, after: o.after, ignored: map[string]bool{}}
				for _, name := range o.ignored {
					b.ignored[name] = true
				}
				s := newStage(t, server, witness, fmt.Sprintf("case-%05d", n), b)
				sent := s.play(o)
				if at > 0 && !b.hasFired() {
					missed.Add(1)
				}
				then(sent)
			})
		})
	}
	for _, o := range operations {
		start(o, fault{}, 0, func(sent []string) {
			t.Logf("%s: %v", o.name, sent)
			if len(sent) == 0 {
				t.Errorf("%s sends nothing", o.name)
			}
			for i := range sent {
				for _, f := range faults {
					start(o, f, i+1, func([]string) {})
				}
			}
		})
	}
	running.Wait()
	// An operation may need fewer commands than when it went well, when time or another one was
	// faster.
	t.Logf("%d cases, of which %d without their fault, in %v", number.Load(), missed.Load(), time.Since(begun).Round(time.Second))
	if 10*missed.Load() > number.Load() {
		t.Errorf("%d of %d cases went without their fault", missed.Load(), number.Load())
	}
}

// play runs an operation with its fault, and checks that the mesh recovers. It answers what the
// operation sent.
func (s *stage) play(o operation) []string {
	if !o.alone {
		s.startPeer()
	}
	o.prepare(s)
	s.boundary.arm(true)
	o.act(s)
	s.boundary.arm(false)
	s.state()
	if !s.boundary.fault.late {
		s.data.Release(s)
	}
	if o.alone {
		s.startPeer()
	}
	if s.ended != nil {
		_ = s.ended()
	}
	if s.w != nil && (s.other != nil || !s.boundary.isDead()) {
		s.goOn()
	}
	for _, m := range []*worqr.Mesh{s.victim, s.other} {
		if m != nil && (m == s.other || !s.boundary.isDead()) {
			if err := m.Close(); err != nil && !errors.Is(err, worqr.ErrLapsed) {
				s.Errorf("close: %v\n%s", err, s.story())
			}
		}
	}
	if s.boundary.fault.late {
		s.eventually("only the peer is registered", func(st *state) bool { return len(st.registered) == 1 })
		s.storeFor(s.lateSpan, "late1", "late2")
		s.data.Release(s)
	}
	s.startWork(s.p)
	s.eventually("all is worked off", func(st *state) bool {
		q := st.queues["q"]
		return len(st.registered) == 1 && len(q.members) == 1 && len(q.tasks)+len(q.tasksOf)+len(q.returning) == 0
	})
	s.eventually("every task is finished as often as it should be", func(*state) bool { return s.account() == "" })
	s.everybodyLeaves()
	s.nothingIsLeft()
	if wrong := s.account(); wrong != "" {
		s.Errorf("%s\n%s", wrong, s.story())
	}
	s.ordered()
	return s.boundary.sent()
}

// account compares what was finished with what was to be.
func (s *stage) account() string {
	finished := s.witness.of(s.ns)
	s.mu.Lock()
	defer s.mu.Unlock()
	for task, span := range s.tasks {
		if n := finished[task]; n < span.least || n > span.most {
			return fmt.Sprintf("task %s was finished %d times, want %d to %d", task, n, span.least, span.most)
		}
		if s.trues[task] > finished[task] {
			return fmt.Sprintf("Finish of task %s answered true %d times, and it was finished %d times", task, s.trues[task], finished[task])
		}
		delete(finished, task)
	}
	if len(finished) > 0 {
		return fmt.Sprintf("tasks that nobody enqueued: %v", finished)
	}
	return ""
}

// ordered checks that what came back to the front came in its order.
func (s *stage) ordered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lapsed {
		return
	}
	for _, order := range s.inOrder {
		last := -1
		for _, task := range s.runs {
			at := slices.Index(order, task)
			if at < 0 {
				continue
			}
			if at < last {
				s.Errorf("the peer ran %v, want the order %v", s.runs, order)
			}
			last = at
		}
	}
}

// nothingIsLeft checks the keys when everybody has left.
func (s *stage) nothingIsLeft() {
	s.Helper()
	st := s.state()
	q := st.queues["q"]
	if len(st.registered)+len(st.beating)+len(st.workmap)+len(st.info) > 0 ||
		len(q.tasks)+len(q.members)+len(q.returning)+len(q.idle)+len(q.tasksOf) > 0 {
		s.Errorf("left: %+v, queue %+v\n%s", *st, *q, s.story())
	}
	for _, key := range []string{"token", "closed", "cancels"} {
		ttl, err := redis.Int(s.conn.Do("PTTL", s.ns+":{q}:"+key))
		s.must(err)
		if ttl == -1 {
			s.Errorf("key %s has no end", key)
		}
	}
}
