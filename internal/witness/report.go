package witness

import (
	"cmp"
	"context"
	"encoding/gob"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Report is what the witness knows at one instant. All instants are counted from Zero, which is
// when the witness was made, on the machine's clock.
type Report struct {
	Zero time.Duration `json:"zero"`
	Now  time.Duration `json:"now"`
	Totals
	Gaps     map[string]Gaps `json:"gaps"`     // by the reason of the move
	Overlaps []Overlap       `json:"overlaps"` // the first thousand
	Falls    []Fall          `json:"falls"`
	Faults   []Fault         `json:"faults"`
	Keys     []Key           `json:"keys"` // by name
	Holders  []Holder        `json:"holders"`
}

// Gaps are the times that keys were without a certain holder.
type Gaps struct {
	Count int           `json:"count"`
	P50   time.Duration `json:"p50"` // at most a sixteenth too long, as are the next two
	P90   time.Duration `json:"p90"`
	P99   time.Duration `json:"p99"`
	Max   time.Duration `json:"max"`
}

// Key is one thing that is held.
type Key struct {
	Key    string        `json:"key"`
	State  string        `json:"state"`  // held, silent (its holder has missed three ticks), stopping, or free
	Holder string        `json:"holder"` // who held it last
	Token  int64         `json:"token"`
	Since  time.Duration `json:"since"` // its begin
	Last   time.Duration `json:"last"`  // the latest instant it was certainly held
	Lost   bool          `json:"lost"`
	Spans  []Span        `json:"spans"` // the latest, by their begins
	Moves  []Move        `json:"moves"` // by which these came
}

// Span is one hold by one holder. Last is the earliest bound of an uncertain instant, the others
// are the latest.
type Span struct {
	Holder  string        `json:"holder"`
	Token   int64         `json:"token"`
	Reason  string        `json:"reason"`
	State   string        `json:"state"` // held, stopping, ended or cut
	Begin   time.Duration `json:"begin"`
	Last    time.Duration `json:"last"`              // the latest instant it was certainly held
	Refused time.Duration `json:"refused,omitempty"` // its holder stated that it no longer holds
	End     time.Duration `json:"end,omitempty"`     // it has stopped
}

// Holder is all that was heard under one name.
type Holder struct {
	Holder    string        `json:"holder"`
	Connected int           `json:"connected"`
	Sessions  int           `json:"sessions"` // ever
	Holds     int           `json:"holds"`    // now
	Last      time.Duration `json:"last"`     // its last tick
	Doubt     time.Duration `json:"doubt"`    // the uncertainty of its clock
	Late      time.Duration `json:"late"`     // the longest time that a statement took
}

// Report returns what is known now. It costs some microseconds for every key.
func (w *Witness) Report() Report {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.tally.clone()
	if !w.closed {
		t.now = w.clock.now()
	}
	r := Report{Zero: t.zero, Now: t.since(t.now), Gaps: map[string]Gaps{}}
	for _, name := range slices.Sorted(maps.Keys(w.keys)) {
		r.Keys = append(r.Keys, w.key(w.keys[name], t))
	}
	for _, name := range slices.Sorted(maps.Keys(w.holders)) {
		r.Holders = append(r.Holders, t.holder(w.holders[name]))
	}
	for reason, h := range t.gaps {
		r.Gaps[reason] = Gaps{h.n, h.quantile(0.5), h.quantile(0.9), h.quantile(0.99), h.max}
	}
	r.Totals, r.Overlaps, r.Falls, r.Faults = t.Totals, t.overlaps, t.falls, t.faults
	return r
}

// key judges the spans that are not folded, and adds what it finds to t.
func (w *Witness) key(k *key, t *tally) Key {
	out := Key{Key: k.name, State: "free", Holder: k.past.holder, Last: k.past.last}
	if !k.past.any {
		out.Last = t.zero
	}
	for i, p := range k.spans {
		if !p.counted {
			t.arrival(k, i)
		}
		if m, moved, _ := k.came(i); moved {
			m.At = t.since(m.At)
			out.Moves = append(out.Moves, m)
		}
		for _, q := range k.spans[:i] {
			t.meeting(k, q, p)
		}
		out.Spans = append(out.Spans, t.span(p))
		if last := p.last().lo; last >= out.Last {
			out.Holder, out.Token, out.Since, out.Last = p.from.name, p.token, t.since(p.begin.hi), last
			switch out.State = p.state.String(); {
			case p.settled():
				out.State = "free"
			case p.state == held && t.now-last > 3*w.cfg.Every:
				out.State = "silent"
			}
		}
	}
	if t.lost > 0 && t.now-out.Last > t.lost {
		out.Lost = true
		t.Lost++
	}
	out.Last = t.since(out.Last)
	return out
}

func (t *tally) span(p *span) Span {
	s := Span{Holder: p.from.name, Token: p.token, Reason: p.reason, State: p.state.String(),
		Begin: t.since(p.begin.hi), Last: t.since(p.last().lo)}
	if p.denied {
		s.Refused = t.since(p.refused.hi)
	}
	if p.settled() {
		s.End = t.since(p.end.hi)
	}
	return s
}

func (t *tally) holder(h *holder) Holder {
	out := Holder{Holder: h.name, Connected: len(h.sessions), Sessions: h.ever, Late: h.late}
	for s := range h.sessions {
		out.Holds += len(s.spans)
		out.Last = max(out.Last, s.tick.lo)
		if !s.offset.shared {
			by := s.offset.around(t.now)
			out.Doubt = max(out.Doubt, by.hi-by.lo)
		}
	}
	out.Last = max(0, t.since(out.Last)) // it may not have ticked
	return out
}

// Ask returns the report of a witness in another process. An addr with a slash is a unix socket.
func Ask(ctx context.Context, addr string) (Report, error) {
	conn, err := connect(ctx, addr)
	if err != nil {
		return Report{}, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	var m message
	err = gob.NewEncoder(conn).Encode(message{Op: inquire})
	if err == nil {
		err = gob.NewDecoder(conn).Decode(&m)
	}
	if err == nil && m.Report == nil {
		err = fmt.Errorf("unexpected reply %d", m.Op)
	}
	if err != nil {
		return Report{}, fmt.Errorf("witness: ask %s for its report: %w", addr, cmp.Or(context.Cause(ctx), err))
	}
	return *m.Report, nil
}
