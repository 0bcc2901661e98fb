package worqr

import (
	"context"
	"slices"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/heartbeat"
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
	if turn.queue != "" {
		if err := l.w.examine(ctx, turn); err != nil && ctx.Err() == nil {
			l.w.hooks.error(failed(err, "examine queue %q", turn.queue))
		}
	}
}

// turn is the queue whose turn in the rota it is, and what sweep said about the list of queues
// before.
type turn struct{ queue, notes string }

// claimFor is for how long a round is claimed, in milliseconds: a little less than from one beat to
// the next, so that a mesh of one has its round at each. Of workers that sweep at different rates a
// slow one keeps no other from it for longer than a third of the lapse, which all have in common.
func (l *life) claimFor(willing bool) int64 {
	if !willing {
		return 0
	}
	return max(1, (min(l.w.cfg.Sweep, l.w.cfg.Lapse/3) * 4 / 5).Milliseconds())
}

// sweep reads all pages and returns who is dead, which of the absent were seen to live on, and the
// turn.
func (l *life) sweep(ctx context.Context, claim bool) (dead []string, seen map[string]bool, next turn, err error) {
	total := 0
	absent := map[string]heartbeat.Absent{}
	seen = map[string]bool{}
	for cursor := "0"; ; {
		sent := time.Now()
		answer, err := redis.Values(l.w.mesh.mesh(ctx, sweepScript, l.id, l.w.cfg.Lapse.Milliseconds(), cursor, l.claimFor(claim), l.claimFor(true)))
		if err != nil {
			return nil, nil, turn{}, err
		}
		var now int64
		var run, claimed string
		var at turn
		rows, err := redis.Scan(answer, &now, &run, &claimed, &cursor, &total, &at.queue, &at.notes)
		if err != nil {
			return nil, nil, turn{}, err
		}
		l.judge.Server(run)
		l.judge.Sample(sent, time.Now(), time.Duration(now)*time.Microsecond)
		if claimed == "0" {
			return nil, nil, turn{}, nil // a peer has this round
		}
		if at.queue != "" {
			next = at
		}
		for row := range slices.Chunk(rows, 3) {
			var a heartbeat.Absent
			var lives bool
			if _, err := redis.Scan(row, &a.ID, &a.ByHand, &lives); err != nil {
				return nil, nil, turn{}, err
			}
			if a.ID != l.id { // our own lease tells us
				absent[a.ID], seen[a.ID] = a, lives
			}
		}
		if cursor == "0" {
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
func (w *Worker) examine(ctx context.Context, at turn) error {
	queue := at.queue
	roll, tidy, err := w.mesh.inspect(ctx, queue, at.notes)
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
		w.hooks.reclaim(workerOf(id), queue, n)
		w.log.Info().Str("membership", id).Str("queue", queue).Int("returned", n).Msg("worqr: reclaimed a membership without an owner")
	}
	return tidy()
}

// orphans answers which members have no owner: on their way back already; of a worker that does not
// serve this queue, as far as its workmap says, which is read afterwards and always has the queue
// before the queue has the member; or not the newest membership of their worker.
func (w *Worker) orphans(ctx context.Context, queue string, members []member) ([]string, error) {
	newest := map[string]string{}
	var orphans []string
	for _, who := range members {
		worker := workerOf(who.id)
		switch other := newest[worker]; {
		case who.returning:
			orphans = append(orphans, who.id)
		case other == "":
			newest[worker] = who.id
		default:
			older, newer := who.id, other
			if laterMembership(who.id, other) {
				older, newer = other, who.id
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
		args := []any{queue}
		for _, worker := range chunk {
			args = append(args, worker)
		}
		served, err := redis.Ints(w.mesh.mesh(ctx, servedScript, args...))
		if err != nil {
			return nil, err
		}
		for i, worker := range chunk {
			if served[i] == 0 {
				orphans = append(orphans, newest[worker])
			}
		}
	}
	return orphans, nil
}

// laterMembership compares two memberships of one worker: their numbers rise, so the longer one is
// later, and of two equally long ones the greater.
func laterMembership(a, b string) bool {
	if len(a) != len(b) {
		return len(a) > len(b)
	}
	return a > b
}
