package simulator

import (
	"fmt"
	"slices"
	"strconv"
)

// take brings up to count tasks. Numbers whose take was not answered are asked for again, as many
// as before.
func (m *member) take(a *actor, count int64, park bool) {
	for {
		repeat := m.pending > 0
		if repeat {
			count = m.pending
		}
		parks := "0"
		if park {
			parks = "1"
		}
		r, _, known := a.call("take", m.queue, nil, m.id, strconv.FormatInt(m.next, 10), strconv.FormatInt(count, 10), parks)
		if !known {
			m.pending = count
			return
		}
		m.refused(r)
		if r.words[1] == "HELP" {
			continue
		}
		m.next += count
		m.pending = 0
		told, err := brought(m.id, r)
		if err != nil {
			m.worker.w.fail("take of %s: %w", m.id, err)
		}
		var came []*handled
		for _, p := range told {
			came = append(came, &handled{process: p, number: numberOf(p.id)})
		}
		if len(came) > 0 && m.worker.w.chance(0.1) {
			a.pause() // the answer takes its time
			if !m.worker.alive {
				m.giveBack(a, came)
				panic(ended{})
			}
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

// giveBack returns what a take brought, as if it had never been taken. It is tried also after the
// end of the life.
func (m *member) giveBack(a *actor, list []*handled) {
	over := a.over
	a.over = nil
	m.putFront(a, list)
	a.over = over
}

func (m *member) putFront(a *actor, list []*handled) {
	if len(list) == 0 {
		return
	}
	meant := settling{}
	for _, p := range slices.Backward(list) {
		meant.processes = append(meant.processes, p.process)
		meant.outcomes = append(meant.outcomes, m.worker.w.either("front", "undo"))
	}
	a.call(m.worker.w.either("settle", "hold_settle"), m.queue, meant, m.id, meant.packed())
}

// refused judges a refusal that this member got. While its worker lives nobody may fence it out.
func (m *member) refused(r reply) {
	if r.refused == "" {
		return
	}
	if word(r.refused) != "FENCED" || m.worker.alive && !m.ended {
		m.worker.w.fail("%s got %q; its worker lives: %v", m.id, r.refused, m.worker.alive)
	}
	panic(ended{})
}

// look asks what this member has missed, and mends it.
func (m *member) look(a *actor) {
	r, _, known := a.call("look", m.queue, nil, m.id, strconv.FormatInt(m.seen, 10))
	if !known {
		return
	}
	m.refused(r)
	held := int(integer(r.words[0]))
	m.seen = max(m.seen, integer(r.words[2]))
	for mark := range slices.Chunk(r.words[3:], 2) {
		for _, p := range m.inHand {
			p.canceled = p.canceled || p.token <= integer(mark[1]) && mark[0] == fingerprint(p.task)
		}
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

// compare puts back what Redis lists and this member does not know. That Redis lacks something is
// checked after every command already.
func (m *member) compare(a *actor) {
	r, _, known := a.call("held", m.queue, nil, m.id, "0", "500", "")
	if !known {
		return
	}
	m.refused(r)
	var unknown []*handled
	for row := range slices.Chunk(r.words[1:], 3) {
		n := numberOf(row[0])
		if m.inHand[n] == nil {
			q := m.worker.w.state.queues[m.queue]
			unknown = append(unknown, &handled{process: process{row[0], integer(row[1]), q.task(row[0])}, number: n})
		}
	}
	if len(unknown) > 0 {
		m.next, m.pending = m.next+m.pending, 0 // never asked for again: a copy of the put-back may run late
		m.putFront(a, unknown)
	}
}

// settles sends outcomes, one batch at a time, each until it is answered or its membership has
// ended.
func (k *worker) settles(a *actor) {
	for {
		a.over = nil
		a.pause()
		if m, batch := k.batch(); len(batch) > 0 {
			m.settling = true
			a.over = func() bool { return m.ended }
			untilEnded(func() {
				for !m.settle(a, batch) {
				}
			})
			m.settling = false
		}
	}
}

// batch picks what is to be settled next, and how.
func (k *worker) batch() (*member, []*handled) {
	if !k.alive {
		return nil, nil
	}
	m := k.members[pick(k.w, k.w.names)]
	if m == nil || m.ended {
		return nil, nil
	}
	var batch []*handled
	for n := int64(1); n < m.next && len(batch) < 3; n++ {
		if p := m.inHand[n]; p != nil && p.asked == "" && k.w.chance(0.7) {
			p.asked = pick(k.w, []string{"finish", "finish", "finish", "front", "back"})
			if k.w.persistent {
				p.asked = p.ending(k.w)
			}
			if p.canceled && k.w.chance(0.5) {
				p.asked = "cancel"
			}
			if p.asked != "" {
				batch = append(batch, p)
			}
		}
	}
	return m, batch
}

// settle sends a batch and reports whether it was answered.
func (m *member) settle(a *actor, batch []*handled) bool {
	meant := settling{}
	for _, p := range batch {
		meant.processes = append(meant.processes, p.process)
		meant.outcomes = append(meant.outcomes, p.asked)
	}
	if m.worker.w.persistent {
		m.keepLast(a, batch)
	}
	r, repeated, known := a.call(m.worker.w.either("settle", "hold_settle"), m.queue, meant, m.id, meant.packed())
	for _, p := range batch {
		p.unsure = p.unsure || repeated
	}
	if !known {
		return false
	}
	m.refused(r)
	words := outcomes(r)
	for i, p := range batch {
		delete(m.inHand, p.number)
		told := words[i]
		if told == "gone" && m.worker.w.persistent && p.asked == "finish" && !m.worker.w.books[m.queue].done[p.id] {
			continue // the task has another holder by now
		}
		if told == "gone" && !p.unsure {
			m.worker.w.fail("process %s is gone, and %s never settled it before", p.id, m.id)
		}
		if p.asked == "finish" && (told == "done" || told == "gone") {
			m.worker.w.finished(m.queue, p)
		}
	}
	return true
}

func (m *member) String() string { return fmt.Sprintf("%s of %s", m.id, m.queue) }
