package worqr

import (
	"cmp"
	"context"
	"crypto/sha1"
	"encoding/binary"
	"slices"
	"time"

	"github.com/worqr/worqr-go/internal/share"
	"github.com/worqr/worqr-go/internal/wire"
)

// grant is what this worker was told last: to give up n holds, as long as it has more than down.
type grant struct{ n, down int }

// claimRound is for how long a look claims the round of a persistent queue: one member in the mesh
// plans at a time.
func (m *membership) claimRound() time.Duration {
	return max(time.Millisecond, m.life.w.cfg.Beat*4/5)
}

// planRound computes from a snapshot of a queue who has to give up how much, and informs them. What
// falls to whom is not planned: hold_take.lua sees to that.
func (m *membership) planRound(ctx context.Context, round *wire.Round, waiting int) {
	if err := m.plan(ctx, round, waiting); err != nil && ctx.Err() == nil && !m.ended() {
		m.life.w.hooks.error(failed(err, "share out queue %q", m.station.name))
	}
}

func (m *membership) plan(ctx context.Context, round *wire.Round, waiting int) error {
	cfg := m.station.hold.cfg
	settling, budget := share.Settling{Window: cfg.Settle}, share.Budget{Rate: max(cfg.MoveRate, 1.0/3600)}
	members, opened := make([]share.Member, len(round.Members)), make([]time.Time, len(round.Members))
	for i, who := range round.Members {
		opened[i] = who.Opened
		sum := sha1.Sum([]byte(m.station.name + " " + who.Member))
		members[i] = share.Member{ID: who.Member, Weight: who.Weight, Limit: who.Limit, Held: who.Held, Rank: binary.BigEndian.Uint64(sum[:])}
	}
	slices.SortFunc(opened, time.Time.Compare)
	var unrest share.Unrest
	for _, at := range opened {
		unrest, _ = settling.Step(unrest, true, at)
	}
	if _, wait := settling.Step(unrest, false, round.Now); wait > 0 {
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
	bucket, n := budget.Draw(share.Bucket{Full: round.Full}, moves, round.Now)
	var grants []wire.Grant
	for _, g := range share.Grants(parts, n) {
		grants = append(grants, wire.Grant{Member: g.ID, Give: g.Give, Down: g.Down})
	}
	if len(grants) == 0 && bucket.Full.UnixMicro() >= round.Full.UnixMicro() {
		return nil // else the date lay too far ahead, as the server's clock was set back: it has to be cut down there too
	}
	return m.station.hold.wire.Grant(ctx, bucket.Full, grants)
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
	if p.past.Why == ReasonDeath {
		return 1
	}
	return 0
}
