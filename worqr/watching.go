package worqr

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/presence"
)

const (
	watchEvery = 100 * time.Millisecond // between two looks of the one worker that watches the others
	watchClaim = 4 * watchEvery         // for so long it is the one
)

// watching watches the presence of the peers when nobody else does, and takes over from those that are gone.
func (l *life) watching(ctx context.Context) {
	var rescues rescuers
	defer rescues.Wait()
	var watch *presence.Watch
	for pause := time.Duration(0); ; {
		if sleep(ctx, pause) != nil {
			return
		}
		sent := time.Now()
		watched, mine, rows, err := l.present(ctx)
		received := time.Now()
		switch {
		case err != nil:
			if ctx.Err() == nil {
				l.w.hooks.error(failed(err, "watch the presence of the workers"))
			}
			watch, pause = nil, jitter(watchClaim)
		case !mine:
			// The more there are, the less often each asks, so that all of them cost the same.
			watch, pause = nil, jitter(max(3*watchEvery, time.Duration(watched)*watchEvery/3))
		default:
			if watch == nil {
				if watch, err = presence.NewWatch(presence.WatchConfig{Self: l.id, Every: watchEvery}); err != nil {
					panic(err) // constants
				}
			}
			findings := watch.Look(sent, received, rows)
			for _, id := range rescues.done() {
				watch.Taken(id)
			}
			for _, dead := range findings.Dead {
				rescues.begin(dead.ID, func() bool { return l.w.rescue(ctx, dead) })
			}
			pause = findings.Next
		}
	}
}

// present asks who is present.
func (l *life) present(ctx context.Context) (watched int, mine bool, rows []presence.Row, err error) {
	answer, err := redis.Values(l.w.mesh.mesh(ctx, watchScript, l.id, watchClaim.Milliseconds()))
	if err != nil {
		return 0, false, nil, err
	}
	fields, err := redis.Scan(answer, &watched, &mine)
	if err != nil {
		return 0, false, nil, err
	}
	for field := range slices.Chunk(fields, 3) {
		row := presence.Row{Appeared: true}
		if _, err := redis.Scan(field, &row.ID, &row.Subscribers, &row.Ends); err != nil {
			return 0, false, nil, err
		}
		rows = append(rows, row)
	}
	return watched, mine, rows, nil
}

// rescue takes over from a worker that is not present any more what may be taken over Fast, and answers whether all of it is.
func (w *Worker) rescue(ctx context.Context, s presence.Suspect) bool {
	alive := false
	err := w.eachMembership(ctx, s.ID, func(at place) error {
		said, err := redis.String(w.mesh.queue(ctx, rescueScript, at.queue, at.membership, w.mesh.keys.mesh()+":worker:"+s.ID, s.Ends))
		if err != nil || said != "OK" {
			alive = alive || said == "ALIVE"
			return err
		}
		n, err := w.mesh.reclaim(ctx, at.queue, at.membership, "death", presence.JudgeGrace)
		if err == nil {
			w.hooks.reclaim(s.ID, at.queue, n)
			w.log.Info().Str("worker", s.ID).Str("queue", at.queue).Int("returned", n).Msg("worqr: taken over from a worker that is gone")
		}
		return err
	})
	if err != nil && ctx.Err() == nil {
		w.hooks.error(failed(err, "take over from worker %s", s.ID))
	}
	return err == nil && !alive
}

// rescuers take over from several workers at a time, so that the watch goes on meanwhile.
type rescuers struct {
	sync.WaitGroup
	mu      sync.Mutex
	running map[string]bool
	ended   []string
}

func (r *rescuers) begin(id string, rescue func() bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running[id] {
		return
	}
	if r.running == nil {
		r.running = map[string]bool{}
	}
	r.running[id] = true
	r.Go(func() {
		all := rescue()
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.running, id)
		if all {
			r.ended = append(r.ended, id)
		}
	})
}

// done answers from whom all has been taken over since it was last asked.
func (r *rescuers) done() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	ended := r.ended
	r.ended = nil
	return ended
}
