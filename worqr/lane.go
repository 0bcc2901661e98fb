package worqr

import (
	"context"
	"sync"

	"github.com/worqr/worqr-go/internal/wire"
)

// lane is the way of tasks into one queue. What several callers enqueue before the writer comes to
// it goes in one command, so the batch grows with the load, and a lone task waits for nobody.
type lane struct {
	cmd  commander
	head wire.BatchHead

	noted      bool // the queue is in the list of queues; this and the next are guarded by the mesh's mu
	persistent bool // its tasks are: they are added another way

	mu   sync.Mutex
	open *parcel // gathers; nil: none
	idle sync.Pool
}

func newLane(cmd commander, head wire.BatchHead) *lane {
	return &lane{cmd: cmd, head: head, idle: sync.Pool{New: func() any { return &entry{done: make(chan struct{}, 1)} }}}
}

// parcel, a pipeline.Request, is one enqueue of the tasks of several callers: of each all or none,
// as the script stores all or none.
type parcel struct {
	lane    *lane
	entries []*entry
	tasks   int
	bytes   int
	written bool // no more can be added, or withdrawn; guarded by the lane's mu

	batch   wire.Batch
	callers int
}

// entry is what one caller puts into a parcel.
type entry struct {
	tasks [][]byte
	left  bool          // its caller has gone before it was written; guarded by the lane's mu
	done  chan struct{} // one token: it was answered

	fresh bool // it is for this caller to note the queue again
	sent  bool
	err   error
}

// send stores tasks, at most as many as one command may have. fresh asks the caller to note the
// queue again. sent reports with an error whether they may have been stored.
func (l *lane) send(ctx context.Context, tasks [][]byte) (fresh, sent bool, err error) {
	if ctx.Err() != nil {
		return false, false, context.Cause(ctx)
	}
	bytes := 0
	for _, task := range tasks {
		bytes += len(task)
	}
	e := l.idle.Get().(*entry)
	e.tasks = tasks
	l.mu.Lock()
	p := l.open
	alone := p == nil || p.tasks+len(tasks) > chunkTasks || p.bytes+bytes > chunkBytes
	if alone {
		p = &parcel{lane: l}
		l.open = p
	}
	p.entries = append(p.entries, e)
	p.tasks += len(tasks)
	p.bytes += bytes
	l.mu.Unlock()
	if alone {
		l.cmd.post(p)
	}
	select {
	case <-e.done:
		fresh, sent, err = e.fresh, e.sent, e.err
		*e = entry{done: e.done}
		l.idle.Put(e) // nobody else has it any more
		return fresh, sent, err
	case <-ctx.Done():
		l.mu.Lock()
		defer l.mu.Unlock()
		e.left = true
		return false, p.written, context.Cause(ctx)
	}
}

// Command closes the parcel.
func (p *parcel) Command() (string, []any, int) {
	p.lane.mu.Lock()
	defer p.lane.mu.Unlock()
	if p.written {
		return p.batch.Name, p.batch.Args, p.callers // again, by its source
	}
	p.written = true
	if p.lane.open == p {
		p.lane.open = nil
	}
	p.batch = p.lane.head.Begin(p.tasks)
	stay := p.entries[:0]
	for _, e := range p.entries {
		if e.left {
			continue
		}
		stay = append(stay, e)
		for _, task := range e.tasks {
			p.batch.Add(task)
		}
	}
	p.entries, p.callers = stay, len(stay)
	return p.batch.Name, p.batch.Args, p.callers
}

// Answered informs all callers.
func (p *parcel) Answered(reply any, sent bool, err error) {
	if p.batch.Again(err) {
		p.lane.cmd.post(p)
		return
	}
	var found wire.Enqueued
	if err == nil {
		found, err = wire.DecodeEnqueue(reply)
	}
	fresh := found.Note
	for _, e := range p.entries {
		e.fresh, e.sent, e.err = fresh, sent, err
		fresh = false // one of them is enough
		e.done <- struct{}{}
	}
}
