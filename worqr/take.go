package worqr

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

// take brings up to count tasks from the front of the queue. What is settled goes in the same
// command, with along. The caller has the turn.
//
// Numbers whose take was not answered are asked for again, as many as before: whatever copy ran,
// they answer the same.
func (m *membership) take(ctx context.Context, count int, park parking, along bool) ([]*Process, error) {
	for {
		repeat := m.pending > 0
		if repeat {
			count = m.pending
		}
		m.mu.Lock()
		m.taking = true
		m.mu.Unlock()
		begun := time.Now()
		args := append(make([]any, 0, 5), m.id, m.next, count, string(park))
		var settling []*Process
		if along {
			settling = m.outbox.fresh()
		}
		if len(settling) > 0 {
			args = append(args, named(nil, settling))
		}
		reply, repeated, err := m.life.w.mesh.queueTold(ctx, m.script(takeScript, holdTakeScript), m.station.name, args...)
		answer, err := redis.Values(reply, err)
		answer, err = m.settledAlong(settling, repeated, answer, err)
		processes, help, err := m.answered(answer, err)
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
		case help:
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
func (m *membership) answered(answer []any, err error) (processes []*Process, help bool, _ error) {
	var newest int64
	var state, runs string
	if err == nil {
		answer, err = redis.Scan(answer, &newest, &state, &runs)
	}
	var rows []string
	var due time.Duration
	if err == nil && m.station.hold != nil {
		answer, rows, due, err = unpackHolds(answer)
	}
	if err == nil {
		processes, err = m.unpack(runs, answer)
	}
	for i := range rows {
		if err == nil {
			processes[i].past, err = parsePast(rows[i])
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	hints := m.hints
	m.taking, m.hints = false, nil
	if err != nil {
		return nil, false, err
	}
	for _, p := range processes {
		m.seen = min(m.seen, p.token) // of a take that is repeated: a look may have passed over marks that concern it
		m.inHand[p.number] = p
		for _, e := range hints {
			p.cancelledBy(e)
		}
	}
	if newest > m.seen {
		m.life.lookSoon(m)
	}
	m.behind = behind{state == "MORE", due}
	return processes, state == "HELP", nil
}

// unpack makes processes of tasks, which have numbers and tokens in runs: see take.lua.
func (m *membership) unpack(runs string, tasks []any) ([]*Process, error) {
	processes := make([]*Process, 0, len(tasks))
	now := time.Now()
	for runs != "" && len(processes) < len(tasks) {
		var run [3]int64 // number, token, count
		for i := range run {
			var word string
			word, runs, _ = strings.Cut(runs, " ")
			n, err := strconv.ParseInt(word, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("an answer that cannot be read: %w", err)
			}
			run[i] = n
		}
		for i := range run[2] {
			if len(processes) == len(tasks) {
				return nil, errors.New("an answer that cannot be read: it names more processes than tasks")
			}
			task, err := redis.Bytes(tasks[len(processes)], nil)
			if err != nil {
				return nil, fmt.Errorf("an answer that cannot be read: %w", err)
			}
			processes = append(processes, &Process{of: m, number: run[0] + i, token: run[1] + i, task: task, taken: now})
		}
	}
	if len(processes) < len(tasks) {
		return nil, errors.New("an answer that cannot be read: it names fewer processes than tasks")
	}
	return processes, nil
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
			text = run(text, p, 1, m.undone())
		}
		if _, err := m.life.w.mesh.queue(ctx, m.script(settleScript, holdSettleScript), m.station.name, m.id, text); err != nil {
			return failed(err, "put back processes of queue %q", m.station.name)
		}
	}
	return nil
}
