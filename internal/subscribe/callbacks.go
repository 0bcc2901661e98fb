package subscribe

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/worqr/worqr-go/events"
)

// logEvery is how often one callback's drops, or malformed payloads, are logged at most.
const logEvery = 5 * time.Second

// handler is one registration: a hint, which the reader calls itself, or a callback with a bounded
// buffer and, while events wait in it, a goroutine.
type handler struct {
	fn    func(events.Event)
	hint  bool
	kinds uint64 // a bit per Kind: what it wants of the channels it is registered for
	limit int    // of queue

	mu      sync.Mutex
	queue   []events.Event // waiting, the oldest first
	busy    bool           // a goroutine empties queue
	stopped bool
	began   time.Time // when the call in progress began
	lost    loss      // dropped since the last line about it
	logged  time.Time // when that line was written
}

// loss counts what was dropped, for the log.
type loss struct {
	events int
	queue  string // of the newest one
	kind   events.Kind
	took   time.Duration // how long the call in progress had been running then
}

// bits returns kinds as a set, a bit for each.
func bits(kinds []events.Kind) (b uint64) {
	for _, k := range kinds {
		b |= 1 << k
	}
	return b
}

// stop keeps new calls from beginning. It does not wait for one in progress.
func (h *handler) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopped = true
	h.queue = nil
}

// deliver calls h with e if it is a hint, or else queues e for it. Only a hint can block it. ctx is
// Run's.
func (l *Listener) deliver(ctx context.Context, h *handler, e events.Event) {
	if h.kinds&(1<<e.Kind) == 0 {
		return
	}
	h.mu.Lock()
	switch {
	case h.stopped:
		h.mu.Unlock()
	case h.hint:
		h.mu.Unlock()
		l.call(h, e)
	case len(h.queue) >= h.limit:
		h.lost = loss{h.lost.events + 1, e.Queue, e.Kind, h.running()}
		lost := h.takeLost()
		h.mu.Unlock()
		l.dropped.Add(1)
		l.logLost(h, lost)
	default:
		h.queue = append(h.queue, e)
		start := !h.busy
		h.busy = true
		h.mu.Unlock()
		if start {
			l.callbacks.Add(1)
			go l.drain(ctx, h)
		}
	}
}

// drain calls h with all that waits, then ends. There is never more than one for a handler, so the
// calls are in order.
func (l *Listener) drain(ctx context.Context, h *handler) {
	defer l.callbacks.Done()
	emptied := false
	defer func() {
		// A callback that calls runtime.Goexit (as t.FailNow does) takes this goroutine with it,
		// but not the events behind it.
		if !emptied {
			l.callbacks.Add(1)
			go l.drain(ctx, h)
		}
	}()
	for {
		e, ok := h.next(ctx)
		if !ok {
			break
		}
		l.call(h, e)
	}
	emptied = true
	h.mu.Lock()
	lost := h.takeLost()
	h.mu.Unlock()
	l.logLost(h, lost)
}

// next takes the oldest event. It reports whether there is one; without one the drain ends.
func (h *handler) next(ctx context.Context) (events.Event, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if ctx.Err() != nil || h.stopped {
		h.queue = nil
	}
	if len(h.queue) == 0 {
		h.queue = nil
		h.busy = false
		return events.Event{}, false
	}
	e := h.queue[0]
	h.queue[0] = events.Event{} // let go of the task
	h.queue = h.queue[1:]
	h.began = time.Now()
	return e, true
}

// running returns how long the call in progress has been running. The caller holds mu.
func (h *handler) running() time.Duration {
	if h.began.IsZero() {
		return 0
	}
	return time.Since(h.began)
}

// takeLost takes what is to be logged: nothing when it is not yet time for a line. The caller holds
// mu.
func (h *handler) takeLost() loss {
	if h.lost.events == 0 || (!h.logged.IsZero() && time.Since(h.logged) < logEvery) {
		return loss{}
	}
	lost := h.lost
	h.lost, h.logged = loss{}, time.Now()
	return lost
}

// logLost writes a line about what was dropped, if anything was.
func (l *Listener) logLost(h *handler, lost loss) {
	if lost.events == 0 {
		return
	}
	l.cfg.Logger.Warn().Str("queue", lost.queue).Str("kind", word(lost.kind)).
		Int("dropped", lost.events).Int("buffer", h.limit).Dur("callback_running", lost.took).
		Msg("events: a callback is too slow for its events, some were dropped")
}

// call calls h. A panic of it is logged and goes no further.
func (l *Listener) call(h *handler, e events.Event) {
	defer func() {
		if r := recover(); r != nil {
			l.cfg.Logger.Error().Str("queue", e.Queue).Str("kind", word(e.Kind)).
				Str("panic", fmt.Sprint(r)).Bytes("stack", debug.Stack()).
				Msg("events: a callback panicked")
		}
	}()
	h.fn(e)
}
