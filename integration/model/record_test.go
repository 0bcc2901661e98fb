package model

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/worqr"
)

const theQueue = "q"

// recorder writes down what the clients of one history do.
type recorder struct {
	ns    string
	began time.Time

	// One fail at a time: what two dead hold comes back in one order, merged by its tokens, and the
	// spec knows a fail as one step.
	failing sync.Mutex

	mu      sync.Mutex
	history []porcupine.Operation
	tasks   int
	owners  map[string]byte // by worker id, from 1
	taken   []*holding      // what any client may settle
	known   map[string]bool // process ids
	faults  []error         // what should not happen
	failed  map[string]bool // worker ids that were failed by hand
	stalled bool            // a worker has lapsed by itself: the history says nothing
}

// holding is a process that was taken.
type holding struct {
	p       *worqr.Process
	owner   byte
	stopped bool // somebody has called Stop
}

func (r *recorder) now() int64 { return time.Since(r.began).Nanoseconds() }

// add writes an operation down. One of unknown outcome has no end.
func (r *recorder) add(client int, from int64, c call, answer reply) {
	to := r.now()
	if answer.unknown {
		to = math.MaxInt64
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history = append(r.history, porcupine.Operation{ClientId: client, Input: c, Call: from, Output: answer, Return: to})
}

func (r *recorder) fault(what string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = append(r.faults, fmt.Errorf("%s: %w", what, err))
}

// lapsed is told of each lapse.
func (r *recorder) lapsed(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stalled = r.stalled || !r.failed[id]
}

// owner numbers the incarnations of workers.
func (r *recorder) owner(id string) byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	id, _, _ = strings.Cut(id, ".")
	if r.owners[id] == 0 {
		r.owners[id] = byte(len(r.owners) + 1)
	}
	return r.owners[id]
}

// fresh returns n new tasks, a byte each, as which they are stored too.
func (r *recorder) fresh(n int) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b []byte
	for range n {
		r.tasks++
		b = append(b, byte(r.tasks))
	}
	return string(b)
}

// client is one of those who work on the queue at the same time.
type client struct {
	t      testing.TB
	r      *recorder
	number int
	rand   *rand.Rand
	net    *network
	pool   *redis.Pool
	mesh   *worqr.Mesh
	cfg    worqr.WorkerConfig
	worker *worqr.Worker
	mortal bool // its worker may be failed by its id
	armed  bool // something befalls the present act
	done   bool // it does nothing more
}

// join starts a worker for the client.
func (c *client) join(ctx context.Context) error {
	w, err := c.mesh.NewWorker(c.cfg)
	if err == nil {
		err = w.Start(ctx)
	}
	if err == nil {
		err = w.StartWork(ctx, theQueue)
	}
	c.worker = w
	return err
}

// act does one thing at random.
func (c *client) act(ctx context.Context) {
	c.armed = c.rand.IntN(8) == 0
	if c.armed {
		c.net.arm(pick([]fault{lostAway, lostReply}, c.rand.IntN(2)))
		defer c.net.arm(none)
	}
	switch n := c.rand.IntN(100); {
	case n < 30:
		c.enqueue(ctx)
	case n < 62:
		c.take(ctx)
	case n < 90:
		c.settle(ctx)
	case n < 96:
		c.cancel(ctx)
	default:
		c.fail(ctx)
	}
}

func (c *client) enqueue(ctx context.Context) {
	tasks := c.r.fresh(1 + c.rand.IntN(2))
	raw := make([][]byte, len(tasks))
	for i := range raw {
		raw[i] = []byte(tasks[i : i+1])
	}
	from := c.r.now()
	err := c.mesh.Enqueue(ctx, theQueue, raw...)
	c.tell(err, "enqueue", func() { c.r.add(c.number, from, call{verb: enqueues, tasks: tasks}, reply{unknown: err != nil}) })
}

// tell calls record for a success or an unknown outcome, and notes any other error: nothing else
// can go wrong here.
func (c *client) tell(err error, what string, record func()) {
	if err != nil && !errors.Is(err, worqr.ErrUnknown) {
		c.r.fault(what, err)
		return
	}
	record()
}

func (c *client) take(ctx context.Context) {
	owner, from := c.r.owner(c.worker.ID()), c.r.now()
	p, err := c.worker.Take(ctx, theQueue)
	switch {
	case errors.Is(err, worqr.ErrEmpty):
		c.r.add(c.number, from, call{verb: takes, owner: owner}, reply{})
		return
	case errors.Is(err, worqr.ErrUnknown):
		// It may hold something under an owner of its own, until a look puts that back.
		c.r.add(c.number, from, call{verb: takes, owner: owner | lost}, reply{unknown: true})
		c.r.add(c.number, from, call{verb: fails, owner: owner | lost}, reply{unknown: true})
		c.done = true
		return
	case err != nil:
		c.r.fault("take", err)
		return
	}
	h := &holding{p: p, owner: c.r.owner(p.ID())}
	c.r.add(c.number, from, call{verb: takes, owner: h.owner}, reply{done: true, task: p.Task()[0], token: p.Token()})
	c.r.mu.Lock()
	defer c.r.mu.Unlock()
	c.r.taken = append(c.r.taken, h)
	c.r.known[p.ID()] = true
}

// lost marks the owner of what a take without an answer may hold.
const lost = 0x80

// settle finishes or stops what anybody has taken, at the same time perhaps as somebody else.
func (c *client) settle(ctx context.Context) {
	c.r.mu.Lock()
	if len(c.r.taken) == 0 {
		c.r.mu.Unlock()
		c.take(ctx)
		return
	}
	latest := c.r.taken[max(0, len(c.r.taken)-6):]
	h := pick(latest, c.rand.IntN(len(latest)))
	verb := pick([]verb{finishes, finishes, finishes, stops, rotates}, c.rand.IntN(5))
	h.stopped = h.stopped || verb != finishes
	c.r.mu.Unlock()

	in, from := call{verb: verb, owner: h.owner, tasks: string(h.p.Task())}, c.r.now()
	var done bool
	var err error
	switch verb {
	case finishes:
		done, err = h.p.Finish(ctx)
	case stops:
		err = h.p.Stop(ctx)
		done = err == nil
	default:
		err = h.p.StopToBack(ctx)
		done = err == nil
	}
	switch {
	case errors.Is(err, worqr.ErrUnknown):
		c.r.add(c.number, from, in, reply{unknown: true})
	case errors.Is(err, worqr.ErrLapsed), errors.Is(err, worqr.ErrFenced), errors.Is(err, worqr.ErrStopping), errors.Is(err, worqr.ErrGone):
		// It is another's now, and nothing was done: so the history has to be right without it.
	case errors.Is(err, worqr.ErrSettled), !done && c.r.asked(h):
		// Another outcome was asked for before. That one may still be under way, so this says
		// nothing of the queue.
	case err != nil:
		c.r.fault(string(verb), err)
	default:
		c.r.add(c.number, from, in, reply{done: done})
	}
}

// asked reports whether anybody has asked for something else than a finish.
func (r *recorder) asked(h *holding) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return h.stopped
}

func (c *client) cancel(ctx context.Context) {
	c.r.mu.Lock()
	n := c.r.tasks
	c.r.mu.Unlock()
	if n == 0 {
		return
	}
	task := string([]byte{byte(1 + c.rand.IntN(n))})
	from := c.r.now()
	found, err := c.mesh.Cancel(ctx, theQueue, []byte(task))
	c.tell(err, "cancel", func() {
		c.r.add(c.number, from, call{verb: cancels, tasks: task}, reply{
			unknown: err != nil, done: found.Waiting > 0, running: len(found.Running) > 0, open: c.armed,
		})
	})
}

// fail ends the client's worker: by itself, or by its id, and then waits until peers have put back
// what it held.
func (c *client) fail(ctx context.Context) {
	c.r.failing.Lock()
	defer c.r.failing.Unlock()
	id := c.worker.ID()
	in, from := call{verb: fails, owner: c.r.owner(id)}, c.r.now()
	if !c.mortal {
		if err := c.worker.Fail(ctx); err != nil {
			c.r.fault("fail", err)
			return
		}
		c.r.add(c.number, from, in, reply{})
		if err := c.join(ctx); err != nil {
			c.r.fault("join again", err)
		}
		return
	}
	c.r.mu.Lock()
	c.r.failed[id] = true
	c.r.mu.Unlock()
	if err := c.mesh.Fail(ctx, id); err != nil {
		c.r.fault("fail by id", err)
		return
	}
	err := c.await(ctx, func() (bool, error) {
		workers, err := c.mesh.Workers(ctx)
		gone := !slices.ContainsFunc(workers, func(w worqr.WorkerInfo) bool { return w.ID == id })
		return gone && c.worker.ID() != id, err
	})
	c.r.add(c.number, from, in, reply{})
	if err == nil {
		err = c.await(ctx, func() (bool, error) {
			queues, err := c.mesh.WorkingQueues(ctx, c.worker.ID())
			return len(queues) == 1, err
		})
	}
	if err != nil {
		c.r.fault("wait for the reclaim", err)
	}
}

func (c *client) await(ctx context.Context, fact func() (bool, error)) error {
	for {
		ok, err := fact()
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(5 * time.Millisecond):
		}
	}
}
