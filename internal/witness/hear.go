package witness

import (
	"fmt"
	"time"
)

// hear takes in a statement.
func (s *session) hear(m message, received time.Duration) error {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	if s.seq++; m.Seq != s.seq {
		return fmt.Errorf("statement %d where %d was due", m.Seq, s.seq)
	}
	at, err := s.offset.place(m.At, received)
	if err != nil {
		return err
	}
	s.late = max(s.late, received-at.hi)
	if received-at.hi > s.w.cfg.Every {
		s.w.tally.Late++
	}
	switch m.Op {
	case begin:
		return s.begin(m, at, received)
	case still:
		return s.still(m, at, received)
	case end:
		return s.end(m, at)
	}
	return fmt.Errorf("an unknown statement %d", m.Op)
}

func (s *session) begin(m message, at instant, received time.Duration) error {
	if m.ID <= s.top {
		return fmt.Errorf("hold %d begins after hold %d", m.ID, s.top)
	}
	s.top = m.ID
	k := s.w.keys[m.Key]
	if k == nil {
		k = &key{name: m.Key}
		s.w.keys[m.Key] = k
	}
	if k.past.any && at.lo < k.past.until {
		s.w.tally.fault(received, s.name, fmt.Sprintf("%q: token %d began %v before the end of a span that is forgotten: raise Config.Keep",
			m.Key, m.Token, k.past.until-at.lo))
	}
	p := &span{key: k, from: s, id: m.ID, token: m.Token, reason: m.Reason, begin: at, told: at}
	s.spans[m.ID] = p
	s.w.tally.Holds++
	k.insert(p)
	s.w.fold(k)
	return nil
}

func (s *session) still(m message, at instant, received time.Duration) error {
	if m.At < s.stamp || m.UpTo < s.upTo || m.UpTo > s.top {
		return fmt.Errorf("tick at %v up to hold %d, after %v up to %d of %d", m.At, m.UpTo, s.stamp, s.upTo, s.top)
	}
	for _, id := range m.Refused {
		p := s.spans[id]
		if p == nil || p.state != held {
			return fmt.Errorf("hold %d refuses that it did not confirm", id)
		}
		by, err := s.offset.place(m.Asked, received)
		if err != nil {
			return err
		}
		p.told = p.last() // without this tick
		p.state, p.denied, p.refused = stopping, true, by
	}
	s.stamp, s.upTo, s.tick = m.At, m.UpTo, s.tick.later(at)
	return nil
}

func (s *session) end(m message, at instant) error {
	p := s.spans[m.ID]
	if p == nil {
		return fmt.Errorf("hold %d ends and was not held", m.ID)
	}
	if p.state == held && p.id <= s.upTo && m.At < s.stamp {
		return fmt.Errorf("hold %d ended at %v, a tick states that it was held at %v", m.ID, m.At, s.stamp)
	}
	p.told = p.last()
	if m.Held {
		p.told = p.told.later(at)
	}
	p.end, p.state = at, ended
	delete(s.spans, m.ID)
	s.w.fold(p.key)
	return nil
}

func (w *Witness) fold(k *key) {
	w.tally.now = w.clock.now()
	k.fold(w.cfg.Keep, &w.tally)
}
