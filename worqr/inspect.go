package worqr

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/worqr/worqr-go/internal/wire"
)

// ProcessInfo is a task in a worker's hands, as Redis has it.
type ProcessInfo struct {
	ID, Queue, Worker string
	Token             int64 // rises with each take from the queue
	Task              []byte
}

// WorkerInfo is a registered worker.
type WorkerInfo struct {
	ID       string
	Host     string
	PID      int
	Version  string // of the Go module that it was built from, or "" when unknown
	Started  time.Time
	Capacity int
	Labels   map[string]string
	Alive    bool          // it has a heartbeat
	Left     time.Duration // what its heartbeat has to live without a beat; 0 when it has none
}

// Queues lists every queue in use, sorted: those with tasks, with workers, or used a short while
// ago.
//
// Errors: ErrClosed, ErrWrongType, or what the connection answered.
func (m *Mesh) Queues(ctx context.Context) ([]string, error) {
	names, err := m.wire.Queues(ctx)
	if err != nil {
		return nil, failed(err, "list queues")
	}
	return names, nil
}

// WorkingQueues lists the queues that a worker serves, sorted; none for one that is not registered.
//
// Errors: ErrClosed, ErrWrongType, or what the connection answered.
func (m *Mesh) WorkingQueues(ctx context.Context, worker string) ([]string, error) {
	names, err := m.wire.Workmap(ctx, worker)
	if err != nil {
		return nil, failed(err, "list the queues of worker %q", wire.Clip(worker))
	}
	return names, nil
}

// Workers lists the registered workers, the oldest first: those that beat, and lapsed ones that no
// peer has reclaimed yet. It reads in pages: who joins or leaves meanwhile may be missing.
//
// Errors: ErrClosed, ErrWrongType, or what the connection answered.
func (m *Mesh) Workers(ctx context.Context) ([]WorkerInfo, error) {
	workers := map[string]WorkerInfo{}
	for cursor := "0"; ; {
		page, err := m.wire.Roster(ctx, cursor)
		if err != nil {
			return nil, failed(err, "list workers")
		}
		for _, w := range page.Workers {
			workers[w.ID] = WorkerInfo{
				ID: w.ID, Host: w.Info.Host, PID: w.Info.PID, Version: w.Info.Version, Started: w.Started,
				Capacity: w.Info.Capacity, Labels: w.Info.Labels, Alive: w.Alive, Left: w.Left,
			}
		}
		if cursor = page.Next; cursor == "0" {
			break
		}
	}
	list := make([]WorkerInfo, 0, len(workers))
	for _, info := range workers {
		list = append(list, info)
	}
	slices.SortFunc(list, func(a, b WorkerInfo) int { return cmp.Compare(a.ID, b.ID) }) // UUIDv7: by time
	return list, nil
}

// Processes lists what is in hand of a queue, the oldest token first. It reads in pages, so what
// changes meanwhile may be missing or stale.
//
// Errors: ErrInvalid for a queue name that is refused; ErrClosed, ErrWrongType, or what the
// connection answered.
func (m *Mesh) Processes(ctx context.Context, queue string) ([]ProcessInfo, error) {
	err := m.usable(queue)
	var list []ProcessInfo
	if err == nil {
		list, err = m.holders(ctx, queue, "*", 1<<53)
	}
	if err != nil {
		return nil, failed(err, "list the processes of queue %q", wire.Clip(queue))
	}
	return list, nil
}

// holders lists processes with a token up to the given one: all for "*", else the copies of one
// task by fingerprint.
func (m *Mesh) holders(ctx context.Context, queue, fingerprint string, upTo int64) ([]ProcessInfo, error) {
	roll, err := m.roll(ctx, queue)
	if err != nil {
		return nil, err
	}
	var list []ProcessInfo
	for _, who := range roll.members {
		if who.Held == 0 {
			continue
		}
		held, err := m.held(ctx, queue, who.ID, fingerprint)
		if err != nil {
			return list, err
		}
		for _, p := range held {
			if p.Token <= upTo {
				list = append(list, p)
			}
		}
	}
	slices.SortFunc(list, func(a, b ProcessInfo) int { return cmp.Compare(a.Token, b.Token) })
	return list, nil
}

// held lists the processes of one membership: see held.lua for the fingerprint.
func (m *Mesh) held(ctx context.Context, queue, membership, fingerprint string) ([]ProcessInfo, error) {
	var list []ProcessInfo
	for after := "0"; ; {
		page, err := m.wire.Queue(queue).Held(ctx, membership, after, fingerprint)
		if err != nil {
			return nil, err
		}
		for _, row := range page.Rows {
			list = append(list, ProcessInfo{ID: row.Process, Queue: queue, Worker: wire.WorkerOf(membership), Token: row.Token, Task: row.Task})
		}
		if after = page.Next; after == "" {
			return list, nil
		}
	}
}

// roll is who is in a queue, and what waits there.
type roll struct {
	waiting, marks int
	oldest         int64 // the oldest token in hand; 0: none, or no marks that it could concern
	members        []wire.Member
}

func (m *Mesh) roll(ctx context.Context, queue string) (roll, error) {
	var r roll
	seen := map[string]bool{}
	for cursor := "0"; ; {
		page, err := m.wire.Queue(queue).Audit(ctx, cursor)
		if err != nil {
			return r, err
		}
		r.waiting, r.marks = page.Waiting, page.Marks
		if page.Oldest != 0 && (r.oldest == 0 || page.Oldest < r.oldest) {
			r.oldest = page.Oldest
		}
		for _, who := range page.Members {
			if !seen[who.ID] {
				seen[who.ID] = true
				r.members = append(r.members, who)
			}
		}
		if cursor = page.Next; cursor == "0" {
			return r, nil
		}
	}
}

// Len returns how many tasks wait in a queue; 0 for a queue that is not there.
//
// Errors: ErrInvalid for a queue name that is refused; ErrClosed, ErrWrongType, or what the
// connection answered.
func (m *Mesh) Len(ctx context.Context, queue string) (int, error) {
	err := m.usable(queue)
	n := 0
	if err == nil {
		n, err = m.wire.Queue(queue).Len(ctx)
	}
	if err != nil {
		return 0, failed(err, "count the tasks of queue %q", wire.Clip(queue))
	}
	return n, nil
}

// Peek returns the task that would be taken next, and leaves it there.
//
// Errors: ErrEmpty when none waits; else as Tasks.
func (m *Mesh) Peek(ctx context.Context, queue string) ([]byte, error) {
	tasks, err := m.Tasks(ctx, queue, 0, 1)
	if err == nil && len(tasks) == 0 {
		err = failed(ErrEmpty, "peek at queue %q", wire.Clip(queue))
	}
	if err != nil {
		return nil, err
	}
	return tasks[0], nil
}

// Tasks lists up to limit waiting tasks, beginning offset tasks behind the front, in the order in
// which they will be taken. A page far behind the front of a long queue costs Redis time in
// proportion.
//
// Errors: ErrInvalid for a negative offset or limit and a queue name that is refused; ErrClosed,
// ErrWrongType, or what the connection answered.
func (m *Mesh) Tasks(ctx context.Context, queue string, offset, limit int) ([][]byte, error) {
	err := m.usable(queue)
	if err == nil && (offset < 0 || limit < 0) {
		err = fmt.Errorf("%w: offset %d, limit %d: neither may be below 0", ErrInvalid, offset, limit)
	}
	var tasks [][]byte
	if err == nil && limit > 0 {
		tasks, err = m.wire.Queue(queue).Tasks(ctx, offset, limit)
	}
	if err != nil {
		return nil, failed(err, "list the tasks of queue %q", wire.Clip(queue))
	}
	return tasks, nil
}
