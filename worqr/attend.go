package worqr

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/worqr/worqr-go/internal/presence"
	"github.com/worqr/worqr-go/internal/wire"
)

// Who only has one-shot tasks that are taken over Fast does not stop by the presence connection, so
// no news of its end is missed: a ping now and then keeps it from being forgotten on the way.
const lazyPing = time.Minute

// wantsFast reports whether any queue of this worker is taken over Fast, and whether any such has
// persistent tasks.
func (w *Worker) wantsFast() (wanted, held bool) {
	wanted = len(w.cfg.Queues) == 0 && w.cfg.queue("").fast() // then queues are served that were not configured
	for _, q := range w.cfg.Queues {
		wanted = wanted || q.fast()
		held = held || q.fast() && q.Persistent
	}
	return wanted, held
}

// attendance is a worker's part in being seen, and in seeing others.
type attendance struct {
	line         *presence.Line            // nil: no queue is taken over Fast
	news         chan struct{}             // a flag: the line is up, or lost, or there is a new membership
	stands       atomic.Uint64             // how often the line has come up
	restored     atomic.Pointer[time.Time] // when the line was last up again; nil: it has stood since it was made
	stopWatching func()                    // after it, nothing is claimed any more
	watcher      atomic.Bool               // this one watches who is present, or is the deputy
	vacant       chan struct{}             // a flag: a beat saw that one of the two is missing
}

// attend keeps the presence connection until ctx ends.
func (l *life) attend(ctx context.Context, ping time.Duration) error {
	at := l.w.mesh.at
	follower := at.follow(at.ask, func() { l.line.Renew() })
	var err error
	l.line, err = presence.New(presence.Config{
		Dial:    follower.dial,
		Ping:    ping,
		Channel: l.presenceChannel,
		Check:   l.appear,
		Back:    l.presenceBack,
		Lost:    l.presenceLost,
		Failed: func(err error) {
			switch {
			case ctx.Err() != nil:
			case !errors.Is(err, presence.ErrUnseen):
				l.w.hooks.error(failed(err, "presence of worker %s", l.id))
			case !l.w.unseen.Swap(true):
				l.w.log.Warn().Str("worker", l.id).Err(err).Msg("worqr: takeover stays Strict until the server sees this worker's presence: a proxy or a cluster hides it")
			}
		},
	})
	if err != nil {
		follower.leave()
		return err
	}
	l.tasks.Go(func() {
		defer follower.leave()
		_ = l.line.Run(ctx) // no other runs it
	})
	l.tasks.Go(func() { l.attending(ctx) })
	watching, stop := context.WithCancel(ctx)
	watched := make(chan struct{})
	l.tasks.Go(func() {
		defer close(watched)
		l.watching(watching)
	})
	l.stopWatching = func() { stop(); <-watched }
	return nil
}

func (l *life) presenceChannel() string {
	return l.w.mesh.wire.PresenceChannel(l.id)
}

// appear makes a new presence subscription count: a beat ends every suspicion from before, then the
// worker is among those that are watched, and what peers took over meanwhile is known.
func (l *life) appear(ctx context.Context) error {
	mesh := l.w.mesh
	if _, err := mesh.wire.Beat(ctx, mesh.cmd, wire.Beat{Worker: l.id, Lapse: l.w.cfg.Lapse}); err != nil {
		return err
	}
	seen, err := mesh.wire.Appear(ctx, l.id)
	if err == nil && !seen {
		err = presence.ErrUnseen
	}
	if err != nil {
		return err
	}
	for _, m := range l.heeding() {
		if _, err := m.station.wire.Look(ctx, wire.Look{Member: m.id}); errors.Is(err, ErrFenced) {
			m.fenced()
		} else if err != nil {
			return err
		}
	}
	return nil
}

// presenceBack is told by the line's goroutine only.
func (l *life) presenceBack() {
	if l.stands.Add(1) > 1 {
		now := time.Now()
		l.restored.Store(&now)
	}
	l.w.unseen.Store(false)
	signal(l.news)
	signal(l.vacant)
}

// recount makes a new presence connection when there is reason to believe that the server does not
// count the one that seems to stand.
func (l *life) recount() {
	if l.line.Up() && time.Since(l.line.Since()) > presence.JudgeGrace {
		l.line.Renew()
	}
}

// presenceLost ends the holds that peers may take over now. They are given up here too, when their
// handlers have returned, and their queues are opened again. One-shot tasks go on: they may be run
// twice anyway, and a restart of Redis would end all of them. Who took them over is heard of by the
// next look, or when the connection is back.
func (l *life) presenceLost() {
	for _, m := range l.heeding() {
		if m.station.hold != nil {
			m.end(fmt.Errorf("%w: the presence connection was lost", ErrFenced))
			l.leaveBehind(m)
		}
	}
	l.line.Reset()
	signal(l.news)
	l.w.change()
}
