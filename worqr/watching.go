package worqr

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/worqr/worqr-go/internal/presence"
	"github.com/worqr/worqr-go/internal/wire"
)

const (
	watchEvery = 100 * time.Millisecond // between two looks of the one worker that watches the others
	watchClaim = 4 * watchEvery         // for so long it is the one
	watchRest  = time.Second            // between two looks of one that is alone, or had no answer
	watchIdle  = time.Minute            // between two questions of who is told by beats when to ask
)

// watching watches the presence of the peers when nobody else does, and takes over from those that
// are gone.
func (l *life) watching(ctx context.Context) {
	var rescues rescuers
	defer rescues.Wait()
	var watch *presence.Watch
	var restored *time.Time // when watch was made
	timer := time.NewTimer(0)
	defer timer.Stop()
	for pause := time.Duration(0); ; {
		timer.Reset(pause)
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-l.vacant:
		}
		if !l.line.Up() { // who is not seen itself concludes nothing about others: let somebody else watch
			l.watcher.Store(false)
			watch, pause = nil, watchIdle // or until it is seen again
			continue
		}
		sent := time.Now()
		look, err := l.w.mesh.wire.Watch(ctx, l.id, watchClaim)
		received := time.Now()
		l.watcher.Store(err == nil && look.Role != wire.Neither)
		if now := l.restored.Load(); now != restored {
			watch, restored = nil, now // another server may count now: who was seen by the one before was not seen by it
		}
		switch {
		case err != nil:
			if ctx.Err() == nil {
				l.w.hooks.error(failed(err, "watch the presence of the workers"))
			}
			watch, pause = nil, jitter(watchRest)
		case look.Role == wire.Deputy:
			watch, pause = nil, max(look.Left, 10*time.Millisecond)+5*time.Millisecond // so that it has ended
		case look.Role == wire.Neither:
			watch, pause = nil, jitter(watchIdle)
		default:
			if watch == nil {
				if watch, err = presence.NewWatch(presence.WatchConfig{Self: l.id, Every: watchEvery}); err != nil {
					panic(err) // constants
				}
			}
			if slices.ContainsFunc(look.Rows, func(r wire.Present) bool { return r.ID == l.id && r.Subscribers == 0 }) {
				l.recount() // one that is not seen itself concludes nothing about others
			}
			findings := watch.Look(sent, received, l.noted(look.Rows))
			for _, id := range rescues.done() {
				watch.Taken(id)
			}
			rescues.begin(findings.Dead, func(dead []presence.Suspect) []string { return l.w.rescue(ctx, dead) })
			if pause = findings.Next; look.Workers < 2 {
				pause = jitter(watchRest) // there is nobody else
			}
		}
	}
}

// noted returns of which workers this one may believe that the server counted them before. When
// Redis was restarted all of them come back one after the other, the judge among them: it has to
// see each one first, or those that are late would seem gone.
func (l *life) noted(rows []wire.Present) []presence.Row {
	restored := l.restored.Load()
	appeared := restored == nil || time.Since(*restored) > l.w.cfg.Lapse
	noted := make([]presence.Row, len(rows))
	for i, r := range rows {
		noted[i] = presence.Row{ID: r.ID, Subscribers: r.Subscribers, Ends: r.Ends, Appeared: appeared}
	}
	return noted
}

// rescue takes over from workers that are not present any more what may be taken over Fast, and
// returns from whom all of it is. All are fenced first, so that what they held of one queue comes
// back in one order.
func (w *Worker) rescue(ctx context.Context, dead []presence.Suspect) (taken []string) {
	fenced := map[string][]place{}
	for _, s := range dead {
		alive := false
		err := w.eachMembership(ctx, s.ID, func(at place) error {
			became, err := w.mesh.wire.Queue(at.queue).Rescue(ctx, wire.Rescue{Member: at.membership, Worker: s.ID, Ends: s.Ends, Lived: presence.JudgeGrace})
			if became == wire.Out {
				fenced[s.ID] = append(fenced[s.ID], at)
			}
			alive = alive || became == wire.Alive
			return err
		})
		if err == nil && !alive {
			taken = append(taken, s.ID)
		} else if err != nil && ctx.Err() == nil {
			w.hooks.error(failed(err, "take over from worker %s", s.ID))
		}
	}
	for id, places := range fenced {
		for _, at := range places {
			n, _, err := w.mesh.reclaim(ctx, at.queue, at.membership, death(presence.JudgeGrace))
			if err != nil && ctx.Err() == nil {
				w.hooks.error(failed(err, "take over queue %q from worker %s", at.queue, id))
			}
			if err != nil {
				continue // takers complete it
			}
			w.hooks.reclaim(id, at.queue, n)
			w.log.Info().Str("worker", id).Str("queue", at.queue).Int("returned", n).Msg("worqr: taken over from a worker that is gone")
		}
	}
	return taken
}

// rescuers take over from workers while the watch goes on.
type rescuers struct {
	sync.WaitGroup
	mu      sync.Mutex
	running map[string]bool
	ended   []string
}

// begin rescues from those from whom nobody does yet.
func (r *rescuers) begin(dead []presence.Suspect, rescue func([]presence.Suspect) []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	dead = slices.DeleteFunc(dead, func(s presence.Suspect) bool { return r.running[s.ID] })
	if len(dead) == 0 {
		return
	}
	if r.running == nil {
		r.running = map[string]bool{}
	}
	for _, s := range dead {
		r.running[s.ID] = true
	}
	r.Go(func() {
		taken := rescue(dead)
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, s := range dead {
			delete(r.running, s.ID)
		}
		r.ended = append(r.ended, taken...)
	})
}

// done returns from whom all has been taken over since it was last asked.
func (r *rescuers) done() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	ended := r.ended
	r.ended = nil
	return ended
}
