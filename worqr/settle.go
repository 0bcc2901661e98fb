package worqr

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
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
		m.finished("", err, p)
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
		m.finished("", err, p)
	}
}

// settlement is what settle.lua is told: runs of processes with one outcome.
type settlement struct {
	text  []byte
	first *Process // of the run that is being made
	count int64
	what  outcome
}

// add names a process, in the last run when it goes on there.
func (s *settlement) add(p *Process, what outcome) {
	if s.count > 0 && what == s.what && p.number == s.first.number+s.count && p.token == s.first.token+s.count {
		s.count++
		return
	}
	s.end()
	s.first, s.count, s.what = p, 1, what
}

// end writes the last run.
func (s *settlement) end() {
	if s.count == 0 {
		return
	}
	for _, n := range [...]int64{s.first.number, s.first.token, s.count} {
		s.text = append(strconv.AppendInt(s.text, n, 10), ' ')
	}
	s.text = append(append(s.text, s.what...), ' ')
	s.first, s.count = nil, 0
}

// sorted puts what is finished first and in the order of its numbers, so that runs are long. What is put back stays in its
// order, as single runs: at the front the last one named comes first.
func sorted(batch []*Process) {
	slices.SortStableFunc(batch, func(a, b *Process) int {
		switch aDone, bDone := a.asked() == finish, b.asked() == finish; {
		case aDone && bDone:
			return cmp.Compare(a.number, b.number)
		case aDone:
			return -1
		case bDone:
			return 1
		}
		return 0
	})
}

// settle sends one batch and answers whether it was answered.
func (m *membership) settle(batch []*Process) bool {
	sorted(batch)
	m.named.text = m.named.text[:0] // free again: the command before was answered
	for _, p := range batch {
		what := p.asked()
		m.named.add(p, what)
		if what != finish {
			m.named.end()
		}
	}
	m.named.end()
	reply, repeated, err := m.life.w.mesh.queueTold(m.ctx, settleScript, m.station.name, m.id, m.named.text)
	if repeated || err != nil {
		m.named.text = nil // a copy may still be written
	}
	words, err := redis.String(reply, err)
	if err == nil && (words == "" || strings.Count(words, " ") != len(batch)-1) {
		err = fmt.Errorf("an answer that cannot be read: %d outcomes for %d processes", strings.Count(words, " ")+1, len(batch))
	}
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
			m.finished("", why, p)
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
	m.forget(batch...)
	for _, p := range batch {
		var word string
		word, words, _ = strings.Cut(words, " ")
		result := outcome(word)
		if result == gone && p.unsure {
			result = done
		}
		p.conclude(result, nil)
	}
	return true
}

// returnedAll takes what was put back with the membership out of the books.
func (m *membership) returnedAll() {
	for _, p := range m.processes() {
		if first, _ := p.claim(returned); first {
			m.finished(done, nil, p)
		}
	}
}

// finished takes a process out of the books and tells what became of it.
func (m *membership) finished(result outcome, err error, p *Process) {
	m.forget(p)
	p.conclude(result, err)
}

// forget takes processes out of the books.
func (m *membership) forget(processes ...*Process) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range processes {
		delete(m.inHand, p.number)
	}
}
