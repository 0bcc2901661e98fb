package worqr

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/worqr/worqr-go/internal/wire"
)

// While handlers return quickly, tasks are taken ahead of the slots, as many as the limit, but 16
// at the least and 64 at the most: so a slot need not wait for a round trip.
const (
	quickHandler  = time.Millisecond // of a handler that returns quickly
	quickRow      = 32               // so many of them in a row
	aheadLeast    = 16
	aheadMost     = 64
	aheadPatience = 10 * time.Millisecond // when no slot was free for so long, what was taken ahead goes back
)

// With a limit above this a take does not settle: two commands in one flush are better then, as the
// first is answered while Redis runs the second.
const alongMost = 16

// station is a queue as this daemon serves it, over all its incarnations. The slots are the
// daemon's: a handler keeps its slot until it returns, also when its worker has lapsed meanwhile,
// so the limit holds across lapses.
type station struct {
	name    string
	wire    wire.Queue
	handler Handler  // nil: tasks are taken by Worker.Take
	limit   int      // 0: none, of persistent tasks
	hold    *keeping // nil: one-shot tasks
	fast    bool     // peers may take over as soon as its worker is not present

	opening chan struct{} // holds one token while a membership is made or ended

	mu      sync.Mutex
	open    *membership // the present one, also when it has ended
	serve   bool        // StartWork was called, and StopWork was not since
	refused error       // by the mesh, since StartWork was called
	drained bool        // Worker.Drain was called, and StopWork was not since: nothing falls to it
	free    []*slot
	made    int           // slots, also those in use: one is made when it is first needed
	ahead   []*Process    // in hand, and no slot is free for them
	freed   chan struct{} // a flag

	quick  atomic.Int32 // handlers in a row that returned quickly
	runner runner
}

// slot lets one handler run.
type slot struct{ failures int }

func newStation(mesh *wire.Mesh, name string, q Queue) *station {
	st := &station{name: name, wire: mesh.Queue(name), handler: q.Handler, limit: q.Limit, fast: q.fast(), opening: make(chan struct{}, 1), freed: make(chan struct{}, 1)}
	if q.Persistent {
		st.hold = newKeeping(mesh.Hold(name), q.Hold)
		st.wire = st.hold.wire.Queue
	}
	return st
}

// alone waits until nobody else makes or ends a membership. What drains holds that until its
// handlers return, for a whole grace perhaps, or until it lapses.
func (st *station) alone(ctx context.Context) (done func(), err error) {
	select {
	case st.opening <- struct{}{}:
		return func() { <-st.opening }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// room returns for how many tasks there is room, up to a chunk: in slots, and ahead of them when
// half of that is empty.
func (st *station) room() int {
	st.mu.Lock()
	defer st.mu.Unlock()
	n := chunkTasks
	if st.limit > 0 {
		n = st.limit - st.made + len(st.free)
	}
	if st.hold != nil {
		return min(n, chunkTasks)
	}
	most := min(max(st.limit, aheadLeast), aheadMost)
	if ahead := most - len(st.ahead); st.quick.Load() >= quickRow && 2*ahead >= most {
		n += ahead
	}
	return min(n, chunkTasks)
}

// deliver takes processes in. With run, each runs as soon as a slot is free for it.
func (st *station) deliver(processes []*Process, run bool) {
	if len(processes) == 0 {
		return
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	st.ahead = append(st.ahead, processes...)
	if run {
		st.start()
	}
}

// giveBack frees a slot.
func (st *station) giveBack(s *slot) {
	st.mu.Lock()
	st.free = append(st.free, s)
	st.start()
	st.mu.Unlock()
	signal(st.freed)
}

// start has the processes run for which a slot is free. The caller has mu.
func (st *station) start() {
	for len(st.free) < len(st.ahead) && (st.limit == 0 || st.made < st.limit) {
		st.free = append(st.free, &slot{})
		st.made++
	}
	n := min(len(st.free), len(st.ahead))
	if n == 0 {
		return
	}
	for i, p := range st.ahead[:n] {
		p.of.running.Add(1)
		st.runner.add(job{p, st.free[len(st.free)-1-i]})
	}
	st.free = st.free[:len(st.free)-n]
	if st.ahead = st.ahead[n:]; len(st.ahead) == 0 {
		st.ahead = nil
	}
}

func (st *station) hasAhead() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return len(st.ahead) > 0
}

// took counts the handlers in a row that returned quickly.
func (st *station) took(d time.Duration) {
	if d > quickHandler || st.hold != nil {
		st.quick.Store(0)
	} else if st.quick.Load() < quickRow {
		st.quick.Add(1)
	}
}

// dropAhead takes out what no slot was free for, and has nothing more taken ahead for some time.
func (st *station) dropAhead() []*Process {
	st.mu.Lock()
	defer st.mu.Unlock()
	list := st.ahead
	if len(list) > 0 {
		st.quick.Store(0)
	}
	st.ahead = nil
	return list
}

func (st *station) membership() *membership {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.open
}

// refuse has the queue not be opened again until the next StartWork.
func (st *station) refuse(why error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.serve, st.refused = false, why
}

// unserved returns why the queue is not to be opened, or nil.
func (st *station) unserved() error {
	st.mu.Lock()
	defer st.mu.Unlock()
	switch {
	case st.serve:
		return nil
	case st.refused != nil:
		return st.refused
	}
	return errOvertaken
}

func (st *station) serving() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.serve
}
