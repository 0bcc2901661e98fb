package worqr

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/presence"
)

// errUnseen: the server does not count this worker's presence subscription.
var errUnseen = errors.New("the server does not see the presence subscription, as behind a proxy or in a cluster: takeover stays Strict")

// attendPatience is how long the opening of a Fast queue waits for the presence connection; then it stays Strict until it is
// opened again.
const attendPatience = time.Second

// wantsFast tells whether any queue of this worker is taken over Fast.
func (w *Worker) wantsFast() bool {
	for _, q := range w.cfg.Queues {
		if q.Hold.Takeover == Fast {
			return true
		}
	}
	return false
}

// attend keeps the presence connection, until ctx ends or it turns out that the server does not see it.
func (l *life) attend(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var err error
	l.line, err = presence.New(presence.Config{
		Dial:    l.w.mesh.dial,
		Channel: l.presenceChannel,
		Check: func(ctx context.Context) error {
			err := l.appear(ctx)
			if errors.Is(err, errUnseen) {
				l.unseen.Store(true)
				l.w.log.Warn().Str("worker", l.id).Msg("worqr: " + errUnseen.Error())
				signal(l.back)
				cancel()
			}
			return err
		},
		Back: func() { signal(l.back) },
		Lost: l.presenceLost,
		Failed: func(err error) {
			if ctx.Err() == nil {
				l.w.hooks.error(failed(err, "presence of worker %s", l.id))
			}
		},
	})
	if err != nil {
		cancel()
		return err
	}
	l.tasks.Go(func() {
		defer cancel()
		_ = l.line.Run(ctx) // no other runs it
	})
	l.tasks.Go(func() { l.watching(ctx) })
	return nil
}

func (l *life) presenceChannel() string {
	return l.w.mesh.keys.channels(int(l.w.mesh.database.Load())) + ":here:" + l.id
}

// appear makes a new presence subscription count: a beat ends every suspicion from before, then the worker is among those
// that are watched, and what peers took over meanwhile is known.
func (l *life) appear(ctx context.Context) error {
	if _, err := l.w.mesh.mesh(ctx, beatScript, l.id, l.w.cfg.Lapse.Milliseconds(), 0); err != nil {
		return err
	}
	seen, err := redis.Int(l.w.mesh.mesh(ctx, appearScript, l.id))
	if err == nil && seen == 0 {
		err = errUnseen
	}
	if err != nil {
		return err
	}
	for _, m := range l.fastMembers() {
		if _, err := l.w.mesh.queue(ctx, m.script(lookScript, holdLookScript), m.station.name, m.id, 0, 0); errors.Is(err, ErrFenced) {
			m.fenced()
		} else if err != nil {
			return err
		}
	}
	return nil
}

// attended tells whether peers may see this worker's end by its presence. It waits for the connection, but not for long.
func (l *life) attended(ctx context.Context) bool {
	if l.line == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, attendPatience)
	defer cancel()
	for !l.line.Up() {
		if l.unseen.Load() {
			return false
		}
		select {
		case <-l.back:
		case <-ctx.Done():
			l.w.log.Warn().Str("worker", l.id).Msg("worqr: no presence connection: takeover stays Strict until the queue is opened again")
			return false
		}
	}
	return !l.unseen.Load()
}

// presenceLost ends what peers may take over now. It is given up here too, when its handlers have returned, and the queues
// are opened again.
func (l *life) presenceLost() {
	for _, m := range l.fastMembers() {
		m.end(fmt.Errorf("%w: the presence connection was lost", ErrFenced))
		l.leaveBehind(m)
	}
	l.line.Reset()
	l.w.change()
}

func (l *life) fastMembers() []*membership {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []*membership
	for _, m := range l.members {
		if m.fast && !m.ended() {
			list = append(list, m)
		}
	}
	return list
}
