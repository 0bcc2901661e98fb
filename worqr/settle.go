package worqr

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/worqr/worqr-go/internal/wire"
)

// settler sends outcomes until ctx ends, which is after the last handler has returned, or until
// this membership ends. A batch that was not answered is sent again: a process that is gone then
// was settled by the first copy.
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
		m.finished("", p.unknown(why), p)
	}
}

// settle sends one batch and reports whether a reply came.
func (m *membership) settle(batch []*Process) bool {
	if m.station.hold != nil {
		if err := m.keepCheckpoints(m.ctx, batch); err != nil {
			m.life.w.hooks.error(err)
			return false // both are tried again: what is given away is to have its last checkpoint
		}
	}
	m.text = named(m.text[:0], batch) // free again: the command before was answered
	words, repeated, err := m.station.wire.Settle(m.ctx, m.id, m.text)
	if repeated || err != nil {
		m.text = nil // a copy may still be written
	}
	delayed := m.station.hold != nil && slices.ContainsFunc(batch, func(p *Process) bool { return p.asked() == later })
	if err = m.settled(batch, repeated, words, err); err == nil {
		if delayed {
			signal(m.poke) // a take tells when the next one is due
		}
		return true
	}
	if errors.Is(err, ErrFenced) {
		m.fenced()
		for _, p := range batch {
			m.finished("", p.unknown(context.Cause(m.ctx)), p)
		}
		return true
	}
	m.life.w.hooks.error(failed(err, "settle %d processes of queue %q", len(batch), m.station.name))
	if wire.Lasts(err) {
		for _, p := range batch {
			p.refused(err)
		}
	}
	return false
}

// settledAlong is settled for what went with a take. Without an answer it is the settler's again.
func (m *membership) settledAlong(batch []*Process, repeated bool, words wire.Outcomes, err error) error {
	if len(batch) == 0 {
		return err
	}
	err = m.settled(batch, repeated, words, err)
	if err != nil {
		if closed := m.outbox.restore(batch); closed != nil {
			for _, p := range batch {
				m.finished("", p.unknown(closed), p)
			}
		}
	}
	return err
}

// settled enters what became of a batch, if a reply came.
func (m *membership) settled(batch []*Process, repeated bool, words wire.Outcomes, err error) error {
	if err == nil && words.Len() != len(batch) {
		err = fmt.Errorf("%w: an answer that cannot be read: %d outcomes for %d processes", ErrUnknown, words.Len(), len(batch))
	}
	for _, p := range batch {
		p.unsure = p.unsure || repeated || errors.Is(err, ErrUnknown)
	}
	if err != nil {
		return err
	}
	m.forget(batch...)
	for _, p := range batch {
		p.record(p.became(outcome(words.Next())), nil)
	}
	m.life.w.hooks.settle(batch...)
	return nil
}

// became is what the answer to settle says of a process: its word "done" says that what was asked
// for has taken place.
func (p *Process) became(word outcome) outcome {
	if word != done && (word != gone || !p.unsure) {
		return word
	}
	switch p.asked() { // what is gone by now was settled by an earlier copy
	case finish:
		return done
	case cancel:
		return canceled
	}
	return returned
}

// returnedAll takes what was put back with the membership out of the books.
func (m *membership) returnedAll() {
	for _, p := range m.processes() {
		if first, _ := p.claim(returned); first {
			m.finished(returned, nil, p)
		}
	}
}

// finished takes a process out of the books and settles what became of it.
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
