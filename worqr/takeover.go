package worqr

import (
	"context"
	"fmt"

	"github.com/worqr/worqr-go/internal/wire"
)

// Takeover is what lets a peer take over the tasks of a worker that died. Where nothing else is
// said, it is Fast for one-shot tasks, which are delivered at least once anyway, and Strict for
// persistent ones.
type Takeover int

const (
	_              Takeover = iota
	TakeoverStrict          // its lapse: no two hold a task
	TakeoverFast            // also the end of its process, as the server sees it: within about half a second; see the package's words
)

func (t Takeover) check() error {
	if t < 0 || t > TakeoverFast {
		return fmt.Errorf("Takeover: %d is neither Strict nor Fast", t)
	}
	return nil
}

// fast reports whether peers may take over from a worker that is not present.
func (q Queue) fast() bool { return q.Takeover == TakeoverFast || q.Takeover == 0 && !q.Persistent }

// queue is how a queue is served, also one that was not configured.
func (c *WorkerConfig) queue(name string) Queue {
	if q, ok := c.Queues[name]; ok {
		return q
	}
	return Queue{Takeover: c.Takeover}
}

// String returns the name of the mode.
func (t Takeover) String() string {
	switch t {
	case TakeoverStrict:
		return "Strict"
	case TakeoverFast:
		return "Fast"
	default:
		return fmt.Sprintf("Takeover(%d)", int(t))
	}
}

// Takeover returns what lets peers take over now what this worker holds of a queue. Where Fast is
// asked for, it is Strict until the server sees this worker's presence connection: for a moment
// after the start, for longer behind a proxy that hides it and in a cluster. It becomes Fast by
// itself as soon as the server sees it.
//
// Errors: ErrNotStarted, ErrNotWorking, ErrClosed; ErrLapsed and ErrFenced while the queue is
// opened again.
func (w *Worker) Takeover(queue string) (Takeover, error) {
	m, err := w.open(queue)
	if err != nil {
		return 0, failed(err, "takeover of queue %q", wire.Clip(queue))
	}
	if m.allowed.Load() {
		return TakeoverFast, nil
	}
	return TakeoverStrict, nil
}

// open returns the present membership of a queue.
func (w *Worker) open(queue string) (*membership, error) {
	w.mu.Lock()
	state, st := w.state, w.stations[queue]
	w.mu.Unlock()
	switch {
	case state == unstarted || state == starting:
		return nil, ErrNotStarted
	case state == stopping:
		return nil, ErrClosed
	case st == nil || !st.serving() || st.membership() == nil:
		return nil, ErrNotWorking
	}
	m := st.membership()
	return m, context.Cause(m.ctx)
}
