package witness

import (
	"context"
	"slices"
	"time"
)

// Hold is one thing that a holder holds.
type Hold struct {
	t     *Teller
	id    uint64
	at    int // in holds; -1 when its ticks have ended
	valid func() bool
	done  bool
}

// Hold states that the holder has the key now, and for which reason. Call it before you act on the
// key. From now on valid is called at every tick; it reports whether the key is still held. A nil
// valid means until Done. After valid has returned false it is not called again: it must never go
// back to true. It may be called by several goroutines, must not block, and must not use the
// teller.
func (t *Teller) Hold(key string, token int64, reason string, valid func() bool) *Hold {
	if valid == nil {
		valid = func() bool { return true }
	}
	h := &Hold{t: t, at: -1, valid: valid}
	at := t.clock.now()
	if !valid() { // it held before, nobody knows how long, so nothing is stated
		h.done = true
		return h
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.top++
	h.id, h.at = t.top, len(t.holds)
	t.holds = append(t.holds, h)
	t.say(message{Op: begin, At: at, ID: h.id, Key: key, Token: token, Reason: reason})
	return h
}

// Done states that the holder has stopped acting on the key. Call it before you hand the key over:
// if valid is still true, the key was held until then. A second call does nothing.
func (h *Hold) Done() {
	t := h.t
	t.mu.Lock()
	defer t.mu.Unlock()
	if h.done {
		return
	}
	h.done = true
	// Under the lock, so that no tick of a later instant can name it.
	at := t.clock.now()
	t.say(message{Op: end, At: at, ID: h.id, Held: h.at >= 0 && h.valid()})
	t.drop(h)
}

// drop removes h from the ticks.
func (t *Teller) drop(h *Hold) {
	if h.at < 0 {
		return
	}
	last := len(t.holds) - 1
	t.holds[h.at] = t.holds[last]
	t.holds[h.at].at = h.at
	t.holds[last] = nil
	t.holds = t.holds[:last]
	h.at = -1
}

// tick states at every interval which holds are still valid: all but those that it names.
func (t *Teller) tick(ctx context.Context) {
	ticker := time.NewTicker(t.every)
	defer ticker.Stop()
	var asked, no []*Hold
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.gone:
			return
		case <-ticker.C:
		}
		m := message{Op: still, At: t.clock.now()} // before any valid is called
		t.mu.Lock()
		asked, m.UpTo = append(asked[:0], t.holds...), t.top
		t.mu.Unlock()
		no = no[:0]
		for _, h := range asked {
			if !h.valid() {
				no = append(no, h)
			}
		}
		m.Asked = t.clock.now()
		t.mu.Lock()
		for _, h := range no {
			if h.at >= 0 { // it was not done meanwhile
				m.Refused = append(m.Refused, h.id)
				t.drop(h)
			}
		}
		slices.Sort(m.Refused)
		t.say(m)
		t.mu.Unlock()
		clear(asked) // it must not keep alive what is done
	}
}
