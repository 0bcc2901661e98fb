package worqr

import (
	"cmp"
	"context"
	"crypto/sha1"
	"encoding/binary"
	"slices"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/share"
)

// grant is what this worker was told last: to give up n holds, as long as it has more than down.
type grant struct{ n, down int }

// claimRound is for how long a look claims the round of a persistent queue: one member in the mesh
// plans at a time.
func (m *membership) claimRound() int64 { return max(1, (m.life.w.cfg.Beat * 4 / 5).Milliseconds()) }

// planRound computes from a snapshot of a queue who has to give up how much, and tells them. What
// falls to whom is not planned: hold_take.lua sees to that.
func (m *membership) planRound(ctx context.Context, round []any, waiting int) {
	var now, full int64
	rows, err := redis.Scan(round, &now, &full)
	var members []share.Member
	var since []int64
	for row := range slices.Chunk(rows, 5) {
		var at int64
		member := share.Member{}
		if err == nil {
			_, err = redis.Scan(row, &member.ID, &member.Weight, &member.Limit, &at, &member.Held)
		}
		sum := sha1.Sum([]byte(m.station.name + " " + member.ID))
		member.Rank = binary.BigEndian.Uint64(sum[:])
		members, since = append(members, member), append(since, at)
	}
	if err == nil {
		err = m.plan(ctx, members, since, waiting, now, full)
	}
	if err != nil && ctx.Err() == nil && !m.ended() {
		m.life.w.hooks.error(failed(err, "share out queue %q", m.station.name))
	}
}

func (m *membership) plan(ctx context.Context, members []share.Member, since []int64, waiting int, now, full int64) error {
	cfg := m.station.hold.cfg
	settling, budget := share.Settling{Window: cfg.Settle}, share.Budget{Rate: max(cfg.MoveRate, 1.0/3600)}
	slices.Sort(since)
	var unrest share.Unrest
	for _, at := range since {
		unrest, _ = settling.Step(unrest, true, time.UnixMicro(at))
	}
	if _, wait := settling.Step(unrest, false, time.UnixMicro(now)); wait > 0 {
		return nil
	}
	parts, err := share.Plan(members, waiting)
	if err != nil {
		return err
	}
	moves := share.Moves(parts)
	if moves == 0 {
		return nil
	}
	bucket, n := budget.Draw(share.Bucket{Full: time.UnixMicro(full)}, moves, time.UnixMicro(now))
	args := []any{bucket.Full.UnixMicro()}
	for _, g := range share.Grants(parts, n) {
		args = append(args, g.ID, g.Give, g.Down)
	}
	if len(args) == 1 && bucket.Full.UnixMicro() >= full {
		return nil // else the date lay too far ahead, as the server's clock was set back: it has to be cut down there too
	}
	_, err = m.life.w.mesh.queue(ctx, grantScript, m.station.name, args...)
	return err
}

// giveUp ends as many holds as was granted: the youngest, which have the least behind them, but
// those last that came from a death, so that the same tasks do not follow a process that keeps
// dying. What was ended before and has not returned yet counts as given up.
func (m *membership) giveUp() {
	g := m.grant.Swap(nil)
	if g == nil {
		return
	}
	var live []*Process
	for _, p := range m.processes() {
		if p.ended() == nil && p.asked() == "" && !m.moving(p) {
			live = append(live, p)
		}
	}
	slices.SortFunc(live, func(a, b *Process) int {
		return cmp.Or(cmp.Compare(fromDeath(a), fromDeath(b)), cmp.Compare(b.token, a.token))
	})
	for _, p := range live[:max(0, min(g.n, len(live)-g.down))] {
		if m.station.hold.cfg.MakeBeforeBreak {
			m.offer(p)
		} else {
			p.end(ErrHandover)
		}
	}
}

func fromDeath(p *Process) int {
	if p.past.Why == Death {
		return 1
	}
	return 0
}
