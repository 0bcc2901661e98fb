package worqr

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/worqr/worqr-go/events"
	"github.com/worqr/worqr-go/internal/wire"
)

// open makes this incarnation a member of a queue, unless it is.
func (l *life) open(ctx context.Context, st *station) error {
	done, err := st.alone(ctx)
	if err != nil {
		return err
	}
	defer done()
	for {
		// Somebody may close a membership at the same time; what closes hundreds is over soon.
		err := l.openOnce(ctx, st)
		if errors.Is(err, ErrConfig) {
			st.refuse(err)
		}
		if !errors.Is(err, wire.ErrStale) || ctx.Err() != nil {
			return err
		}
	}
}

// openOnce tries under one id. First the workmap and the list of queues have the queue, then the
// queue has the member: so whoever fails this worker finds all its queues. The caller has
// st.opening.
func (l *life) openOnce(ctx context.Context, st *station) error {
	if old := st.membership(); old != nil {
		if old.life == l && !old.ended() {
			return nil
		}
		old.quit()
	}
	if !l.lease.Valid() {
		l.lapse(nil) // the host stood still, and no timer has said so yet
	}
	if err := context.Cause(l.ctx); err != nil {
		return err
	}
	if err := st.unserved(); err != nil {
		return err
	}
	if l.w.serving.Err() != nil {
		return ErrClosed // the worker stops, and its leave may have passed this queue already
	}
	for _, m := range l.behind() {
		if m.station == st && st.hold != nil && m.running.Load() > 0 {
			return errHeld // a second membership would make the first one an orphan, whose tasks peers take
		}
	}
	if may, err := l.mayOpen(ctx, st); err != nil {
		return err
	} else if !may {
		return errResting
	}
	ticket, err := st.wire.Newest(ctx)
	if err != nil {
		return err
	}
	if err := l.workmap(ctx, l.w.mesh.wire.Serve, st.name); err != nil {
		return err
	}
	m := newMembership(l, st, l.nextID())
	unhint := l.w.mesh.listener.OnHint(st.name, events.Cancel, m.hint)
	newest, repeated, err := st.wire.Open(ctx, wire.Open{Member: m.id, Ticket: ticket, Weight: m.weight(), Limit: st.limit})
	maybe := err == nil || repeated // a refusal is an answer: nothing is open then
	m.seen = newest
	if err == nil {
		err = context.Cause(l.ctx)
	}
	if err != nil {
		unhint()
		m.end(err)
		if maybe && !errors.Is(err, wire.ErrStale) { // it may be open in Redis: it is closed when there is time
			l.leaveBehind(m)
		}
		return err
	}
	m.unhint = unhint

	st.mu.Lock()
	st.open = m
	st.mu.Unlock()
	l.mu.Lock()
	l.members[st.name] = m
	if !slices.Contains(l.order, st.name) {
		l.order = append(l.order, st.name)
	}
	l.mu.Unlock()

	signal(l.news)

	working, stop := context.WithCancel(context.Background())
	m.stopSettling = stop
	m.settlers.Go(func() { m.settler(working) })
	if st.handler != nil {
		dispatching, stop := context.WithCancel(working)
		m.stopTaking = stop
		m.takers.Go(func() { m.dispatch(dispatching) })
	}
	if st.handler == nil {
		l.lookSoon(m) // tells the callbacks of what waits already
	}
	return nil
}

// close ends the membership of a queue. Handlers may go on while ctx lasts; then their contexts
// end, and they have the last call to return. What is then not settled goes back to the front.
func (l *life) close(ctx context.Context, lastCall ending, st *station) error {
	done, _ := st.alone(context.Background())
	defer done()
	m := st.membership()
	if m == nil || m.life != l || m.quitted {
		return nil
	}
	m.drain(ctx, lastCall)
	l.mu.Lock()
	delete(l.members, st.name)
	l.order = slices.DeleteFunc(l.order, func(q string) bool { return q == st.name })
	l.mu.Unlock()
	if l.ctx.Err() != nil {
		m.quit()
		return nil // peers return what it held
	}
	m.end(ErrStopping)
	m.quit()
	back, cancel := fresh(ioTimeout)
	defer cancel()
	if err := l.giveUp(back, m); err != nil {
		l.leaveBehind(m)
		return err
	}
	m.returnedAll()
	return nil
}

// giveUp takes a membership out of Redis: its processes go to the front, then the workmap lets go
// of the queue.
func (l *life) giveUp(ctx context.Context, m *membership) error {
	if m.station.hold != nil && m.running.Load() > 0 && l.ctx.Err() == nil {
		return errHeld
	}
	if m.station.hold != nil {
		if err := m.keepCheckpoints(ctx, nil); err != nil { // of handlers that returned after the settler had ended
			return err
		}
	}
	if _, _, err := l.w.mesh.reclaim(ctx, m.station.name, m.id, drain); err != nil {
		return err
	}
	if cur := m.station.membership(); cur != nil && cur.life == l && !cur.ended() {
		return nil // it is open again, under another id
	}
	if l.w.serving.Err() != nil {
		return nil // the worker stops: its leave, or a peer, ends the whole workmap
	}
	return l.workmap(ctx, l.w.mesh.wire.Unserve, m.station.name)
}

// leaveBehind keeps a membership that could not be taken out of Redis, to try again.
func (l *life) leaveBehind(m *membership) {
	l.mu.Lock()
	l.rest = append(l.rest, m)
	l.mu.Unlock()
	signal(l.w.poke)
}

// behind lists the memberships that could not be taken out of Redis yet.
func (l *life) behind() []*membership {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.rest)
}

// closeRest tries again what could not be closed. It reports whether all of it is.
func (l *life) closeRest(ctx context.Context) bool {
	l.mu.Lock()
	rest := l.rest
	l.rest = nil
	l.mu.Unlock()
	var still []*membership
	for _, m := range rest {
		if l.ctx.Err() != nil {
			break // peers do it
		}
		done, _ := m.station.alone(context.Background())
		err := l.giveUp(ctx, m)
		done()
		if err != nil && l.ctx.Err() == nil {
			still = append(still, m)
		}
	}
	l.mu.Lock()
	l.rest = append(l.rest, still...)
	l.mu.Unlock()
	return len(still) == 0
}

// ending makes the context of the last call, when it begins.
type ending func() (context.Context, context.CancelFunc)

// drain ends the taking and waits for the handlers, while ctx lasts and then for the last call.
func (m *membership) drain(ctx context.Context, lastCall ending) {
	m.closing.Store(true)
	if m.stopTaking != nil {
		m.stopTaking()
		m.takers.Wait()
		// It may still be noted as idle: what wakes it wakes another.
		passing, stop := context.WithCancel(m.ctx)
		defer stop()
		m.takers.Go(func() {
			select {
			case <-m.woken:
				m.passOn(passing)
			case <-passing.Done():
			}
		})
	}
	w := m.life.w
	if m.station.handler == nil {
		for _, p := range m.processes() {
			if p.asked() == "" {
				p.end(ErrStopping)
			}
		}
	} else if m.station.hold != nil {
		m.drainHolds(ctx, lastCall)
	} else if !m.idle(ctx) {
		for _, p := range m.processes() {
			p.end(ErrStopping)
		}
		last, cancel := lastCall()
		if !m.idle(last) {
			for _, p := range m.processes() {
				w.log.Warn().Str("queue", m.station.name).Str("process", p.ID()).Dur("age", time.Since(p.taken)).
					Msg("worqr: a handler outstayed the grace; its process goes back to the front")
			}
		}
		cancel()
	}
	// what was settled is sent, as far as Redis answers
	m.stopSettling()
	sent, cancel := fresh(ioTimeout)
	defer cancel()
	select {
	case <-m.sent:
	case <-sent.Done():
	}
}

// quit ends what runs for a membership, and waits for it; handlers are not waited for. The caller
// has station.opening.
func (m *membership) quit() {
	if m.quitted {
		return
	}
	m.quitted = true
	m.end(ErrStopping) // unless it has ended for another reason
	m.unhint()
	if m.stopTaking != nil {
		m.stopTaking()
	}
	m.stopSettling()
	m.takers.Wait()
	m.settlers.Wait()
}
