package worqr

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/worqr/worqr-go/internal/wire"
)

// Reconciled counts what a Reconcile has done.
type Reconciled struct {
	Added    int // were not there
	Canceled int // were there and are not wanted: those in hand end now, or within a beat when the hint is lost
	Kept     int // were there, and nothing was done to them
}

// dropTasks is how many tasks are canceled in one step.
const dropTasks = 50

// Reconcile makes the persistent tasks of a queue equal to a list, in steps of at most 500 tasks:
// it adds what is missing, cancels what is not in the list, and leaves alone what stays, wherever
// it is on its way. The queue becomes one of persistent tasks, if it is a new one.
//
// Of several callers the one that began last prevails: the next step of an earlier one is refused
// with ErrSuperseded. What an earlier one has done by then stays done until the later one has come
// to it. Call it again after any error: it may stop half-way, and is the same when repeated.
//
// Errors: ErrInvalid for a task that is in the list twice, or above MaxTask, and a queue name that
// is refused: nothing was done then. ErrConfig when the queue holds one-shot tasks. ErrSuperseded,
// ErrRedisFull, ErrClosed, or what the connection answered.
func (m *Mesh) Reconcile(ctx context.Context, queue string, desired [][]byte) (Reconciled, error) {
	var result Reconciled
	wanted, err := m.wanted(queue, desired)
	if err == nil {
		err = m.reconcile(ctx, queue, desired, wanted, &result)
	}
	if err != nil {
		return result, failed(err, "reconcile queue %q", wire.Clip(queue))
	}
	return result, nil
}

// wanted checks the list and makes a set of it.
func (m *Mesh) wanted(queue string, desired [][]byte) (map[string]bool, error) {
	if err := m.usable(queue); err != nil {
		return nil, err
	}
	wanted := make(map[string]bool, len(desired))
	for i, task := range desired {
		if len(task) > m.cfg.MaxTask {
			return nil, fmt.Errorf("%w: task %d of %d has %d bytes, MaxTask is %d; nothing was done", ErrInvalid, i+1, len(desired), len(task), m.cfg.MaxTask)
		}
		if wanted[string(task)] {
			return nil, fmt.Errorf("%w: task %d of %d is in the list twice; nothing was done", ErrInvalid, i+1, len(desired))
		}
		wanted[string(task)] = true
	}
	return wanted, nil
}

func (m *Mesh) reconcile(ctx context.Context, queue string, desired [][]byte, wanted map[string]bool, result *Reconciled) error {
	if err := m.wire.Note(ctx, queue); err != nil {
		return err
	}
	calls := m.wire.Hold(queue)
	generation, err := calls.Generation(ctx)
	if err != nil {
		return err
	}
	for chunk := range chunks(desired, chunkTasks) {
		step, err := calls.Add(ctx, generation, chunk)
		if err != nil {
			if errors.Is(err, wire.ErrPlain) {
				err = ErrSuperseded
			}
			return err
		}
		result.Added += step.Added
		result.Kept += len(chunk) - step.Added
	}
	result.Canceled, err = dropOthers(ctx, calls, generation, wanted)
	return err
}

// dropOthers cancels what is present and not wanted, and returns how much that was.
func dropOthers(ctx context.Context, calls wire.Hold, generation string, wanted map[string]bool) (dropped int, err error) {
	extra := map[string]bool{} // a page may name a task twice
	for cursor := "0"; ; {
		page, err := calls.Present(ctx, cursor)
		if err != nil {
			return 0, err
		}
		for _, task := range page.Tasks {
			if !wanted[task] {
				extra[task] = true
			}
		}
		if cursor = page.Next; cursor == "0" {
			break
		}
	}
	for chunk := range slices.Chunk(slices.Sorted(maps.Keys(extra)), dropTasks) {
		n, err := calls.Drop(ctx, generation, chunk)
		dropped += n
		if err != nil {
			return dropped, err
		}
	}
	return dropped, nil
}

// chunks cuts a batch into what one step may store: so many tasks, and so many bytes of them.
func chunks(tasks [][]byte, most int) func(yield func([][]byte) bool) {
	return func(yield func([][]byte) bool) {
		for len(tasks) > 0 {
			n, bytes := 0, 0
			for n < most && n < len(tasks) && (n == 0 || bytes+len(tasks[n]) <= chunkBytes) {
				bytes += len(tasks[n])
				n++
			}
			if !yield(tasks[:n]) {
				return
			}
			tasks = tasks[n:]
		}
	}
}
