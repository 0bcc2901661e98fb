package worqr

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/gomodule/redigo/redis"
)

// Enqueue appends tasks to a queue, in their order. A task is any bytes, none at all too, stored as they are.
//
// The slices must not be changed before Enqueue returns, and after an error of ctx for as long as a write may take.
//
// Up to 500 tasks of together up to 1 MiB are stored in one step, all or none. A larger batch is stored in several; what
// stopped it half-way is a BatchError. When the connection fails after a step was sent, the error is ErrUnknown: the
// step is not sent again, as tasks would be stored twice.
//
// Errors: ErrInvalid for an empty batch, a queue name that is refused, or a task above MaxTask: nothing is stored then.
// ErrRedisFull, ErrUnknown, ErrWrongType, ErrClosed.
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
		return failed(err, "enqueue to queue %q", clip(queue))
	}
	return nil
}

// push stores one chunk. The list of queues has the queue before its first task, and again when the queue was found
// empty and unserved: a peer may have taken it off the list meanwhile.
func (m *Mesh) push(ctx context.Context, queue string, tasks [][]byte) error {
	m.mu.Lock()
	noted := m.noted[queue]
	m.mu.Unlock()
	if !noted {
		if err := m.note(ctx, queue); err != nil {
			return err
		}
	}
	args := make([]any, len(tasks))
	for i, task := range tasks {
		if task == nil {
			task = []byte{}
		}
		args[i] = task
	}
	answer, err := redis.Strings(m.queue(ctx, enqueueScript, queue, args...))
	if errors.Is(err, ErrUnknown) || err == nil && answer[1] == "1" && noted {
		// Noted again now, or by the next enqueue: only a listing misses the queue meanwhile, so this is no failure.
		if m.note(ctx, queue) != nil {
			m.forgotten(queue)
		}
	}
	return err
}

func (m *Mesh) note(ctx context.Context, queue string) error {
	if _, err := m.mesh(ctx, noteScript, queue); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.noted) >= mostNoted {
		clear(m.noted) // noting once more does no harm
	}
	m.noted[queue] = true
	return nil
}

func (m *Mesh) forgotten(queue string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.noted, queue)
}

// Cancelled is what Cancel found.
type Cancelled struct {
	Waiting int           // copies that waited and were removed; fewer when an answer was lost and asked for again
	Running []ProcessInfo // copies in hand: their contexts end with cause ErrCanceled, and they never come back
}

// Cancel ends every copy of a task in a queue, wherever it is. A stored mark comes first: a copy that a worker holds
// and hands back, or leaves behind by its death, is dropped. Holders are told by an event; one that missed it learns of
// it within a beat for each queue that it serves. Copies enqueued afterwards are new tasks.
//
// Cost: removing waiting copies takes about 10 ms per million waiting tasks, in one step.
// Errors: ErrInvalid, ErrUnknown, ErrWrongType, ErrClosed. With an error, Cancelled tells what is known.
func (m *Mesh) Cancel(ctx context.Context, queue string, task []byte) (Cancelled, error) {
	var c Cancelled
	answer, err := m.mark(ctx, queue, cancelScript, task)
	if err == nil {
		c.Waiting = int(answer[0])
		c.Running, err = m.holders(ctx, queue, fingerprint(task), answer[1])
	}
	if err != nil {
		return c, failed(err, "cancel in queue %q", clip(queue))
	}
	return c, nil
}

// DeleteQueue removes the tasks that wait in a queue and answers how many (0 when the answer was lost and asked for again). What is in hand goes on, and does not come
// back when it is stopped or its worker dies. A new Enqueue makes the queue again.
// Errors: ErrInvalid, ErrUnknown, ErrWrongType, ErrClosed.
func (m *Mesh) DeleteQueue(ctx context.Context, queue string) (int, error) {
	answer, err := m.mark(ctx, queue, deleteScript)
	if err != nil {
		return 0, failed(err, "delete queue %q", clip(queue))
	}
	_ = m.unlist(ctx, queue) // it is deleted; the rota takes it off the list otherwise
	return int(answer[0]), nil
}

// unlist takes a queue off the list, if it is empty and unserved.
func (m *Mesh) unlist(ctx context.Context, queue string) error {
	notes, err := redis.String(m.read(ctx, "HGET", m.keys.mesh()+":mesh", "notes"))
	if err != nil && !errors.Is(err, redis.ErrNil) {
		return err
	}
	_, tidy, err := m.inspect(ctx, queue, cmp.Or(notes, "0"))
	if err != nil {
		return err
	}
	return tidy()
}

// inspect reads who is in a queue, and answers what tidies it then: cancel marks that concern nobody go, and so does the
// queue from the list when it is empty and unserved, unless a queue was noted or served since notes was read.
func (m *Mesh) inspect(ctx context.Context, queue, notes string) (r roll, tidy func() error, err error) {
	if r, err = m.roll(ctx, queue); err != nil {
		return r, nil, err
	}
	return r, func() error {
		if r.marks == 0 && (r.waiting > 0 || len(r.members) > 0) {
			return nil
		}
		trimmed, err := redis.Ints(m.queue(ctx, trimScript, queue, r.oldest))
		if err == nil && trimmed[1] == 1 {
			_, err = m.mesh(ctx, forgetScript, queue, notes)
		}
		return err
	}, nil
}

// mark runs cancel or delete. Both carry the newest token from before their first copy, by which a late copy of them is
// known.
func (m *Mesh) mark(ctx context.Context, queue string, s *script, args ...any) ([]int64, error) {
	if err := m.usable(queue); err != nil {
		return nil, err
	}
	newest, err := redis.String(m.queue(ctx, newestScript, queue))
	if err != nil {
		return nil, err
	}
	for i, arg := range args {
		if task, ok := arg.([]byte); ok && task == nil {
			args[i] = []byte{}
		}
	}
	return redis.Int64s(m.queue(ctx, s, queue, append(args, newest)...))
}

// Fail ends a worker by its id, from anywhere. It is told and stops; its processes go to peers as soon as it cannot
// trust its last heartbeat any more.
// Errors: ErrGone when no such worker is registered, ErrClosed.
func (m *Mesh) Fail(ctx context.Context, worker string) error {
	err := m.ctx.Err()
	if err != nil {
		err = ErrClosed
	}
	var n int
	if err == nil {
		n, err = redis.Int(m.mesh(ctx, failScript, worker))
	}
	if err == nil && n == 0 {
		err = ErrGone
	}
	if err != nil {
		return failed(err, "fail worker %q", clip(worker))
	}
	return nil
}
