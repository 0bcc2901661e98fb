package worqr

import (
	"context"
	"errors"
	"time"
)

// lookUnseen is the pause between two looks at everything that peers may take over while this
// worker is not present: who has lost a task to a peer is to hear of it within a second.
const lookUnseen = 250 * time.Millisecond

// attending follows the presence connection. While it stands, each membership whose takeover is to
// be Fast becomes so. While it does not, peers may take over what is Fast at any time, so all of
// that is looked at again and again.
func (l *life) attending(ctx context.Context) {
	const untold = time.Hour // until something is told
	timer := time.NewTimer(untold)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.news:
		case <-timer.C:
		}
		pause := time.Duration(untold)
		if !l.line.Up() {
			for _, m := range l.heeding() {
				l.lookSoon(m)
				pause = lookUnseen
			}
		} else if !l.allowAll(ctx) {
			pause = jitter(l.w.cfg.Beat)
		}
		timer.Reset(pause)
	}
}

// allowAll reports whether every membership whose takeover is to be Fast is so.
func (l *life) allowAll(ctx context.Context) bool {
	l.mu.Lock()
	var list []*membership
	for _, m := range l.members {
		if m.station.fast && !m.ended() {
			list = append(list, m)
		}
	}
	l.mu.Unlock()
	all := true
	for _, m := range list {
		err := l.allow(ctx, m)
		if err != nil && ctx.Err() == nil && !m.ended() {
			l.w.hooks.error(failed(err, "let peers take over queue %q by presence", m.station.name))
		}
		all = all && (err == nil || m.ended())
	}
	return all
}

// allow makes the takeover of a membership Fast, and does so again when the presence connection was
// made anew: the server may have lost what it knew. Only attending calls it.
//
// The membership heeds the loss of the presence before the server can know that it is Fast, and
// then for as long as it lasts, as a copy of the command may run late. When the connection stands
// after that, whatever loss follows finds it heeding.
func (l *life) allow(ctx context.Context, m *membership) error {
	stands := l.stands.Load()
	if m.toldFast == stands {
		return nil
	}
	first := !m.heeds.Swap(true)
	if !l.line.Up() {
		if first {
			m.heeds.Store(false) // nothing was sent
		}
		return nil // attending is told when it stands again
	}
	err := m.station.wire.Allow(ctx, m.id)
	if errors.Is(err, ErrFenced) {
		m.fenced()
	}
	if err != nil {
		return err
	}
	m.allowed.Store(true)
	m.toldFast = stands
	return nil
}

// heeding lists the memberships that peers may take over when this worker is not present.
func (l *life) heeding() []*membership {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []*membership
	for _, m := range l.members {
		if m.heeds.Load() && !m.ended() {
			list = append(list, m)
		}
	}
	return list
}
