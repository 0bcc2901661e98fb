package worqr

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"
)

// Drain hands all persistent tasks back, at a pace that ends before Grace or ctx does, and takes
// none any more. The worker stays registered, and goes on with its one-shot tasks, over lapses.
// Drain returns when the handlers have returned and the tasks are free for others. StopWork and
// StartWork take it back for a queue.
//
// Errors: ErrNotStarted, ErrClosed, what the connection answered, and ErrStopping for handlers that
// have not returned: the worker keeps these tasks until they do.
func (w *Worker) Drain(ctx context.Context) error {
	w.mu.Lock()
	state := w.state
	w.mu.Unlock()
	switch {
	case state == unstarted || state == starting:
		return failed(ErrNotStarted, "drain")
	case state == stopping:
		return failed(ErrClosed, "drain")
	}
	ctx, cancel := context.WithTimeout(ctx, w.cfg.Grace)
	defer cancel()
	var members []*membership
	for _, st := range w.wanted() {
		if st.hold == nil {
			continue
		}
		st.drain()                 // also where the queue is not open now, as after a lapse: it is opened drained
		done, err := st.alone(ctx) // an opening that has begun before ends
		if err != nil {
			return failed(err, "drain queue %q", st.name)
		}
		if m := st.membership(); m != nil && !m.ended() {
			members = append(members, m)
		}
		done()
	}
	results := make(chan error, len(members))
	for _, m := range members {
		go func() { results <- m.drainOnly(ctx) }()
	}
	var errs []error
	for range members {
		errs = append(errs, <-results)
	}
	if err := errors.Join(errs...); err != nil {
		return failed(err, "drain")
	}
	return nil
}

// drainOnly has nothing more fall to this membership and ends what it holds.
func (m *membership) drainOnly(ctx context.Context) error {
	if err := m.station.hold.wire.Weigh(ctx, m.id, 0); err != nil {
		return failed(err, "weigh queue %q", m.station.name)
	}
	m.endHolds(ctx)
	if !m.idle(ctx) {
		return failed(errHeld, "queue %q", m.station.name)
	}
	for _, p := range m.processes() {
		if err := p.await(ctx); err != nil {
			return err
		}
	}
	return nil
}

// drainHolds ends the holds of a membership that is being closed, and waits for their handlers:
// first at a pace, for as long as ctx lasts, then at once, with the last call to return. What
// overstays is kept.
func (m *membership) drainHolds(ctx context.Context, lastCall ending) {
	if ctx.Err() == nil {
		// Nothing that comes free here falls to this membership again.
		_ = m.station.hold.wire.Weigh(ctx, m.id, 0)
		m.endHolds(ctx)
		if m.idle(ctx) {
			return
		}
	}
	for _, p := range m.processes() {
		p.end(ErrStopping)
	}
	last, cancel := lastCall()
	defer cancel()
	if m.idle(last) {
		return
	}
	for _, p := range m.processes() {
		m.life.w.log.Warn().Str("queue", m.station.name).Str("process", p.ID()).Dur("age", time.Since(p.taken)).
			Msg("worqr: a handler outstayed the grace; its task stays here until it returns or this worker has lapsed")
	}
}

// endHolds ends the contexts of all holds one by one, jittered: at MoveRate, or as fast as half of
// Grace, or of what is left of ctx, asks.
func (m *membership) endHolds(ctx context.Context) {
	list := slices.DeleteFunc(m.processes(), func(p *Process) bool { return p.ended() != nil })
	left := m.life.w.cfg.Grace
	if until, ok := ctx.Deadline(); ok {
		left = min(left, time.Until(until))
	}
	rate := max(m.station.hold.cfg.MoveRate, float64(len(list))/max(left.Seconds()/2, 0.01))
	each := float64(time.Second) / rate
	begun := time.Now()
	for i, p := range list {
		// When all of them are few they go at once: a pace is against storms.
		at := begun.Add(time.Duration(each * (float64(i) + rand.Float64())))
		if float64(len(list)) > rate/10 && sleep(ctx, time.Until(at)) != nil || m.ended() {
			return
		}
		p.end(ErrStopping)
	}
}

// drain has nothing fall to this queue's memberships any more.
func (st *station) drain() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.drained = true
}

func (st *station) isDrained() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.drained
}
