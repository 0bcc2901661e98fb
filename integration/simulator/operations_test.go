package simulator

import (
	"slices"

	"github.com/worqr/worqr-go/internal/redistest"
)

// operation is one thing that a process does, of which each command can go wrong.
type operation struct {
	name    string
	ignored []string // commands that go on in the background
	gate    string   // a command that is kept back until the operation begins
	alone   bool     // the healthy peer comes afterwards only
	after   string   // when it takes longer, more comes before this command: of that the first few count
	prepare func(s *stage)
	act     func(s *stage)
}

// Commands that a worker sends all the time, and INFO with each dial.
var (
	background = []string{"beat", "PING", "INFO", "CLIENT", "SUBSCRIBE", "UNSUBSCRIBE"}
	quiet      = append(slices.Clone(background), "look", "sweep")
	pings      = []string{"PING", "INFO"}
)

var operations = []operation{
	{name: "Enqueue", ignored: pings, prepare: func(*stage) {}, act: func(s *stage) {
		s.tryStore("e1")
		s.tryStore("e2", "e3")
	}},
	{name: "Take", ignored: quiet, prepare: func(s *stage) {
		s.store("t1", "t2", "t3")
		s.serve()
	}, act: func(s *stage) {
		for range 2 {
			if p, err := s.w.Take(s.life, "q"); err == nil {
				s.hand = append(s.hand, p)
			}
		}
	}},
	{name: "Finish", ignored: quiet, prepare: holdsTwo, act: func(s *stage) {
		for _, p := range s.hand {
			if !s.finish(p) {
				s.Errorf("the first Finish of %q answered false", p.Task())
			}
		}
	}},
	// An error of these is allowed: what counts is what becomes of the tasks.
	{name: "Stop", ignored: quiet, prepare: holdsTwo, act: func(s *stage) {
		_ = s.hand[0].Stop(s.life)
		_ = s.hand[1].Stop(s.life)
	}},
	{name: "StopToBack", ignored: quiet, prepare: holdsTwo, act: func(s *stage) {
		_ = s.hand[0].StopToBack(s.life)
		_ = s.hand[1].StopToBack(s.life)
	}},
	{name: "Start", ignored: []string{"beat", "look", "sweep", "PING"}, prepare: func(s *stage) {
		s.store("t1")
		s.stand()
	}, act: func(s *stage) {
		for range 3 { // it can be started again
			if s.w.Start(s.life) == nil {
				break
			}
		}
	}},
	{name: "StartWork", ignored: quiet, prepare: func(s *stage) {
		s.store("t1", "t2")
		s.stand()
		s.start(s.w)
	}, act: func(s *stage) {
		_ = s.w.StartWork(s.life, "q") // an error leaves it to the worker
	}},
	{name: "StopWork", ignored: quiet, prepare: func(s *stage) {
		holdsTwo(s)
		s.comesBack(s.hand...)
	}, act: func(s *stage) {
		_ = s.w.StopWork(s.life, "q")
	}},
	{name: "StopWork and StartWork", ignored: quiet, prepare: holdsTwo, act: func(s *stage) {
		_ = s.w.StopWork(s.life, "q")
		_ = s.w.StartWork(s.life, "q")
	}},
	{name: "Fail of itself", ignored: quiet, prepare: func(s *stage) {
		holdsTwo(s)
		s.comesBack(s.hand...)
	}, act: func(s *stage) {
		_ = s.w.Fail(s.life)
	}},
	{name: "Fail of another", ignored: pings, prepare: func(s *stage) {
		s.store("t1", "t2", "t3")
		s.another()
		s.take(s.w, 2)
	}, act: func(s *stage) {
		_ = s.victim.Fail(s.life, s.w.ID())
	}},
	{name: "Cancel", ignored: pings, prepare: func(s *stage) {
		s.store("t1", "c", "t2", "c")
		s.another()
		s.take(s.w, 2)
	}, act: cancels},
	{name: "DeleteQueue", ignored: pings, prepare: func(s *stage) {
		s.store("t1", "t2", "t3")
		s.another()
		s.take(s.w, 1)
	}, act: deletes},
	{name: "DeleteQueue without workers", ignored: pings, prepare: func(s *stage) {
		s.store("t1", "t2", "t3")
	}, act: deletes},
	{name: "Run", ignored: quiet, prepare: func(s *stage) {
		s.store("t1", "t2", "t3")
	}, act: func(s *stage) {
		s.run(s.oneFails())
		s.eventually("all is done", func(*state) bool { return len(s.witness.of(s.ns)) == 3 || s.boundary.isDead() })
	}},
	{name: "the drain of Run", ignored: quiet, prepare: func(s *stage) {
		s.store("t1", "t2", "t3")
		s.run(untilStopped)
		s.eventually("two handlers run", func(st *state) bool { return len(st.queues["q"].tasksOf) == 2 })
	}, act: func(s *stage) {
		_ = s.ended() // peers return what it could not
	}},
	{name: "a look that puts back", ignored: append(slices.Clone(background), "sweep"), gate: "look", prepare: func(s *stage) {
		s.store("t1", "t2")
		s.serve()
		s.loseTake()
	}, act: func(s *stage) {
		s.eventually("the unknown process is put back", func(st *state) bool {
			return len(st.queues["q"].tasksOf) == 0 || s.boundary.isDead()
		})
	}},
	{name: "a lapse and a new life", ignored: append(slices.Clone(background), "sweep", "look"), prepare: func(s *stage) {
		holdsTwo(s)
		s.comesBack(s.hand...)
	}, act: func(s *stage) {
		id := s.w.ID()
		s.data.Freeze(redistest.Both)
		redistest.Eventually(s, soon, "it lapses", func() bool { return !s.w.Alive() })
		s.data.Thaw()
		redistest.Eventually(s, soon, "it lives again", func() bool {
			return s.w.ID() != id && s.w.Alive() || s.boundary.isDead()
		})
	}},
	{name: "a reclaim", ignored: append(slices.Clone(background), "look"), gate: "sweep", alone: true, after: "HGET", prepare: func(s *stage) {
		s.store("t1", "t2", "t3", "t4", "t5")
		s.supervises()
		s.deadWith(4)
	}, act: func(s *stage) {
		s.eventually("all of the dead one is returned", func(st *state) bool {
			return len(st.queues["q"].tasks) == 5 && len(st.registered) == 1 || s.boundary.isDead()
		})
	}},
	{name: "a turn of the rota", ignored: append(slices.Clone(background), "look"), gate: "sweep", alone: true, prepare: func(s *stage) {
		s.store("t1", "t2", "t3")
		s.supervises()
		s.orphan(2)
	}, act: func(s *stage) {
		s.eventually("the orphan is returned", func(st *state) bool {
			return len(st.queues["q"].members) == 0 || s.boundary.isDead()
		})
	}},
	{name: "a turn of the rota at an empty queue", ignored: append(slices.Clone(background), "look"), gate: "sweep", alone: true, prepare: func(s *stage) {
		s.empty()
		s.supervises()
	}, act: func(s *stage) {
		s.eventually("the queue is forgotten", func(st *state) bool { return !st.listed["q"] || s.boundary.isDead() })
	}},
	{name: "the reading verbs", ignored: pings, prepare: func(s *stage) {
		s.store("t1", "t2", "t3")
		s.another()
		s.take(s.w, 2)
	}, act: reads},
}
