package worqr

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/worqr/worqr-go/internal/wire"
)

// MaxCheckpoint is how many bytes a checkpoint may have.
const MaxCheckpoint = 64 << 10

// checkpointBytes is how much of them one command carries, about.
const checkpointBytes = 1 << 20

// Checkpoint keeps data for the next holder of this persistent task, which finds it in
// Process.Past. The newest counts; it is written with the worker's next beat, at most once a beat
// for all that the worker holds, and before the task is handed over or given back; when the worker
// dies before that, the next holder finds an earlier one. It is removed with the task. The slice is
// copied.
//
// Errors: ErrInvalid above MaxCheckpoint bytes, or when the task is not persistent; the cause of
// the process's context when that has ended; the cause of ctx.
func (p *Process) Checkpoint(ctx context.Context, data []byte) error {
	err := context.Cause(ctx)
	switch {
	case p.of.station.hold == nil:
		err = fmt.Errorf("%w: only persistent tasks have checkpoints", ErrInvalid)
	case len(data) > MaxCheckpoint:
		err = fmt.Errorf("%w: %d bytes, a checkpoint has %d at most", ErrInvalid, len(data), MaxCheckpoint)
	case err == nil && p.lostNow():
		err = p.ended()
	}
	if err != nil {
		return failed(err, "checkpoint of process %s of queue %q", p.ID(), p.Queue())
	}
	m := p.of
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dirty == nil {
		m.dirty = map[int64]*Process{}
	}
	p.mark++
	p.checkpoint = append([]byte{}, data...)
	m.dirty[p.number] = p
	return nil
}

// lostNow reports whether the process is settled, or may be another worker's. One that moves may
// still write.
func (p *Process) lostNow() bool {
	_ = p.Context().Err() // reads the clocks
	cause := p.ended()
	return lost(cause) || errors.Is(cause, ErrSettled) || errors.Is(cause, ErrCanceled)
}

// checkpointNote is one checkpoint that is to be written.
type checkpointNote struct {
	p    *Process
	mark int64
	data []byte
}

// keepCheckpoints writes what has changed since the last time: of all processes, or of those named.
// What was not written is tried again, unless there is a newer one by then.
func (m *membership) keepCheckpoints(ctx context.Context, only []*Process) error {
	select {
	case m.keeping <- struct{}{}: // who gives a task away waits for a write of its checkpoint that is under way
	case <-ctx.Done():
		return failed(context.Cause(ctx), "keep checkpoints of queue %q", m.station.name)
	}
	defer func() { <-m.keeping }()
	m.mu.Lock()
	var notes []checkpointNote
	for number, p := range m.dirty {
		if only == nil || slices.Contains(only, p) {
			notes = append(notes, checkpointNote{p, p.mark, p.checkpoint})
			delete(m.dirty, number)
		}
	}
	m.mu.Unlock()
	for len(notes) > 0 {
		n, bytes := 0, 0
		var list []wire.Checkpoint
		for n < len(notes) && n < chunkTasks/4 && (n == 0 || bytes+len(notes[n].data) <= checkpointBytes) {
			list = append(list, wire.Checkpoint{Number: notes[n].p.number, Token: notes[n].p.token, Before: notes[n].mark, Data: notes[n].data})
			bytes += len(notes[n].data)
			n++
		}
		if _, err := m.station.hold.wire.Keep(ctx, m.id, list); err != nil {
			if errors.Is(err, ErrFenced) {
				m.fenced()
				return nil
			}
			m.mu.Lock()
			for _, c := range notes {
				m.dirty[c.p.number] = c.p // also what is not in hand any more: it may return with all the rest
			}
			m.mu.Unlock()
			return failed(err, "keep %d checkpoints of queue %q", len(notes), m.station.name)
		}
		notes = notes[n:]
	}
	return nil
}
