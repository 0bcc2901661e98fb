package model

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"pgregory.net/rapid"

	"github.com/worqr/worqr-go/worqr"
)

// world is where a sequence runs.
type world struct {
	url       string
	namespace string
	reach     func(ctx context.Context, network, address string) (net.Conn, error)
	worker    worqr.WorkerConfig
	virtual   bool          // time is at the test's command
	mortal    bool          // workers may die
	calm      time.Duration // how long nobody must have joined before persistent tasks move

	now    func() time.Time
	settle func()                                            // waits until nothing is under way
	pass   func(time.Duration)                               // lets time go by
	poll   func(within time.Duration, fact func() bool) bool // waits for a fact
	close  func()
}

// soon is how long a fact may take that should hold at once.
const soon = 20 * time.Second

// fleet is the real mesh beside its model.
type fleet struct {
	t       *rapid.T
	tally   *tally
	world   world
	model   *mesh
	eye     *eye
	client  *host   // enqueues, cancels and lists; its network never fails
	hosts   []*host // the workers that were started, in this order, the ended ones too
	all     []*host
	lives   map[*life]*host
	handles []*handle // of everything that was ever taken, the oldest first
	retired sync.WaitGroup
	born    int
	unique  int
	losing  fault                            // what the present step's commands meet
	aged    bool                             // time has passed since the last check
	equip   func(*host, *worqr.WorkerConfig) // nil: a worker takes by hand
}

// handle is a process as its holder has it.
type handle struct {
	real   *worqr.Process
	model  *process
	host   *host
	late   bool // it was first asked for when its worker had ended: no hook is called any more
	unsure bool // the reply that it was dropped was lost; the second one says only that it is gone
}

// queueNames share a slot, and differ in what must never be parsed.
var queueNames = []string{"q", "q/r", "q:tasks"}

// play runs a sequence in a world.
func play(t *rapid.T, w world, seen *tally, sequence []step) {
	f := newFleet(t, w, seen)
	defer f.close()
	f.run(sequence)
}

func newFleet(t *rapid.T, w world, seen *tally) *fleet {
	f := &fleet{t: t, world: w, tally: seen, model: newMesh(queueNames...), lives: map[*life]*host{}}
	f.client = f.newHost("client")
	f.eye = newEye(f)
	return f
}

// run runs a sequence. It begins with two workers on the same queues, so that the first steps have
// something to do.
func (f *fleet) run(sequence []step) {
	f.check("an empty mesh")
	for i := range 2 {
		f.startAnother(step{a: 4})
		f.startWork(step{a: i, b: 0})
		f.startWork(step{a: i, b: 1})
	}
	f.check("the first workers")
	for i, s := range sequence {
		for _, v := range verbs {
			if v.name == s.verb {
				v.do(f, s)
				f.tally.add(v.name, 1)
			}
		}
		f.check(fmt.Sprintf("step %d, %s", i+1, s.verb))
	}
	if len(sequence)%3 == 0 { // it costs as much as the sequence
		f.drain()
	}
}

// did writes down a step, for the log of a failure.
func (f *fleet) did(format string, args ...any) {
	f.t.Helper()
	f.t.Logf(f.world.now().Format("05.000 ")+format, args...)
}

// fatalf fails the sequence; unless the machine stood still for longer than a short lease lasts,
// which says nothing.
func (f *fleet) fatalf(format string, args ...any) {
	if !f.world.virtual && f.world.mortal && f.lost() != nil {
		f.tally.add(void, 1)
		f.t.Skipf("a worker lapsed: the machine is too slow for a lapse of %v", f.world.worker.Lapse)
	}
	f.t.Helper()
	for _, h := range f.hosts {
		h.mu.Lock()
		for _, text := range h.errs {
			f.t.Log(text)
		}
		h.mu.Unlock()
	}
	f.t.Fatalf(format, args...)
}

// within bounds a verb: nothing may wait longer than this.
func (f *fleet) within() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), time.Minute)
}

// until waits for a fact.
func (f *fleet) until(within time.Duration, what string, fact func() bool) {
	if !f.world.poll(within, fact) {
		f.fatalf("not within %v: %s", within, what)
	}
}

// running are the hosts whose worker runs.
func (f *fleet) running() (list []*host) {
	for _, h := range f.hosts {
		if h.running() {
			list = append(list, h)
		}
	}
	return list
}

// pick picks by a step's number.
func pick[T any](list []T, n int) T { return list[n%len(list)] }

func (f *fleet) queue(n int) *queue { return f.model.queues[pick(f.model.names, n)] }

// mine are the handles of what is in the hands of running workers and can be settled.
func (f *fleet) mine() (list []*handle) {
	for _, h := range f.handles {
		if h.host.running() && h.model.over == nil && h.model.asked == "" {
			list = append(list, h)
		}
	}
	return list
}
