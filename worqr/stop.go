package worqr

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// shutdown ends the worker once; who calls it again waits for the same end. Handlers may go on for
// grace.
func (w *Worker) shutdown(ctx context.Context, grace time.Duration) error {
	w.mu.Lock()
	before := w.state
	w.state = stopping
	w.mu.Unlock()
	if before == stopping {
		if grace == 0 {
			w.hurried()
		}
		select {
		case <-w.ended:
			return w.outcome
		case <-ctx.Done():
			return failed(context.Cause(ctx), "stop worker")
		}
	}
	stopped := make(chan error, 1)
	go func() {
		w.windUp(ctx, grace)
		stopped <- nil
	}()
	if err := w.hooks.await(ctx, stopped); err != nil {
		return failed(err, "stop worker")
	}
	return w.outcome
}

// windUp does what shutdown is called for.
func (w *Worker) windUp(ctx context.Context, grace time.Duration) {
	w.stop()
	draining, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	defer context.AfterFunc(draining, w.hurried)() // a StopWork that drains waits no longer than this
	w.tasks.Wait()
	if l := w.current(); l != nil {
		lastCall := w.lastCall
		if grace == 0 { // they are ended at once, and have the grace to return
			lastCall = func() (context.Context, context.CancelFunc) { return context.WithTimeout(ctx, w.cfg.Grace) }
		}
		w.outcome = w.leave(l, lastCall)
	}
	w.mu.Lock()
	unlisten := w.unlisten
	w.unlisten = nil
	for _, registrations := range w.callbacks {
		for _, r := range registrations {
			unlisten = append(unlisten, r.Stop)
		}
	}
	w.callbacks = nil
	w.mu.Unlock()
	for _, stop := range unlisten {
		stop()
	}
	w.mesh.mu.Lock()
	delete(w.mesh.workers, w)
	w.mesh.mu.Unlock()
	w.hooks.close()
	close(w.ended)
}

// leave closes all queues at once and ends the registration. It beats until then, so nobody takes
// over what still runs.
func (w *Worker) leave(l *life, lastCall ending) error {
	w.mu.Lock()
	stations := make([]*station, 0, len(w.stations))
	for _, st := range w.stations {
		stations = append(stations, st)
	}
	w.mu.Unlock()
	errs := make([]error, len(stations))
	var closing sync.WaitGroup
	for i, st := range stations {
		closing.Go(func() { errs[i] = l.close(w.hurry, lastCall, st) })
	}
	closing.Wait()

	for _, m := range l.behind() { // of an earlier StopWork
		if !m.still(w.hurry) {
			last, cancel := lastCall()
			m.still(last)
			cancel()
		}
	}
	last, cancelLast := fresh(ioTimeout)
	defer cancelLast()
	err := errors.Join(errs...)
	if err == nil && !l.closeRest(last) {
		err = errors.New("a queue could not be closed")
	}
	l.stopWatching()
	if err == nil && l.ctx.Err() == nil {
		w.lapsed(l) // no more to be told: a beat may find the heartbeat gone before the answer is here
		if err = w.mesh.wire.Leave(last, l.id); err == nil {
			w.hooks.leave(l.id)
			w.log.Info().Str("worker", l.id).Msg("worqr: left")
		}
	}
	l.end(ErrStopping)
	l.finish()
	l.unlisten()
	if err != nil {
		err = failed(err, "leave as worker %s: peers return what it held after its lapse", l.id)
	}
	return errors.Join(err, w.overstayed())
}

// lastCall is how long handlers have to return once their contexts have ended at the end of a
// grace.
func (w *Worker) lastCall() (context.Context, context.CancelFunc) {
	return fresh(max(w.cfg.Margin, 100*time.Millisecond))
}

// overstayed waits a moment for the handlers, whose contexts have all ended, and reports those
// that do not return.
func (w *Worker) overstayed() error {
	waiting := make(chan struct{})
	go func() { // ends with the last handler: a goroutine cannot be ended from outside
		w.handlers.Wait()
		close(waiting)
	}()
	timer := time.NewTimer(w.cfg.Margin)
	defer timer.Stop()
	select {
	case <-waiting:
		return nil
	case <-timer.C:
		return failed(fmt.Errorf("%w: handlers have not returned; the log names them", ErrStopping), "stop worker")
	}
}
