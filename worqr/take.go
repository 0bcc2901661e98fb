package worqr

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/worqr/worqr-go/internal/wire"
)

// take brings up to count tasks from the front of the queue. What is settled goes in the same
// command, with along. The caller has the turn.
//
// Numbers whose take was not answered are asked for again, as many as before: whatever copy ran,
// they answer the same.
func (m *membership) take(ctx context.Context, count int, park wire.Parking, along bool) ([]*Process, error) {
	for {
		repeat := m.pending > 0
		if repeat {
			count = m.pending
		}
		m.mu.Lock()
		m.taking = true
		m.mu.Unlock()
		begun := time.Now()
		request := wire.Take{Member: m.id, First: m.next, Count: count, Park: park}
		var settling []*Process
		if along {
			settling = m.outbox.fresh()
		}
		if len(settling) > 0 {
			request.Settle = named(nil, settling)
		}
		taken, repeated, err := m.station.wire.Take(ctx, request)
		err = m.settledAlong(settling, repeated, taken.Settled, err)
		processes, err := m.answered(taken, err)
		switch {
		case errors.Is(err, ErrFenced):
			m.fenced()
			return nil, err
		case errors.Is(err, ErrUnknown):
			m.pending, m.stray = count, true
			m.life.lookSoon(m)
			return nil, err
		case err != nil:
			return nil, err
		case taken.Help:
			if err := giveWay(ctx, begun); err != nil {
				m.pending = count // what the numbers hold comes again
				return nil, err
			}
			continue
		}
		m.next += int64(count)
		m.pending = 0
		if repeat && len(processes) == 0 {
			continue // the numbers are used up, and what they held was put back
		}
		if !m.life.lease.Valid() { // the answer may have waited while all of this was frozen
			m.life.lapse(nil)
			m.giveBack(processes)
			return nil, context.Cause(m.life.ctx)
		}
		if err := context.Cause(m.ctx); err != nil {
			m.giveBack(processes)
			return nil, err
		}
		return processes, nil
	}
}

// answered enters what a take brought into the books, and applies the cancels that were heard
// meanwhile.
func (m *membership) answered(taken wire.Taken, err error) ([]*Process, error) {
	processes := m.unpack(taken)
	m.mu.Lock()
	defer m.mu.Unlock()
	hints := m.hints
	m.taking, m.hints = false, nil
	if err != nil {
		return nil, err
	}
	for _, p := range processes {
		m.seen = min(m.seen, p.token) // of a take that is repeated: a look may have passed over marks that concern it
		m.inHand[p.number] = p
		for _, e := range hints {
			p.canceledBy(e)
		}
	}
	if taken.Newest > m.seen {
		m.life.lookSoon(m)
	}
	m.behind = behind{taken.More, taken.Due}
	return processes, nil
}

// unpack makes processes of what a take brought.
func (m *membership) unpack(taken wire.Taken) []*Process {
	processes := make([]*Process, len(taken.Rows))
	now := time.Now()
	for i, row := range taken.Rows {
		processes[i] = &Process{of: m, number: row.Number, token: row.Token, task: row.Task, taken: now}
	}
	for i, past := range taken.Pasts {
		processes[i].past = Past{Reason(past.Why), past.Token, past.Checkpoint}
	}
	return processes
}

// giveBack returns what a take brought and nobody here is to work on. The caller has the turn.
func (m *membership) giveBack(processes []*Process) {
	var mine []*Process
	m.mu.Lock()
	for _, p := range processes {
		if first, _ := p.claim(returned); first { // else the settler, or who closes, concludes it
			delete(m.inHand, p.number)
			mine = append(mine, p)
		}
	}
	m.mu.Unlock()
	ctx, cancel := fresh(time.Second)
	defer cancel()
	result, err := returned, m.putFront(ctx, mine)
	if err != nil {
		result, m.stray = "", true
		m.life.w.hooks.error(err)
	}
	for _, p := range mine {
		p.record(result, err)
	}
	m.life.w.hooks.settle(mine...)
}

// putFront settles processes as if they had never been taken: the first of them is at the front.
func (m *membership) putFront(ctx context.Context, processes []*Process) error {
	for chunk := range slices.Chunk(processes, chunkTasks) {
		var text []byte
		for _, p := range slices.Backward(chunk) { // the last named is taken first
			text = wire.AppendRun(text, wire.Run{Number: p.number, Token: p.token, Count: 1}, wire.Outcome(m.undone()))
		}
		if _, _, err := m.station.wire.Settle(ctx, m.id, text); err != nil {
			return failed(err, "put back processes of queue %q", m.station.name)
		}
	}
	return nil
}
