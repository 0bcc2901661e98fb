package main

import (
	"fmt"
	"strings"
	"time"
)

// view is what the table shows.
type view struct {
	elapsed              time.Duration
	done, total, waiting int
	rows                 []row
}

type row struct {
	worker, state          string
	pid                    int
	beat                   time.Duration // age of the last heartbeat; below 0: there is none
	took, finished, inHand int
}

// view joins what the workers reported with what Redis has.
func (d *demo) view() view {
	v := view{elapsed: time.Since(d.began), total: len(d.books.files), waiting: d.seen.waiting}
	v.done, _ = d.books.progress()
	for _, p := range d.fleet {
		l := d.books.ledger(p.number)
		info, listed := d.seen.workers[l.life]
		r := row{
			worker: short(l.life), pid: p.pid(), state: d.state(p, l, listed && info.Alive), beat: -1,
			took: l.took, finished: l.finished, inHand: len(d.seen.hands[l.life]),
		}
		if listed && info.Alive {
			r.beat = max(0, lapse-info.Left)
		}
		v.rows = append(v.rows, r)
	}
	return v
}

// state is a word or two on a worker; beats reports whether its present incarnation has a
// heartbeat.
func (d *demo) state(p *process, l ledger, beats bool) string {
	var v *victim
	for _, other := range d.victims {
		if other.worker == p {
			v = other
		}
	}
	switch {
	case v != nil && v.life == l.life:
		return map[fate]string{killed: "killed", frozen: "frozen", thawed: "waking"}[p.fate] + map[bool]string{true: "", false: ", lapsed"}[beats]
	case p.gone():
		return "ended"
	case l.lives == 0:
		return "starting"
	case l.lives > 1 && beats:
		return "joined again"
	case beats:
		return "beating"
	}
	return "no beat seen"
}

// lines lays the table out, none wider than 78 columns.
func (v view) lines() []string {
	out := []string{fmt.Sprintf("  %-9s %8s  %-15s %7s %8s %9s %8s", "worker", "pid", "state", "beat", "taken", "finished", "in hand")}
	for _, r := range v.rows {
		beat := "-"
		if r.beat >= 0 {
			beat = fmt.Sprintf("%.1f s", r.beat.Seconds())
		}
		out = append(out, fmt.Sprintf("  %-9s %8d  %-15s %7s %8d %9d %8d", r.worker, r.pid, r.state, beat, r.took, r.finished, r.inHand))
	}
	const width = 40
	full := width * v.done / max(1, v.total)
	return append(out, fmt.Sprintf("  [%s%s] %3d %%  %d of %d",
		strings.Repeat("#", full), strings.Repeat(".", width-full), 100*v.done/max(1, v.total), v.done, v.total),
		fmt.Sprintf("  %.1f s, %d waiting", v.elapsed.Seconds(), v.waiting))
}

// line is the same in one line, for where nothing can be drawn.
func (v view) line() string {
	parts := []string{fmt.Sprintf("%5.1f s  %d of %d done, %d waiting", v.elapsed.Seconds(), v.done, v.total, v.waiting)}
	for _, r := range v.rows {
		parts = append(parts, fmt.Sprintf("%s %s %d", r.worker, r.state, r.finished))
	}
	return strings.Join(parts, "; ")
}

// short is the end of a worker's id: its beginning is the time of its birth, much the same for all.
func short(id string) string { return id[max(0, len(id)-8):] }
