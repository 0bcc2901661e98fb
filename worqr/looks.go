package worqr

import (
	"context"
	"maps"
	"slices"
	"time"
)

// lookSoon has a membership looked at before its turn.
func (l *life) lookSoon(m *membership) {
	l.mu.Lock()
	l.looks[m] = true
	l.mu.Unlock()
	signal(l.soon)
}

// lookAll has everything looked at and every dispatcher take: what was told meanwhile may have been
// missed, and no membership is noted as idle that was not told it.
func (l *life) lookAll() { l.lookWhere(func(*membership) bool { return true }) }

// lookWhere is lookAll for some.
func (l *life) lookWhere(which func(*membership) bool) {
	l.mu.Lock()
	for _, m := range l.members {
		if which(m) {
			l.looks[m] = true
			signal(m.poke)
		}
	}
	l.mu.Unlock()
	signal(l.soon)
}

// looking is one round of looks: what was asked for, or else the next queue in turn. It is also the
// poll that finds tasks of which no word came.
func (l *life) looking(ctx context.Context) {
	l.checkpoints(ctx)
	for _, m := range l.nextLooks() {
		waiting, err := m.look(ctx)
		if err != nil {
			if ctx.Err() == nil && !m.ended() {
				l.w.hooks.error(err)
			}
			continue
		}
		if waiting > 0 {
			signal(m.poke)
			l.w.tellWaiting(m.station, waiting)
		}
	}
}

// checkpoints writes those of all queues, once a beat.
func (l *life) checkpoints(ctx context.Context) {
	l.mu.Lock()
	if time.Since(l.kept) < l.w.cfg.Beat*3/4 {
		l.mu.Unlock()
		return
	}
	l.kept = time.Now()
	members := slices.Collect(maps.Values(l.members))
	l.mu.Unlock()
	for _, m := range members {
		if m.station.hold == nil {
			continue
		}
		if err := m.keepCheckpoints(ctx, nil); err != nil && ctx.Err() == nil && !m.ended() {
			l.w.hooks.error(err)
		}
	}
}

func (l *life) nextLooks() []*membership {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []*membership
	for m := range l.looks {
		list = append(list, m)
	}
	clear(l.looks)
	// The turn has its own pace, whatever is asked for.
	if len(list) > 0 && time.Since(l.turned) < l.w.cfg.Beat*3/4 {
		return list
	}
	l.turned = time.Now()
	for range l.order {
		l.at = (l.at + 1) % len(l.order)
		if m := l.members[l.order[l.at]]; m != nil && !m.ended() {
			if !slices.Contains(list, m) {
				list = append(list, m)
			}
			break
		}
	}
	return list
}
