package worqr

import (
	"context"
	"errors"
	"time"

	"github.com/worqr/worqr-go/internal/wire"
)

// A daemon that lapses again and again would get its tasks back each time, being the least loaded,
// and each time they would be without a holder until its peers have seen the lapse. So from the
// second lapse on it rests before it opens queues again.
const (
	steady   = 5 * time.Minute // an incarnation that lived for so long has made good the lapses before it
	restMost = 30 * time.Second
)

// errResting: the daemon has lapsed and does not open the queue yet.
var errResting = errors.New("the worker has lapsed again and again, and rests while others serve the queue")

// restAfter returns how long a daemon rests after so many lapses in a row: not at all after the
// first, so that an outage of Redis costs nothing more, then T, 2T, 4T and so on, but 10T or 30 s
// at most.
func restAfter(lapses int, lapse time.Duration) time.Duration {
	rest, most := time.Duration(0), min(10*lapse, restMost)
	for n := 2; n <= lapses && rest < most; n++ {
		rest = max(2*rest, lapse)
	}
	return min(rest, most)
}

// follow makes l the heir of an incarnation that has lapsed.
func (l *life) follow(old *life) {
	l.before, l.lapses = old.id, 1
	if old.before != "" && old.lease.Deadline().Sub(old.joined) < steady {
		l.lapses += old.lapses
	}
}

// beginRest decides from when on queues are opened.
func (l *life) beginRest() {
	rest := restAfter(l.lapses, l.w.cfg.Lapse)
	if l.opens = time.Now().Add(rest); rest > 0 {
		l.w.log.Warn().Str("worker", l.id).Int("lapses", l.lapses).Dur("rest", rest).
			Msg("worqr: lapsed again and again: queues that others serve are opened after a rest")
	}
}

// mayOpen reports whether this incarnation may open a queue now. After a lapse it needs a beat that
// was answered: the join goes over other connections, and proves nothing about the way of the
// beats. A rest is over when nobody else that lives serves the queue: it would leave its tasks to
// nobody.
func (l *life) mayOpen(ctx context.Context, st *station) (bool, error) {
	if l.before == "" {
		return true, nil
	}
	if !l.beaten.Load() {
		return false, nil
	}
	if time.Until(l.opens) <= 0 {
		return true, nil
	}
	roll, err := l.w.mesh.roll(ctx, st.name)
	if err != nil {
		return false, err
	}
	var others []string
	for _, who := range roll.members {
		if worker := wire.WorkerOf(who.ID); !who.Returning && worker != l.id && worker != l.before {
			others = append(others, worker)
		}
	}
	if len(others) == 0 {
		return true, nil
	}
	alive, err := l.w.mesh.wire.Living(ctx, others)
	return err == nil && alive == 0, err
}

// again fires when it is time to ask once more whether a queue may be opened.
func (l *life) again() <-chan time.Time {
	left := time.Until(l.opens)
	if left <= 0 {
		left = l.w.cfg.Beat // the first answer to a beat is told at once
	}
	return time.NewTimer(min(left, l.w.cfg.Beat)).C
}
