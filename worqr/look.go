package worqr

import (
	"context"
	"errors"

	"github.com/worqr/worqr-go/internal/wire"
)

// look asks Redis what this membership has missed: that it was fenced, cancels, takes whose answer
// was lost, tasks that wait. It returns how many wait.
func (m *membership) look(ctx context.Context) (waiting int, err error) {
	if err := m.have(ctx); err != nil {
		return 0, err
	}
	defer m.release()
	claim := m.claimRound()
	m.seeOffers(ctx)
	m.mu.Lock()
	before := len(m.inHand) // it only shrinks now: no take is under way
	m.mu.Unlock()
	held := 0
	for more := true; more; {
		m.mu.Lock()
		since := m.seen
		m.mu.Unlock()
		seen, err := m.station.wire.Look(ctx, wire.Look{Member: m.id, Since: since, Claim: claim})
		if errors.Is(err, ErrFenced) {
			m.fenced()
		}
		if err != nil {
			return 0, failed(err, "look at queue %q", m.station.name)
		}
		held, waiting = seen.Held, seen.Waiting
		if seen.Round != nil {
			claim = 0
			defer m.planRound(ctx, seen.Round, waiting)
		}
		m.marked(seen)
		more = seen.More
	}
	return waiting, m.compare(ctx, before, held)
}

// marked applies cancel marks. A full page leaves more to ask for.
func (m *membership) marked(seen wire.Looked) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var last int64
	marks := map[string]int64{}
	for _, mark := range seen.Marks {
		last = mark.Mark
		marks[mark.Fingerprint] = mark.Mark
	}
	for _, p := range m.inHand {
		if p.token <= last && p.token <= marks[p.fingerprint()] {
			p.end(ErrCanceled)
		}
	}
	if !seen.More {
		last = seen.Newest
	}
	m.seen = max(m.seen, last)
}

// compare mends a difference between what Redis lists and what this worker knows: what it does not
// know it puts back (the answer of a take was lost, or an old copy of one came late), what Redis
// does not list has ended. The caller has the turn, so no take is under way; what was in hand
// before and is being settled may be listed or not. In a membership that has ended nothing is
// unknown: what was worked on is forgotten here and returns with all the rest, with its reason.
func (m *membership) compare(ctx context.Context, before, held int) error {
	m.mu.Lock()
	unsettled := 0
	mine := map[int64]bool{}
	for number, p := range m.inHand {
		mine[number] = true
		if p.asked() == "" {
			unsettled++
		}
	}
	m.mu.Unlock()
	if m.ended() || !m.stray && held <= before && held >= unsettled {
		return nil
	}
	listed, err := m.life.w.mesh.held(ctx, m.station.name, m.id, "")
	if err != nil {
		return failed(err, "compare the processes of queue %q", m.station.name)
	}
	var unknown, missing []*Process
	there := map[int64]bool{}
	m.mu.Lock()
	for _, info := range listed {
		number, ours := wire.NumberOf(m.id, info.ID)
		if !ours {
			continue // nobody made such an id
		}
		there[number] = true
		if !mine[number] {
			unknown = append(unknown, &Process{number: number, token: info.Token})
		}
	}
	for number, p := range m.inHand {
		if there[number] {
			continue
		}
		if first, _ := p.claim(gone); first { // else the settler learns what became of it
			delete(m.inHand, number)
			missing = append(missing, p)
		}
	}
	m.mu.Unlock()
	for _, p := range missing {
		p.end(ErrGone)
		p.conclude(gone, nil)
	}
	if len(unknown) > 0 {
		// A copy of the put-back may run late, so what a take without an answer asked for is never
		// asked for again.
		m.next += int64(m.pending)
		m.pending = 0
		m.life.w.log.Warn().Str("queue", m.station.name).Int("processes", len(unknown)).Msg("worqr: put back processes whose take was not answered")
	}
	err = m.putFront(ctx, unknown)
	m.stray = err != nil
	return err
}
