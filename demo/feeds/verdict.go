package main

import (
	"context"
	"fmt"
	"time"
)

// verdict is the report at the end.
type verdict struct {
	OK       bool            `json:"ok"`
	Overlap  int             `json:"overlap"`  // times that two certainly held a feed at once
	Possible int             `json:"possible"` // times that the witness cannot rule it out
	Falls    int             `json:"falls"`    // tokens that were not above those before
	Faults   int             `json:"faults"`   // what the witness could not judge
	Feeds    int             `json:"feeds"`
	Held     int             `json:"held"` // at the end
	Gaps     map[string]gaps `json:"gaps"` // by Process.Past().Why
	Lines    lines           `json:"lines"`
	Wrong    []string        `json:"wrong,omitempty"`
}

// judge looks who holds the feeds at the end: the witness, the server of feeds and Locate must
// agree on each.
func (s *show) judge(ctx context.Context) (verdict, error) {
	var v verdict
	for until := time.Now().Add(5 * time.Second); ; { // a holder that only was slow to speak is given the time
		s.look()
		v = verdict{Feeds: len(s.feeds), Gaps: gapsOf(s.seen)}
		connected, _ := s.server.connections()
		holder := map[string]string{}
		for _, k := range s.seen.Keys {
			if k.State == "held" {
				holder[k.Key] = k.Holder
			}
		}
		for _, feed := range s.feeds {
			at, located, err := s.locate(ctx, feed)
			switch {
			case ctx.Err() != nil:
				return v, ctx.Err()
			case err != nil:
				v.wrong("%v", err)
			case holder[feed] == "" || at.State != "held" || located != holder[feed] || connected[feed] != 1:
				v.wrong("%s: the witness says it is held by %q, Locate says %s by %q, the server says it has %d connections",
					feed, holder[feed], at.State, located, connected[feed])
			default:
				v.Held++
			}
		}
		if v.Held == v.Feeds || time.Now().After(until) {
			return v, nil
		}
		select {
		case <-time.After(lookEvery):
		case <-ctx.Done():
			return v, ctx.Err()
		}
	}
}

// conclude adds what is known when all holders have ended, prints the verdict, and returns errWrong
// when it is bad.
func (s *show) conclude(v verdict) error {
	last := s.witness.Report()
	v.Overlap, v.Possible, v.Falls, v.Faults = last.Totals.Overlaps, last.Possible, last.Totals.Falls, last.Totals.Faults
	_, v.Lines = s.server.connections()
	for _, o := range last.Overlaps {
		v.wrongIf(o.Certain, "%s", o)
	}
	for _, f := range last.Falls {
		v.wrong("token of %s falls: %d by %s", f.Key, f.Span.Token, f.Span.Holder)
	}
	for _, f := range last.Faults {
		v.wrong("the witness could not judge %s: %s", f.Holder, f.What)
	}
	for _, m := range s.fleet.members {
		v.wrongIf(m.fate != "killed" && m.err != nil, "%s ended by %v", m.name, m.err)
	}
	v.wrongIf(v.Lines.Missed > 0, "%d lines were missed", v.Lines.Missed)
	v.OK = len(v.Wrong) == 0 && v.Overlap == 0 && v.Held == v.Feeds
	s.screen.close()
	if s.screen.json != nil {
		s.screen.say(event{Event: "report", Verdict: &v}, "")
	} else {
		s.screen.print(v.text(last.Holds, len(last.Holders)))
	}
	if !v.OK {
		return errWrong
	}
	return nil
}

func (v *verdict) wrong(format string, args ...any) {
	v.Wrong = append(v.Wrong, fmt.Sprintf(format, args...))
}

func (v *verdict) wrongIf(is bool, format string, args ...any) {
	if is {
		v.wrong(format, args...)
	}
}

// text is the verdict for reading. Its last line has what counts.
func (v verdict) text(holds, holders int) []string {
	out := []string{"", fmt.Sprintf("witness: %d holders have told of %d holds of %d feeds, ten times a second each", holders, holds, v.Feeds)}
	for _, why := range reasons(v.Gaps) {
		g := v.Gaps[why]
		out = append(out, fmt.Sprintf("  gap at %-10s %3d times, half of them up to %9s, the longest %9s", why, g.Count, g.Half, g.Max))
	}
	out = append(out, fmt.Sprintf("lines: %d sent, %d of them again after a move, %d missed", v.Lines.Sent, v.Lines.Again, v.Lines.Missed))
	for _, w := range v.Wrong {
		out = append(out, "WRONG: "+w)
	}
	return append(out, fmt.Sprintf("overlap %d (possible %d), held at the end %d of %d, gaps: %s", v.Overlap, v.Possible, v.Held, v.Feeds, listGaps(v.Gaps)))
}
