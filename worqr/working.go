package worqr

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/worqr/worqr-go/events"
	"github.com/worqr/worqr-go/internal/subscribe"
	"github.com/worqr/worqr-go/internal/wire"
)

// On calls fn with the events of a queue: tasks were added, canceled or finished, or the queue was
// deleted. The events come in order, on a goroutine of their own. It is also called with kind Work
// when the worker finds tasks waiting of which no event came: at StartWork, when the subscription
// was interrupted, and on a slow poll. Register it before StartWork. After stop no new call begins;
// the worker's end stops it too.
//
// Errors: ErrInvalid for a queue name that is refused and a nil fn; ErrClosed.
func (w *Worker) On(queue string, fn func(events.Event)) (stop func(), err error) {
	if err := w.mesh.usable(queue); err != nil {
		return nil, failed(err, "on")
	}
	if fn == nil {
		return nil, failed(fmt.Errorf("%w: the callback for queue %q is nil", ErrInvalid, wire.Clip(queue)), "on")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.state == stopping {
		return nil, failed(ErrClosed, "on")
	}
	r := w.mesh.listen().Register(queue, fn)
	w.callbacks[queue] = append(w.callbacks[queue], r)
	return func() { w.unregister(queue, r) }, nil
}

// unregister ends a registration of On.
func (w *Worker) unregister(queue string, r *subscribe.Registration) {
	r.Stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.callbacks == nil { // the worker has ended
		return
	}
	rest := slices.Clone(w.callbacks[queue]) // who goes through the old one holds no lock
	w.callbacks[queue] = slices.DeleteFunc(rest, func(other *subscribe.Registration) bool { return other == r })
}

// StartWork begins to serve a queue: with the handler that WorkerConfig.Queues has for it, or else
// by Take. Serving it already is no error. It lasts over lapses, until StopWork. When ctx ends
// while a StopWork of the same queue drains, or while Redis is away, or while the worker rests
// after it has lapsed again and again, that is the error, and the queue is served as soon as it can
// be.
// Errors: ErrNotStarted, ErrClosed, ErrInvalid; ErrStopping when a StopWork of the queue came
// meanwhile; ErrConfig when the queue is served as one of persistent tasks and this worker's is
// not, or the reverse: it is not served then; or what the connection answered.
func (w *Worker) StartWork(ctx context.Context, queue string) error {
	st, err := w.station(queue)
	if err == nil {
		st.mu.Lock()
		st.serve, st.refused = true, nil
		st.mu.Unlock()
		err = w.hooks.within(ctx, func() error { return w.opened(ctx, st) })
		if err != nil && ctx.Err() != nil {
			signal(w.poke) // it is opened when it can be
		}
	}
	if err != nil {
		return failed(err, "start work on queue %q", wire.Clip(queue))
	}
	return nil
}

// opened waits until the present incarnation has the queue open.
func (w *Worker) opened(ctx context.Context, st *station) error {
	for {
		w.mu.Lock()
		l, changed := w.life, w.changed
		w.mu.Unlock()
		err := l.open(ctx, st)
		var rested <-chan time.Time
		if errors.Is(err, errResting) {
			rested = l.again()
		} else if err == nil || l.ctx.Err() == nil || ctx.Err() != nil {
			return err
		}
		select { // it has lapsed: the worker joins again, and may rest
		case <-changed:
		case <-rested:
		case <-w.serving.Done():
			return ErrClosed
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// station finds a queue, or makes it when the worker is running.
func (w *Worker) station(queue string) (*station, error) {
	if err := wire.CheckQueue(queue); err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch w.state {
	case unstarted, starting:
		return nil, ErrNotStarted
	case stopping:
		return nil, ErrClosed
	}
	st := w.stations[queue]
	if st == nil {
		st = newStation(w.mesh.wire, queue, w.cfg.queue(queue))
		w.stations[queue] = st
	}
	return st, nil
}

// StopWork ends the serving of a queue. Its handlers may go on for Grace, or until ctx ends; then
// their contexts end with ErrStopping. What is not settled goes back to the front, what came by
// Take at once. Other workers are not concerned.
// Errors: ErrNotStarted, ErrNotWorking, ErrClosed, or what the connection answered: the return is
// tried again then.
func (w *Worker) StopWork(ctx context.Context, queue string) error {
	st, err := w.station(queue)
	if err == nil {
		st.mu.Lock()
		if !st.serve {
			err = ErrNotWorking
		}
		st.serve, st.drained = false, false
		st.mu.Unlock()
	}
	if err == nil {
		err = w.hooks.within(ctx, func() error {
			grace, cancel := context.WithTimeout(ctx, w.cfg.Grace)
			defer cancel()
			defer context.AfterFunc(w.hurry, cancel)()
			return w.current().close(grace, w.lastCall, st)
		})
	}
	if err != nil {
		return failed(err, "stop work on queue %q", wire.Clip(queue))
	}
	return nil
}

// Take brings the task at the front of a queue that StartWork was called for. The caller settles
// the process.
// Errors: ErrEmpty; ErrNotStarted, ErrNotWorking, ErrClosed; ErrLapsed and ErrFenced while the
// worker joins again;
// ErrUnknown: a task that came with the lost answer is brought by the next Take, or put back at the
// next look.
func (w *Worker) Take(ctx context.Context, queue string) (*Process, error) {
	p, err := w.takeOne(ctx, queue)
	if err != nil {
		return nil, failed(err, "take from queue %q", wire.Clip(queue))
	}
	w.hooks.take(p)
	return p, nil
}

func (w *Worker) takeOne(ctx context.Context, queue string) (*Process, error) {
	st, err := w.station(queue)
	if err != nil {
		return nil, err
	}
	m := st.membership()
	if m == nil || !st.serving() {
		return nil, ErrNotWorking
	}
	if !m.life.lease.Valid() {
		m.life.lapse(nil)
	}
	if m.ended() {
		return nil, context.Cause(m.ctx)
	}
	if err := m.have(ctx); err != nil {
		return nil, err
	}
	defer m.release()
	if m.closing.Load() {
		return nil, ErrNotWorking
	}
	processes, err := m.take(ctx, 1, wire.ParkNever, false)
	if err == nil && len(processes) == 0 {
		err = ErrEmpty
	}
	if err != nil {
		return nil, err
	}
	if len(processes) > 1 {
		m.giveBack(processes[1:]) // of an earlier take, whose answer was lost
	}
	return processes[0], nil
}

// wanted lists the queues that the worker is to serve.
func (w *Worker) wanted() []*station {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []*station
	for _, st := range w.stations {
		if st.serving() {
			list = append(list, st)
		}
	}
	return list
}
