package worqr

import (
	"context"
	"errors"
	"time"

	"github.com/worqr/worqr-go/internal/wire"
)

// offered is a hold that is to move to another worker, which begins before this one ends: see
// Hold.MakeBeforeBreak.
type offered struct {
	p     *Process
	free  time.Time // when it was last known to be in nobody else's hands, or offered; this and the next guarded by the membership's mu
	taken time.Time // when it was first seen in other hands
}

// Ready announces that what this persistent task is about runs here, so that its holder before, if
// it goes on meanwhile, may stop. Where nothing moved that way it does nothing. Errors: ErrGone
// when the task is not this process's; else what the connection answered: the holder before then
// stops a Lapse after the take.
func (p *Process) Ready(ctx context.Context) error {
	if p.of.station.hold == nil || !p.of.station.hold.cfg.MakeBeforeBreak || p.past.Why != ReasonRebalance {
		return nil
	}
	ours, err := p.of.station.hold.wire.Ready(ctx, p.of.id, p.number, p.task)
	if err == nil && !ours {
		err = ErrGone
	}
	if err != nil {
		return failed(err, "tell that process %s of queue %q is ready", p.ID(), p.Queue())
	}
	return nil
}

// offer has a hold wait for another holder, and goes on until that one is ready.
func (m *membership) offer(p *Process) {
	m.mu.Lock()
	if m.offers == nil {
		m.offers = map[int64]*offered{}
	}
	if m.offers[p.number] == nil {
		m.offers[p.number] = &offered{p: p, free: time.Now()}
	}
	m.mu.Unlock()
}

// moving reports whether a hold is offered.
func (m *membership) moving(p *Process) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.offers[p.number] != nil
}

// seeOffers offers what is to move, also what was offered before, and ends what has moved.
func (m *membership) seeOffers(ctx context.Context) {
	m.mu.Lock()
	var list []*offered
	for number, o := range m.offers {
		if m.inHand[number] != o.p || o.p.ended() != nil {
			delete(m.offers, number)
			continue
		}
		list = append(list, o)
	}
	m.mu.Unlock()
	lapse := m.life.w.cfg.Lapse
	for _, o := range list {
		asked := time.Now()
		asking, cancel := context.WithTimeout(ctx, lapse)
		far, err := m.station.hold.wire.Offer(asking, m.id, o.p.number, o.p.token)
		cancel()
		if far == wire.Waits {
			m.mu.Lock()
			o.free = asked
			m.mu.Unlock()
		}
		switch {
		case errors.Is(err, ErrFenced):
			m.fenced()
			return
		case err != nil:
			if m.unknownFor(o) >= lapse {
				o.p.end(ErrHandover) // whoever has taken it meanwhile holds it alone from now on
			}
			if ctx.Err() == nil {
				m.life.w.hooks.error(failed(err, "offer process %s of queue %q", o.p.ID(), m.station.name))
			}
			continue // the next look asks again
		case far == wire.Moved:
			if m.takenFor(o) > lapse {
				o.p.end(ErrHandover) // nobody said that it runs there
			}
		case far == wire.Runs:
			o.p.end(ErrHandover)
		}
	}
}

// unknownFor is for how long it is not known whether a hold that was offered is in other hands.
func (m *membership) unknownFor(o *offered) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Since(o.free)
}

// takenFor is for how long a hold that was offered has been seen in other hands.
func (m *membership) takenFor(o *offered) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if o.taken.IsZero() {
		o.taken = time.Now()
	}
	return time.Since(o.taken)
}
