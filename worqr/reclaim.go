package worqr

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

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
	why   wire.Why
	lived time.Duration
}

// The fates of who has not died.
var (
	lapse = fate{why: wire.WhyLapse} // no task is blamed: nobody has seen its process end
	drain = fate{why: wire.WhyDrain}
)

func death(lived time.Duration) fate { return fate{wire.WhyDeath, lived} }

// fence takes a dead worker out of its queues, and puts nothing back yet. What fails is met again
// by reclaimWorker.
func (w *Worker) fence(ctx context.Context, id string, seen bool) (done []place) {
	fate := w.fateOf(ctx, id, seen)
	_ = w.eachMembership(ctx, id, func(at place) error {
		step, err := w.mesh.wire.Queue(at.queue).Reclaim(ctx, wire.Reclaim{Member: at.membership, Why: fate.why, Lived: fate.lived})
		if err == nil {
			at.fenced = step.Fenced
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
			if err == nil && wire.WorkerOf(who.ID) == id {
				err = do(place{queue: queue, membership: who.ID})
			}
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("queue %q: %w", queue, err))
		}
	}
	return errors.Join(errs...)
}

// reclaim takes one membership out of a queue and puts its processes back, in small steps with
// pauses, so that others have Redis in between. It returns how many went back, in steps of others,
// and in the help of takers, more may; and whether any of it was done here.
func (m *Mesh) reclaim(ctx context.Context, queue, membership string, f fate) (returned int, mine bool, err error) {
	calls := m.wire.Queue(queue)
	for {
		begun := time.Now()
		step, err := calls.Reclaim(ctx, wire.Reclaim{Member: membership, Budget: reclaimStep, Why: f.why, Lived: f.lived})
		if err != nil {
			return returned, mine, err
		}
		returned += step.Returned
		mine = mine || step.Returned+step.Dropped > 0 || step.Fenced
		if !step.More {
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
