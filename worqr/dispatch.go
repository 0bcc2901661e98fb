package worqr

import (
	"context"
	"errors"
	"time"

	"github.com/worqr/worqr-go/internal/wire"
)

// Handler works on one process at a time; a queue's limit says how many at once. ctx is the
// process's context.
//
// What Handle returns settles the process, unless it was settled before: nil finishes it; an error,
// a panic or runtime.Goexit puts it back at the front, and this slot takes the next task after a
// pause of 100 ms, doubling with each failure in a row up to 30 s. After ErrCanceled it is removed
// whatever is returned; after ErrStopping or ErrHandover it goes back to the front; after
// ErrLapsed, ErrFenced or ErrGone it is no longer this worker's, and nothing is done.
type Handler interface {
	Handle(ctx context.Context, p *Process) error
}

// HandlerFunc is a function as a Handler.
type HandlerFunc func(ctx context.Context, p *Process) error

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, p *Process) error { return f(ctx, p) }

// Pauses of a slot whose handler failed.
const (
	leastPause = 100 * time.Millisecond
	mostPause  = 30 * time.Second
)

// dispatch takes tasks for the free slots, and ahead of them, and has their handlers run, until ctx
// ends or the membership does. It sleeps when the queue was empty: then this membership is noted as
// idle, and an enqueue wakes it.
func (m *membership) dispatch(ctx context.Context) {
	st := m.station
	defer m.returnAhead()
	defer m.takeAlong(false)
	stuck := time.NewTimer(aheadPatience)
	defer stuck.Stop()
	due := time.NewTimer(time.Hour) // when a persistent task that is delayed may start
	defer due.Stop()
	pause := time.Duration(0)
	var pace pacer
	for hungry := true; ; {
		if pace.paused && !m.rest(ctx, stuck) {
			return
		}
		m.takeAlong(hungry)
		for !hungry || st.room() == 0 {
			if st.hasAhead() {
				stuck.Reset(aheadPatience)
			}
			select {
			case <-ctx.Done():
				return
			case <-m.ctx.Done():
				return
			case <-m.poke:
				hungry = true
			case <-m.woken:
				hungry = true
				m.seeOffers(ctx)
				if st.room() == 0 && st.hold == nil {
					m.passOn(ctx)
				}
			case <-m.granted:
				m.giveUp()
				m.seeOffers(ctx)
			case <-due.C:
				hungry = true
			case <-st.freed:
			case <-stuck.C: // no slot was free in this time
				m.takeAlong(false)
				m.returnAhead() // idle peers run it now
			}
		}
		// A flag that is raised from here on is seen after the take: nothing falls between the look
		// and the sleep.
		count, may := st.room(), pace.may(st)
		processes, left, err := m.takeFor(ctx, count, may)
		if err == nil {
			n, dry := len(processes), len(processes) < count && !left.more
			pause, hungry = 0, !dry || may && n > 0
			pace.took(n, dry, may)
			if left.due > 0 {
				due.Reset(left.due)
			}
		} else if !m.ended() && ctx.Err() == nil {
			m.life.w.hooks.error(failed(err, "take from queue %q", st.name))
			pause = min(max(2*pause, 50*time.Millisecond), time.Second)
			hungry = true
		}
		m.life.w.hooks.take(processes...)
		st.deliver(processes, ctx.Err() == nil && !m.ended())
		if ctx.Err() != nil || m.ended() {
			return
		}
		if err != nil {
			m.takeAlong(false)
			if sleep(ctx, jitter(pause)) != nil {
				return
			}
		}
	}
}

// takeAlong sets whether the dispatcher is about to take, and so to settle in the same command
// what handlers have finished. When it is not, the settler does that: the flag is down before the
// outbox is seen to, so nothing falls between.
func (m *membership) takeAlong(along bool) {
	along = along && m.settlesAlong()
	m.along.Store(along)
	if !along {
		signal(m.outbox.filled)
	}
}

func (m *membership) settlesAlong() bool {
	return m.station.hold == nil && m.station.limit <= alongMost
}

// returnAhead puts back what was taken ahead of the slots.
func (m *membership) returnAhead() {
	if list := m.station.dropAhead(); len(list) > 0 && m.have(m.ctx) == nil {
		defer m.release()
		m.giveBack(list)
	}
}

// takeFor takes up to count tasks. A take that was not answered is repeated for as many as it asked
// for, and so may bring fewer or more: what is above goes back. again: another take follows when
// this one brings any.
func (m *membership) takeFor(ctx context.Context, count int, again bool) ([]*Process, behind, error) {
	if err := m.have(ctx); err != nil {
		return nil, behind{}, err
	}
	defer m.release()
	if m.closing.Load() {
		return nil, behind{}, ErrStopping
	}
	if !m.life.lease.Valid() {
		m.life.lapse(nil) // time is up, and the timer has not said so yet: nothing is settled any more
		return nil, behind{}, context.Cause(m.ctx)
	}
	// Idle only when a wake-up would arrive. The flag is up before that is asked, so who makes it
	// ready sees it.
	m.unnoted.Store(true)
	park := wire.ParkNever
	if m.life.w.mesh.listener.Ready() {
		if park = wire.ParkDry; again {
			park = wire.ParkNothing
		}
	}
	processes, err := m.take(ctx, count, park, m.settlesAlong())
	m.unnoted.CompareAndSwap(true, park == wire.ParkNever)
	if err == nil && ctx.Err() != nil {
		m.giveBack(processes) // a stop came meanwhile, and what drains may last: idle peers take them now
		return nil, behind{}, ErrStopping
	}
	if len(processes) > count {
		m.giveBack(processes[count:])
		processes = processes[:count]
	}
	return processes, m.behind, err
}

// passOn wakes another worker in place of this one.
func (m *membership) passOn(ctx context.Context) {
	if err := m.station.wire.Wake(ctx); err != nil && ctx.Err() == nil {
		m.life.w.hooks.error(failed(err, "pass on a wake-up of queue %q", m.station.name))
	}
}

// returned settles what a handler has left, and frees its slot: after a failure only when its pause
// is over.
func (m *membership) returned(p *Process, s *slot, err error) {
	defer m.station.giveBack(s)
	w, cause := m.life.w, p.ended()
	if m.station.hold != nil {
		m.letGo(p, cause, err)
		return
	}
	if p.asked() == "" {
		m.settleAfter(p, cause, err)
	}
	if err != nil || !m.along.Load() {
		signal(m.outbox.filled) // this slot pauses, or no take goes out
	}
	m.over()
	if errors.Is(cause, ErrSettled) && (errors.Is(err, ErrSettled) || errors.Is(err, context.Canceled)) {
		err = nil // it tells that its context has ended, by the settling
	}
	if err == nil || cause != nil && !errors.Is(cause, ErrSettled) {
		s.failures = 0
		return
	}
	w.hooks.error(failed(err, "handle process %s of queue %q", p.ID(), p.Queue()))
	pause := min(leastPause<<min(s.failures, 20), mostPause)
	s.failures++
	_ = sleep(w.serving, pause) // ends early when the worker stops
}

// lost reports whether it is a cause after which a process may be another worker's: nothing is done
// with it any more.
func lost(cause error) bool {
	return errors.Is(cause, ErrLapsed) || errors.Is(cause, ErrFenced) || errors.Is(cause, ErrGone)
}

// settleAfter settles a process as the handler's return says.
func (m *membership) settleAfter(p *Process, cause, err error) {
	switch {
	case errors.Is(cause, ErrCanceled):
		p.ask(cancel)
	case lost(cause):
	case errors.Is(cause, ErrStopping): // all that is left goes back in one step, in order
	case err != nil, cause != nil:
		p.ask(front)
	default:
		p.ask(finish)
	}
}
