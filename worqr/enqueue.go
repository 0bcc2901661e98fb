package worqr

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/worqr/worqr-go/internal/wire"
)

// Enqueue appends tasks to a queue, in their order. A task is any bytes, none at all too, stored as
// they are.
//
// The slices must not be changed before Enqueue returns, and after an error of ctx for as long as a
// write may take.
//
// Up to 500 tasks of together up to 1 MiB are stored in one step, all or none. A larger batch is
// stored in several; what stopped it half-way is a BatchError. What callers enqueue to one queue at
// the same time shares commands. When the connection fails after a step was sent, the error is
// ErrUnknown: the step is not sent again, as tasks would be stored twice.
//
// Errors: ErrInvalid for an empty batch, a queue name that is refused, or a task above MaxTask:
// nothing is stored then. ErrRedisFull, ErrUnknown, ErrWrongType, ErrClosed.
func (m *Mesh) Enqueue(ctx context.Context, queue string, tasks ...[]byte) error {
	err := m.usable(queue)
	if err == nil && len(tasks) == 0 {
		err = fmt.Errorf("%w: the batch is empty", ErrInvalid)
	}
	for i, task := range tasks {
		if err == nil && len(task) > m.cfg.MaxTask {
			err = fmt.Errorf("%w: task %d of %d has %d bytes, MaxTask is %d; nothing was stored", ErrInvalid, i+1, len(tasks), len(task), m.cfg.MaxTask)
		}
	}
	for done := 0; err == nil && done < len(tasks); {
		n, bytes := 0, 0
		for n < chunkTasks && done+n < len(tasks) && (n == 0 || bytes+len(tasks[done+n]) <= chunkBytes) {
			bytes += len(tasks[done+n])
			n++
		}
		if err = m.push(ctx, queue, tasks[done:done+n]); err != nil && done > 0 {
			err = &BatchError{Accepted: done, Err: err}
		}
		done += n
	}
	if err != nil {
		return failed(err, "enqueue to queue %q", wire.Clip(queue))
	}
	return nil
}

// EnqueueSeq appends the tasks of a sequence, in their order, as they come: any number of them, of
// which one step of at most 500 tasks and 1 MiB is held in memory. A step is sent when it is full
// and when the sequence ends, so a sequence that waits holds back what it gave before. Its slices
// are copied: it may use a buffer again.
//
// It returns how many tasks were stored. Each step is stored all or none, as by Enqueue. What
// stopped it half-way is a BatchError: of the step after the accepted ones nothing is stored, or
// with ErrUnknown all or none. An empty sequence is no error.
//
// Errors: as Enqueue; a task above MaxTask ends it, with what came before stored.
func (m *Mesh) EnqueueSeq(ctx context.Context, queue string, tasks iter.Seq[[]byte]) (accepted int, err error) {
	err = m.usable(queue)
	var chunk [][]byte
	var buffer []byte
	flush := func() {
		if err == nil && len(chunk) > 0 {
			if err = m.push(ctx, queue, chunk); err == nil {
				accepted += len(chunk)
			}
			chunk, buffer = chunk[:0], buffer[:0]
		}
	}
	if err == nil {
		for task := range tasks {
			if len(chunk) == chunkTasks || len(chunk) > 0 && len(buffer)+len(task) > chunkBytes {
				flush()
			}
			if err != nil {
				break
			}
			if len(task) > m.cfg.MaxTask {
				flush()
				if err == nil {
					err = fmt.Errorf("%w: task %d has %d bytes, MaxTask is %d; it and what follows was not stored", ErrInvalid, accepted+1, len(task), m.cfg.MaxTask)
				}
				break
			}
			begin := len(buffer)
			buffer = append(buffer, task...) // when it moves, the tasks before keep where they are
			chunk = append(chunk, buffer[begin:len(buffer):len(buffer)])
		}
		flush()
	}
	if err != nil && accepted > 0 {
		err = &BatchError{Accepted: accepted, Err: err}
	}
	if err != nil {
		return accepted, failed(err, "enqueue to queue %q", wire.Clip(queue))
	}
	return accepted, nil
}

// push stores one chunk. The list of queues has the queue before its first task, and again when the
// queue was found empty and unserved: a peer may have taken it off the list meanwhile.
func (m *Mesh) push(ctx context.Context, queue string, tasks [][]byte) error {
	l, noted, err := m.lane(ctx, queue)
	if err == nil && !noted {
		err = m.note(ctx, queue, l)
	}
	if err != nil {
		return err
	}
	fresh, persistent := false, m.persistent(l)
	if !persistent {
		_, _, err = m.cmd.try(ctx, true, func(bool) (_ any, sent bool, err error) {
			fresh, sent, err = l.send(ctx, tasks)
			return nil, sent, err
		})
		persistent = errors.Is(err, wire.ErrPersistent)
	}
	if persistent {
		var added wire.Added
		added, err = m.wire.Hold(queue).Add(ctx, "", tasks)
		fresh = added.Note
		m.setPersistent(l, !errors.Is(err, wire.ErrPlain))
		if errors.Is(err, wire.ErrPlain) { // not any more: it was empty for a day
			return m.push(ctx, queue, tasks)
		}
	}
	if errors.Is(err, ErrUnknown) || err == nil && fresh && noted {
		// Noted again now, or by the next enqueue: only a listing misses the queue meanwhile, so
		// this is no failure.
		if m.note(ctx, queue, l) != nil {
			m.setNoted(l, false)
		}
	}
	return err
}

// lane finds the lane of a queue, or makes it. noted is that this client has put the queue into
// the list of queues.
func (m *Mesh) lane(ctx context.Context, queue string) (l *lane, noted bool, err error) {
	m.mu.Lock()
	if l = m.lanes[queue]; l != nil {
		defer m.mu.Unlock()
		return l, l.noted, nil
	}
	m.mu.Unlock()
	head, err := m.wire.Queue(queue).Enqueue(ctx)
	if err != nil {
		return nil, false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if l = m.lanes[queue]; l == nil { // nobody was faster
		if len(m.lanes) >= mostLanes {
			clear(m.lanes) // one more lane of a queue, and noting it once more, does no harm
		}
		l = newLane(m.cmd, head)
		m.lanes[queue] = l
	}
	return l, l.noted, nil
}

func (m *Mesh) note(ctx context.Context, queue string, l *lane) error {
	if err := m.wire.Note(ctx, queue); err != nil {
		return err
	}
	m.setNoted(l, true)
	return nil
}

func (m *Mesh) setNoted(l *lane, noted bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l.noted = noted
}

// persistent reports whether the queue was last met as one of persistent tasks.
func (m *Mesh) persistent(l *lane) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return l.persistent
}

func (m *Mesh) setPersistent(l *lane, persistent bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l.persistent = persistent
}
