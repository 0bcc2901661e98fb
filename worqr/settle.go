package worqr

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"
)

// outbox holds the processes whose outcome is to be sent. One settler sends them, as many in one command as have come
// together while the last command was under way.
type outbox struct {
	mu     sync.Mutex
	queue  []*Process
	closed error         // why nothing is accepted any more
	filled chan struct{} // a flag
}

func newOutbox() *outbox { return &outbox{filled: make(chan struct{}, 1)} }

// add takes a process in, or answers why not.
func (o *outbox) add(p *Process) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed != nil {
		return o.closed
	}
	o.queue = append(o.queue, p)
	signal(o.filled)
	return nil
}

// next takes up to a chunk out.
func (o *outbox) next() []*Process {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := min(len(o.queue), chunkTasks)
	batch := o.queue[:n:n]
	o.queue = o.queue[n:]
	if len(o.queue) == 0 {
		o.queue = nil // lets go of the array
	}
	return batch
}

// close refuses what comes from now on, for this reason, and answers what was not taken out.
func (o *outbox) close(why error) []*Process {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed == nil {
		o.closed = why
	}
	rest := o.queue
	o.queue = nil
	return rest
}

// send hands a process to the settler.
func (m *membership) send(p *Process) {
	if err := m.outbox.add(p); err != nil {
		m.finished(p, "", err)
	}
}

// settler sends outcomes until ctx ends, which is after the last handler has returned, or until this membership ends.
// A batch that was not answered is sent again: a process that is gone then was settled by the first copy.
func (m *membership) settler(ctx context.Context) {
	defer close(m.sent)
	var batch []*Process
	for pause := time.Duration(0); ; {
		if len(batch) == 0 {
			batch = m.outbox.next()
		}
		if len(batch) == 0 {
			select {
			case <-m.outbox.filled:
				continue
			case <-ctx.Done():
			case <-m.ctx.Done():
			}
			if batch = m.outbox.next(); len(batch) == 0 || m.ended() {
				break
			}
		}
		if !m.ended() && !m.life.lease.Valid() {
			m.life.lapse(nil) // time is up, and the timer has not said so yet
		}
		if m.ended() {
			break
		}
		if m.settle(batch) {
			batch, pause = nil, 0
			continue
		}
		pause = min(max(2*pause, 50*time.Millisecond), time.Second)
		if sleep(m.ctx, jitter(pause)) != nil {
			break
		}
	}
	why := context.Cause(m.ctx)
	if why == nil {
		why = ErrStopping
	}
	for _, p := range append(batch, m.outbox.close(why)...) {
		err := why
		if p.unsure {
			err = fmt.Errorf("%w: %w", ErrUnknown, why)
		}
		m.finished(p, "", err)
	}
}

// settle sends one batch and answers whether it was answered.
func (m *membership) settle(batch []*Process) bool {
	args := make([]any, 0, 1+3*len(batch))
	args = append(args, m.id)
	for _, p := range batch {
		args = append(args, p.number, p.token, string(p.asked()))
	}
	reply, repeated, err := m.life.w.mesh.queueTold(m.ctx, settleScript, m.station.name, args...)
	words, err := redis.Strings(reply, err)
	for _, p := range batch {
		p.unsure = p.unsure || repeated
	}
	switch {
	case errors.Is(err, ErrFenced):
		m.fenced()
		for _, p := range batch {
			why := context.Cause(m.ctx)
			if p.unsure {
				why = fmt.Errorf("%w: %w", ErrUnknown, why)
			}
			m.finished(p, "", why)
		}
		return true
	case err != nil:
		m.life.w.hooks.error(failed(err, "settle %d processes of queue %q", len(batch), m.station.name))
		if refusal(err) {
			for _, p := range batch {
				p.refused(err)
			}
		}
		return false
	}
	for i, p := range batch {
		result := outcome(words[i])
		if result == gone && p.unsure {
			result = done
		}
		m.finished(p, result, nil)
	}
	return true
}

// returnedAll takes what was put back with the membership out of the books.
func (m *membership) returnedAll() {
	for _, p := range m.processes() {
		if first, _ := p.claim(returned); first {
			m.finished(p, done, nil)
		}
	}
}

// finished takes a process out of the books and tells what became of it.
func (m *membership) finished(p *Process, result outcome, err error) {
	m.mu.Lock()
	delete(m.inHand, p.number)
	m.mu.Unlock()
	p.conclude(result, err)
}
