package worqr

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/presence"
)

// errUnseen: the server does not count this worker's presence subscription.
var errUnseen = errors.New("the server does not see the presence subscription, as behind a proxy or in a cluster: takeover stays Strict")

// attendPatience is for how long after the join the opening of a Fast queue waits for the presence connection; then it stays
// Strict until it is opened again.
const attendPatience = time.Second

// Who only has one-shot tasks that are taken over Fast does not stop by the presence connection, so no news of its end is
// missed: a ping now and then keeps it from being forgotten on the way.
const lazyPing = time.Minute

// wantsFast tells whether any queue of this worker is taken over Fast, and whether any such has persistent tasks.
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
	unseen       atomic.Bool               // the server does not count its subscription
	back         chan struct{}             // a flag: the line is up, or unseen
	appeared     bool                      // the line was up before
	restored     atomic.Pointer[time.Time] // when the line was last up again; nil: it has stood since it was made
	stopWatching func()                    // after it, nothing is claimed any more
	watcher      atomic.Bool               // this one watches who is present, or is the deputy
	vacant       chan struct{}             // a flag: a beat saw that one of the two is missing
}

// attend keeps the presence connection, until ctx ends or it turns out that the server does not see it.
func (l *life) attend(ctx context.Context, ping time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	var err error
	l.line, err = presence.New(presence.Config{
		Dial:    l.w.mesh.dial,
		Ping:    ping,
		Channel: l.presenceChannel,
		Check: func(ctx context.Context) error {
			err := l.appear(ctx)
			if errors.Is(err, errUnseen) {
				l.unseen.Store(true)
				if !l.w.unseen.Swap(true) {
					l.w.log.Warn().Str("worker", l.id).Msg("worqr: " + errUnseen.Error())
				}
				signal(l.back)
				cancel()
			}
			return err
		},
		Back: l.presenceBack,
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
	ctx, cancel := context.WithDeadline(ctx, l.joined.Add(attendPatience))
	defer cancel()
	for !l.line.Up() {
		if l.unseen.Load() {
			return false
		}
		select {
		case <-l.back:
			signal(l.back) // for others that wait
		case <-ctx.Done():
			l.w.log.Warn().Str("worker", l.id).Msg("worqr: no presence connection: takeover stays Strict until the queue is opened again")
			return false
		}
	}
	return !l.unseen.Load()
}

// presenceBack is told by the line's goroutine only.
func (l *life) presenceBack() {
	if l.appeared {
		now := time.Now()
		l.restored.Store(&now)
	}
	l.appeared = true
	signal(l.back)
}

// recount makes a new presence connection when there is reason to believe that the server does not count the one that seems
// to stand.
func (l *life) recount() {
	if l.line.Up() && time.Since(l.line.Since()) > presence.JudgeGrace {
		l.line.Renew()
	}
}

// presenceLost ends the holds that peers may take over now. They are given up here too, when their handlers have returned,
// and their queues are opened again. One-shot tasks go on: they may be run twice anyway, and a restart of Redis would
// end all of them. Who took them over is heard of by the next look, or when the connection is back.
func (l *life) presenceLost() {
	for _, m := range l.fastMembers() {
		if m.station.hold != nil {
			m.end(fmt.Errorf("%w: the presence connection was lost", ErrFenced))
			l.leaveBehind(m)
		}
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
