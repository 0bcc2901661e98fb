package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/worqr/worqr-go/internal/witness"
)

// view is what the table shows.
type view struct {
	Holders     []row           `json:"holders"`
	Held        int             `json:"held"`
	Feeds       int             `json:"feeds"`
	Connections int             `json:"connections"`
	Overlap     int             `json:"overlap"`
	Gaps        map[string]gaps `json:"gaps"`
}

type row struct {
	Holder string `json:"holder"`
	PID    int    `json:"pid"`
	State  string `json:"state"`
	Feeds  int    `json:"feeds"`
	Came   int    `json:"came"`   // from another holder
	Gap    gap    `json:"gap_ms"` // the longest before one of these
}

// gap is a time that a feed was without a holder, in JSON in milliseconds.
type gap time.Duration

func (g gap) String() string {
	d := time.Duration(g)
	if d >= time.Second {
		return fmt.Sprintf("%.2f s", d.Seconds())
	}
	return fmt.Sprintf("%.1f ms", d.Seconds()*1000)
}

// MarshalJSON implements json.Marshaler.
func (g gap) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "%.3f", time.Duration(g).Seconds()*1000), nil
}

// gaps are all that a reason has made.
type gaps struct {
	Count int `json:"count"`
	Half  gap `json:"half_ms"` // half of them were not longer
	Max   gap `json:"max_ms"`
}

// view joins what the witness and the server know with what the parent knows of its processes.
func (s *show) view() view {
	v := view{Feeds: len(s.feeds), Overlap: s.seen.Totals.Overlaps, Gaps: gapsOf(s.seen)}
	heard := map[string]bool{}
	for _, h := range s.seen.Holders {
		heard[h.Holder] = true
	}
	for _, m := range s.fleet.members {
		r := row{Holder: m.name, PID: m.cmd.Process.Pid, State: m.state(heard[m.name]), Feeds: s.held(m)}
		for _, k := range s.seen.Keys {
			for _, move := range k.Moves {
				if move.To == m.name {
					r.Came++
					r.Gap = max(r.Gap, gap(move.Gap))
				}
			}
		}
		v.Held += r.Feeds
		v.Holders = append(v.Holders, r)
	}
	connected, _ := s.server.connections()
	for _, n := range connected {
		v.Connections += n
	}
	return v
}

func gapsOf(r witness.Report) map[string]gaps {
	out := map[string]gaps{}
	for why, g := range r.Gaps {
		out[why] = gaps{g.Count, gap(g.P50), gap(g.Max)}
	}
	return out
}

// lines lays the table out, none wider than 78 columns.
func (v view) lines() []string {
	out := []string{fmt.Sprintf("  %-10s %8s  %-10s %5s  %-20s %5s  %s", "holder", "pid", "state", "feeds", "", "came", "longest gap")}
	width := 1
	for _, r := range v.Holders {
		width = max(width, (r.Feeds+19)/20)
	}
	for _, r := range v.Holders {
		longest := "-"
		if r.Came > 0 {
			longest = r.Gap.String()
		}
		out = append(out, fmt.Sprintf("  %-10s %8d  %-10s %5d  %-20s %5d  %s", r.Holder, r.PID, r.State, r.Feeds, strings.Repeat("#", r.Feeds/width), r.Came, longest))
	}
	out = append(out, fmt.Sprintf("  %d of %d held, %d connections, overlap %d", v.Held, v.Feeds, v.Connections, v.Overlap))
	if list := listGaps(v.Gaps); list != "" {
		out = append(out, "  gaps: "+list)
	}
	return out
}

// line is the same in one line, for where nothing can be drawn.
func (v view) line() string {
	parts := []string{fmt.Sprintf("%d of %d held, %d connections, overlap %d", v.Held, v.Feeds, v.Connections, v.Overlap)}
	for _, r := range v.Holders {
		parts = append(parts, fmt.Sprintf("%s %s %d", r.Holder, r.State, r.Feeds))
	}
	return strings.Join(parts, "; ")
}

// listGaps is how often feeds have moved for each reason, and for how long at most nobody held one.
func listGaps(all map[string]gaps) string {
	var parts []string
	for _, why := range reasons(all) {
		parts = append(parts, fmt.Sprintf("%s %d up to %s", why, all[why].Count, all[why].Max))
	}
	return strings.Join(parts, ", ")
}

func reasons(all map[string]gaps) []string {
	var out []string
	for why := range all {
		out = append(out, why)
	}
	slices.Sort(out)
	return out
}
