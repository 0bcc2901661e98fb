package worqr

import (
	"context"
	"slices"
	"time"

	"github.com/worqr/worqr-go/heartbeat"
	"github.com/worqr/worqr-go/internal/wire"
)

// round is one look at the heartbeats of all peers. One peer in the mesh does it each interval: its
// beat has claimed it. Where beats are further apart than rounds, it is claimed here. Whoever is in
// doubt claims nothing and looks all the same, for its notes are verdicts later.
func (l *life) round(ctx context.Context) {
	l.rounds.Store(true)
	defer l.rounds.Store(false)
	l.judge.Late(l.lease.LastLate())
	claim := !l.judge.InDoubt()
	mine, due := l.mine.Swap(false), l.judge.Due() // notes are this judge's own: nobody else acts on them
	if claim && !mine && !due && time.Since(time.Unix(0, l.claimed.Load())) < l.w.cfg.Sweep*5/4 {
		return // a peer does it
	}
	dead, seen, turn, err := l.sweep(ctx, claim && (mine || !due))
	if err != nil {
		l.failing.Store(true)
		if ctx.Err() == nil {
			l.w.hooks.error(failed(err, "sweep"))
		}
		return
	}
	fenced := map[string][]place{}
	if len(dead) > 1 {
		// All of them first, so that what they held of one queue comes back in one order.
		for _, id := range dead {
			fenced[id] = l.w.fence(ctx, id, seen[id])
		}
	}
	for _, id := range dead {
		if err := l.w.reclaimWorker(ctx, id, seen[id], fenced[id]); err != nil && ctx.Err() == nil {
			// it stays registered, so the next round tries again
			l.w.hooks.error(failed(err, "reclaim worker %s", id))
		}
	}
	if turn.Queue != "" {
		if err := l.w.examine(ctx, turn); err != nil && ctx.Err() == nil {
			l.w.hooks.error(failed(err, "examine queue %q", turn.Queue))
		}
	}
}

// claimFor is for how long a round is claimed: a little less than from one beat to
// the next, so that a mesh of one has its round at each. Of workers that sweep at different rates a
// slow one keeps no other from it for longer than a third of the lapse, which all have in common.
func (l *life) claimFor(willing bool) time.Duration {
	if !willing {
		return 0
	}
	return max(time.Millisecond, min(l.w.cfg.Sweep, l.w.cfg.Lapse/3)*4/5)
}

// sweep reads all pages and returns who is dead, which of the absent were seen to live on, and the
// turn.
func (l *life) sweep(ctx context.Context, claim bool) (dead []string, seen map[string]bool, next wire.Turn, err error) {
	total := 0
	absent := map[string]heartbeat.Absent{}
	seen = map[string]bool{}
	for cursor := "0"; ; {
		sent := time.Now()
		page, err := l.w.mesh.wire.Sweep(ctx, wire.Sweep{
			Worker: l.id, Lapse: l.w.cfg.Lapse, Cursor: cursor, Claim: l.claimFor(claim), ClaimTurn: l.claimFor(true),
		})
		if err != nil {
			return nil, nil, wire.Turn{}, err
		}
		l.judge.Server(page.Run)
		l.judge.Sample(sent, time.Now(), page.Clock)
		if !page.Granted {
			return nil, nil, wire.Turn{}, nil // a peer has this round
		}
		if page.Turn.Queue != "" {
			next = page.Turn
		}
		for _, a := range page.Absent {
			if a.ID != l.id { // our own lease tells us
				absent[a.ID], seen[a.ID] = heartbeat.Absent{ID: a.ID, ByHand: a.ByHand}, a.Lives
			}
		}
		total = page.Workers
		if cursor = page.Next; cursor == "0" {
			break
		}
	}
	list := make([]heartbeat.Absent, 0, len(absent))
	for _, a := range absent {
		list = append(list, a)
	}
	return l.judge.Round(total, list), seen, next, nil
}

// examine is the rota's look at one queue, for what two slots cannot do in one step: a member
// without an owner is reclaimed, a reclaim that its peer left half-way is completed, marks that
// concern nobody go, and so does the queue from the list when it is empty and nobody serves it.
func (w *Worker) examine(ctx context.Context, at wire.Turn) error {
	queue := at.Queue
	roll, tidy, err := w.mesh.inspect(ctx, queue, at.Notes)
	if err != nil {
		return err
	}
	orphans, err := w.orphans(ctx, queue, roll.members)
	if err != nil {
		return err
	}
	for _, id := range orphans {
		// Whose end was seen is fenced by who saw it. An orphan is what a late copy or a lost
		// answer left.
		n, mine, err := w.mesh.reclaim(ctx, queue, id, lapse)
		if err != nil {
			return err
		}
		if !mine {
			continue // another tells of it
		}
		w.hooks.reclaim(wire.WorkerOf(id), queue, n)
		w.log.Info().Str("membership", id).Str("queue", queue).Int("returned", n).Msg("worqr: reclaimed a membership without an owner")
	}
	return tidy()
}

// orphans returns which members have no owner: on their way back already; of a worker that does not
// serve this queue, as far as its workmap says, which is read afterwards and always has the queue
// before the queue has the member; or not the newest membership of their worker.
func (w *Worker) orphans(ctx context.Context, queue string, members []wire.Member) ([]string, error) {
	newest := map[string]string{}
	var orphans []string
	for _, who := range members {
		worker := wire.WorkerOf(who.ID)
		switch other := newest[worker]; {
		case who.Returning:
			orphans = append(orphans, who.ID)
		case other == "":
			newest[worker] = who.ID
		default:
			older, newer := who.ID, other
			if wire.LaterMembership(who.ID, other) {
				older, newer = other, who.ID
			}
			newest[worker] = newer
			orphans = append(orphans, older)
		}
	}
	workers := make([]string, 0, len(newest))
	for worker := range newest {
		workers = append(workers, worker)
	}
	for chunk := range slices.Chunk(workers, chunkTasks) {
		served, err := w.mesh.wire.Served(ctx, queue, chunk)
		if err != nil {
			return nil, err
		}
		for i, worker := range chunk {
			if !served[i] {
				orphans = append(orphans, newest[worker])
			}
		}
	}
	return orphans, nil
}
