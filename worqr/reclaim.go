package worqr

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/wire"
)

// place is a membership in a queue.
type place struct {
	queue, membership string
	fenced            bool // this worker has taken it out of the queue
}

// fate is why what a membership holds goes back, and of a death, how long ago at most the worker
// can have lived: see reclaim.lua.
type fate struct {
	why   string
	lived time.Duration
}

// The fates of who has not died.
var (
	lapse = fate{why: "lapse"} // no task is blamed: nobody has seen its process end
	drain = fate{why: "drain"}
)

func death(lived time.Duration) fate { return fate{"death", lived} }

// fence takes a dead worker out of its queues, and puts nothing back yet. What fails is met again
// by reclaimWorker.
func (w *Worker) fence(ctx context.Context, id string, seen bool) (done []place) {
	fate := w.fateOf(ctx, id, seen)
	_ = w.eachMembership(ctx, id, func(at place) error {
		answer, err := redis.Ints(w.mesh.queue(ctx, reclaimScript, at.queue, at.membership, 0, fate.why, fate.lived.Milliseconds()))
		if err == nil {
			at.fenced = answer[3] == 1
			done = append(done, at)
		}
		return err
	})
	return done
}

// reclaimWorker puts back what a dead worker holds and ends its registration. Any number of peers
// may do this at once. seen: its process lives on, as far as the server knows. What was fenced may
// be on its way back with another's already.
func (w *Worker) reclaimWorker(ctx context.Context, id string, seen bool, fenced []place) error {
	fate := w.fateOf(ctx, id, seen)
	reclaim := func(at place) error {
		n, mine, err := w.mesh.reclaim(ctx, at.queue, at.membership, fate)
		if err == nil && (mine || at.fenced) { // else another tells of it
			w.hooks.reclaim(id, at.queue, n)
			w.log.Info().Str("worker", id).Str("queue", at.queue).Int("returned", n).Msg("worqr: reclaimed from a dead worker")
		}
		return err
	}
	var errs []error // what cannot be mended holds up no other
	for _, at := range fenced {
		errs = append(errs, reclaim(at))
	}
	errs = append(errs, w.eachMembership(ctx, id, func(at place) error {
		if slices.ContainsFunc(fenced, func(one place) bool { return one.membership == at.membership }) {
			return nil
		}
		return reclaim(at)
	}))
	if err := errors.Join(errs...); err != nil {
		return err
	}
	err := w.mesh.wire.Strike(ctx, id)
	if errors.Is(err, wire.ErrAlive) {
		return nil
	}
	return err
}

// fateOf returns the fate of a worker that is absent. It is a lapse when its process was seen to
// live on; and when this daemon had lapsed at that time too, as another worker: so it was Redis, or
// the way to it, and no task that killed. How long ago one that died can have lived is by the
// server's clock: it may be reclaimed long after it was first seen to be absent.
func (w *Worker) fateOf(ctx context.Context, id string, seen bool) fate {
	if seen {
		return lapse
	}
	absent, err := w.mesh.wire.Absence(ctx, id)
	if err != nil {
		absent = 0 // it is not known: at least a lapse
	}
	if l := w.current(); l.before != "" && l.before != id && time.Since(l.joined) < absent+w.cfg.Lapse/2 {
		return lapse
	}
	return death(w.cfg.Lapse + w.cfg.Sweep + absent)
}

// eachMembership does something to all memberships of a dead worker, queue by queue. Its workmap
// cannot grow any more: serve needs a heartbeat.
func (w *Worker) eachMembership(ctx context.Context, id string, do func(place) error) error {
	queues, err := w.mesh.WorkingQueues(ctx, id)
	if err != nil {
		return err
	}
	var errs []error // a queue that cannot be mended holds up no other
	for _, queue := range queues {
		roll, err := w.mesh.roll(ctx, queue)
		for _, who := range roll.members {
			if err == nil && workerOf(who.id) == id {
				err = do(place{queue: queue, membership: who.id})
			}
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("queue %q: %w", queue, err))
		}
	}
	return errors.Join(errs...)
}

// reclaim takes one membership out of a queue and puts its processes back, in small steps with
// pauses, so that others have Redis in between. It answers how many went back, in steps of others,
// and in the help of takers, more may; and whether any of it was done here.
func (m *Mesh) reclaim(ctx context.Context, queue, membership string, f fate) (returned int, mine bool, err error) {
	for {
		begun := time.Now()
		answer, err := redis.Ints(m.queue(ctx, reclaimScript, queue, membership, reclaimStep, f.why, f.lived.Milliseconds()))
		if err != nil {
			return returned, mine, err
		}
		returned, mine = returned+answer[0], mine || answer[0]+answer[1]+answer[3] > 0
		if answer[2] == 0 {
			return returned, mine, nil
		}
		if err := giveWay(ctx, begun); err != nil {
			return returned, mine, err
		}
	}
}

// giveWay pauses for twice as long as a step of a reclaim took: measured, others then have three
// times their usual latency at most.
func giveWay(ctx context.Context, begun time.Time) error { return sleep(ctx, 2*time.Since(begun)) }
