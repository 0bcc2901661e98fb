package worqr

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/worqr/worqr-go/internal/wire"
)

// Canceled is what Cancel found.
type Canceled struct {
	Waiting int           // copies that waited and were removed; fewer when an answer was lost and asked for again
	Running []ProcessInfo // copies in hand at the mark: their contexts end with cause ErrCanceled, and they never come back
}

// Cancel ends every copy of a task in a queue, wherever it is. A stored mark comes first: a copy
// that a worker holds and hands back, or leaves behind by its death, is dropped. Holders are told
// by an event; one that missed it learns of it within a beat for each queue that it serves. Copies
// enqueued afterwards are new tasks.
//
// Running names every copy in hand, by the same step that stores the mark. Where a queue of
// one-shot tasks has more than 2,000 processes in hand, or 500 members, they are listed in pages
// before holders are told: one that ends meanwhile may be missing then, and also when an answer was
// lost and asked for again.
//
// Cost: removing waiting copies takes about 10 ms per million waiting tasks, in one step.
// Errors: ErrInvalid, ErrUnknown, ErrWrongType, ErrClosed. With an error, Canceled has what is
// known.
func (m *Mesh) Cancel(ctx context.Context, queue string, task []byte) (Canceled, error) {
	var c Canceled
	ticket, err := m.ticket(ctx, queue)
	if err == nil {
		c, err = m.canceled(ctx, queue, task, ticket)
	}
	if err != nil {
		return c, failed(err, "cancel in queue %q", wire.Clip(queue))
	}
	return c, nil
}

func (m *Mesh) canceled(ctx context.Context, queue string, task []byte, ticket int64) (c Canceled, err error) {
	calls := m.wire.Queue(queue)
	found, err := calls.Cancel(ctx, task, ticket)
	if err != nil {
		return c, err
	}
	c.Waiting = found.Waiting
	if !found.Named {
		if c.Running, err = m.holders(ctx, queue, wire.Fingerprint(task), found.Mark); err == nil {
			err = calls.Tell(ctx, task, found.Mark)
		}
		return c, err
	}
	for _, p := range found.Copies {
		c.Running = append(c.Running, ProcessInfo{ID: p.Process, Queue: queue, Worker: wire.WorkerOf(p.Process), Token: p.Token, Task: bytes.Clone(task)})
	}
	slices.SortFunc(c.Running, func(a, b ProcessInfo) int { return cmp.Compare(a.Token, b.Token) })
	return c, nil
}

// DeleteQueue removes the tasks that wait in a queue and returns how many (0 when the answer was
// lost and asked for again). What is in hand goes on, and does not come back when it is stopped or
// its worker dies. A new Enqueue makes the queue again.
// Errors: ErrInvalid, ErrUnknown, ErrWrongType, ErrClosed.
func (m *Mesh) DeleteQueue(ctx context.Context, queue string) (int, error) {
	ticket, err := m.ticket(ctx, queue)
	var found wire.Deleted
	if err == nil {
		found, err = m.wire.Queue(queue).Delete(ctx, ticket)
	}
	if err != nil {
		return 0, failed(err, "delete queue %q", wire.Clip(queue))
	}
	_ = m.unlist(ctx, queue) // it is deleted; the rota takes it off the list otherwise
	return found.Waiting, nil
}

// unlist takes a queue off the list, if it is empty and unserved.
func (m *Mesh) unlist(ctx context.Context, queue string) error {
	notes, err := m.wire.Notes(ctx)
	if err != nil {
		return err
	}
	_, tidy, err := m.inspect(ctx, queue, notes)
	if err != nil {
		return err
	}
	return tidy()
}

// inspect reads who is in a queue, and returns what tidies it then: cancel marks that concern
// nobody go, and so does the queue from the list when it is empty and unserved, unless a queue was
// noted or served since notes was read.
func (m *Mesh) inspect(ctx context.Context, queue, notes string) (r roll, tidy func() error, err error) {
	if r, err = m.roll(ctx, queue); err != nil {
		return r, nil, err
	}
	return r, func() error {
		if r.marks == 0 && (r.waiting > 0 || len(r.members) > 0) {
			return nil
		}
		empty, err := m.wire.Queue(queue).Trim(ctx, r.oldest)
		if err == nil && empty {
			err = m.wire.Forget(ctx, queue, notes)
		}
		return err
	}, nil
}

// ticket is what a cancel or a delete carries from before its first copy, by which a late copy of
// it is known.
func (m *Mesh) ticket(ctx context.Context, queue string) (int64, error) {
	if err := m.usable(queue); err != nil {
		return 0, err
	}
	return m.wire.Queue(queue).Newest(ctx)
}

// Fail ends a worker by its id, from anywhere. It is told and stops; its processes go to peers as
// soon as it cannot trust its last heartbeat any more.
// Errors: ErrGone when no such worker is registered, ErrClosed.
func (m *Mesh) Fail(ctx context.Context, worker string) error {
	registered, err := m.wire.Fail(ctx, worker)
	if err == nil && !registered {
		err = ErrGone
	}
	if err != nil {
		return failed(err, "fail worker %q", wire.Clip(worker))
	}
	return nil
}
