package simulator

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// holdTake is take for persistent tasks.
func (m *member) holdTake(a *actor, count int64) {
	for {
		repeat := m.pending > 0
		if repeat {
			count = m.pending
		}
		r, _, known := a.call("hold_take", m.queue, nil, m.id, strconv.FormatInt(m.next, 10), strconv.FormatInt(count, 10))
		if !known {
			m.pending = count
			return
		}
		m.refused(r)
		m.next += count
		m.pending = 0
		told, err := broughtHolds(m.id, r)
		if err != nil {
			m.worker.w.fail("take of %s: %w", m.id, err)
		}
		var came []*handled
		for _, p := range told {
			m.worker.w.goesOn(m.queue, p)
			why, _, _ := strings.Cut(p.past, " ")
			came = append(came, &handled{process: p.process, number: numberOf(p.id), why: why})
		}
		if len(came) > 0 && m.worker.w.chance(0.1) {
			a.pause() // the answer takes its time
		}
		if m.ended || !m.worker.alive {
			m.giveBack(a, came)
			panic(ended{})
		}
		for _, p := range came {
			m.inHand[p.number] = p
		}
		if repeat && len(came) == 0 {
			continue
		}
		if len(came) > 1 && m.worker.w.chance(0.1) { // more than there are slots
			for _, p := range came[1:] {
				delete(m.inHand, p.number)
			}
			m.giveBack(a, came[1:])
		}
		return
	}
}

// goesOn checks that who takes a task gets a checkpoint that is no older than the last one whose
// write was answered.
func (w *world) goesOn(queue string, p holdTold) {
	kept, was := w.books[queue].kept[fingerprint(p.task)]
	var got checkpoint
	if _, data, is := strings.Cut(p.past, "\n"); is {
		if _, err := fmt.Sscan(data, &got.token, &got.count); err != nil {
			w.fail("process %s got the checkpoint %q: %w", p.id, data, err)
		}
	}
	if was && got.before(kept) {
		w.fail("process %s got the checkpoint %v, and %v had been kept before", p.id, got, kept)
	}
}

// write writes a checkpoint, which tells of itself.
func (m *member) write(a *actor, p *handled) {
	p.written++
	c := checkpoint{token: p.token, count: p.written}
	r, _, known := a.call("checkpoint", m.queue, nil, m.id, strconv.FormatInt(p.number, 10), strconv.FormatInt(p.token, 10),
		strconv.FormatInt(c.count, 10), fmt.Sprintf("%d %d", c.token, c.count))
	if !known {
		return
	}
	m.refused(r)
	kept := m.worker.w.books[m.queue].kept
	if fp := fingerprint(p.task); r.words[0] == "kept" && kept[fp].before(c) {
		kept[fp] = c
	}
}

// keepLast writes some last checkpoints before their tasks are given away.
func (m *member) keepLast(a *actor, batch []*handled) {
	for _, p := range batch {
		if w := m.worker.w; !w.draining && w.chance(0.3) {
			m.write(a, p)
		}
	}
}

// giveUp begins to hand over n tasks.
func (m *member) giveUp(n int64) {
	for range n {
		p := m.any(func(p *handled) bool { return p.asked == "" && p.leaving == "" && !p.moves })
		switch {
		case p == nil:
			return
		case m.worker.w.overlap:
			p.moves = true
		default:
			p.leaving = "rebalance"
		}
	}
}

// offers reports whether a process offers its task.
func (p *handled) offers() bool { return p.moves && p.asked == "" && p.leaving == "" }

// ending is how the settler ends a process, "" for not yet.
func (p *handled) ending(w *world) string {
	switch {
	case p.leaving != "":
		return p.leaving
	case p.moves && w.chance(0.8), w.chance(0.6):
		return ""
	}
	return pick(w, []string{"finish", "later", "later", "drain", "front", "undo"})
}

// seeOffers offers what is to move, and ends what has moved.
func (m *member) seeOffers(a *actor) {
	for n := int64(1); n < m.next; n++ {
		p := m.inHand[n]
		if p == nil || !p.offers() {
			continue
		}
		r, _, known := a.call("offer", m.queue, nil, m.id, strconv.FormatInt(p.number, 10), strconv.FormatInt(p.token, 10))
		if !known {
			if m.worker.w.chance(0.2) {
				p.leaving = "rebalance" // it was not known for a lapse where the task is
			}
			continue
		}
		m.refused(r)
		if word := r.words[0]; word == "ready" || word == "taken" && m.worker.w.chance(0.2) { // for a lapse
			p.leaving = "rebalance"
		}
	}
}

// holdLook is look for persistent tasks.
func (m *member) holdLook(a *actor) {
	m.seeOffers(a)
	claim := pick(m.worker.w, []string{"0", lapse})
	r, _, known := a.call("hold_look", m.queue, nil, m.id, strconv.FormatInt(m.seen, 10), claim)
	if !known {
		return
	}
	m.refused(r)
	held := int(integer(r.words[0]))
	m.seen = max(m.seen, integer(r.words[2]))
	round, marks := looked(r)
	for mark := range slices.Chunk(marks, 2) {
		for _, p := range m.inHand {
			p.canceled = p.canceled || p.token <= integer(mark[1]) && mark[0] == fingerprint(p.task)
		}
	}
	if len(round) > 0 {
		m.plan(a, round)
	}
	settling := 0
	for _, p := range m.inHand {
		if p.asked != "" {
			settling++
		}
	}
	if held <= len(m.inHand) && held >= len(m.inHand)-settling {
		return
	}
	m.compare(a)
}

// plan has members give up tasks: as many as chance has it, as nothing may depend on that.
func (m *member) plan(a *actor, round []roundRow) {
	w := m.worker.w
	to := map[string]int64{}
	args := []string{strconv.FormatInt(w.rng.Int64N(1<<50), 10)}
	for _, row := range round {
		if row.held > 0 && w.chance(0.5) {
			n := 1 + w.rng.Int64N(int64(row.held))
			to[row.m] = n
			args = append(args, row.m, strconv.FormatInt(n, 10), strconv.FormatInt(int64(row.held)-n, 10))
		}
	}
	if _, _, known := a.call("grant", m.queue, nil, args...); !known {
		return
	}
	for _, k := range w.workers {
		if one := k.members[m.queue]; one != nil && w.chance(0.8) { // a hint may be lost
			one.granted = to[one.id]
		}
	}
}
