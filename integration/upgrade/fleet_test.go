package upgrade

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/worqr/worqr-go/internal/redistest"
)

// daemon is one process of the fleet.
type daemon struct {
	*redistest.Child
	name string
	cut  int64 // when it was killed or frozen, in nanoseconds; 0 when it was not
}

// joined returns how often it has joined the mesh: again after each lapse.
func (d *daemon) joined() int {
	n := 0
	for _, text := range d.Lines() {
		if strings.HasSuffix(text, " joined") {
			n++
		}
	}
	return n
}

// line is one line that a daemon has written.
type line struct {
	at    int64
	what  string
	token int64
	task  string
	rest  string // of a hold: the checkpoint that came with it; of an end: its cause
}

// report reads what a daemon has written so far.
func (d *daemon) report(t *testing.T) []line {
	t.Helper()
	var list []line
	for _, text := range d.Lines() {
		words := strings.SplitN(text, " ", 4) // the instant, what, the token, the rest
		if len(words) < 4 {
			continue // it joined
		}
		at, errAt := strconv.ParseInt(words[0], 10, 64)
		token, errToken := strconv.ParseInt(words[2], 10, 64)
		if errAt != nil || errToken != nil {
			t.Fatalf("%s wrote %q", d.name, text)
		}
		l := line{at: at, what: words[1], token: token, task: words[3]}
		if l.what == "hold" || l.what == "end" {
			l.task, l.rest, _ = strings.Cut(l.task, " ")
		}
		list = append(list, l)
	}
	return list
}

// hold is one time that a daemon held a task.
type hold struct {
	by         *daemon
	token      int64
	begin, end int64  // end 0: it goes on
	checkpoint string // what came with it
	cause      string // why its context ended; "" when it was cut off
}

// holds returns who held each task, in the order of the tokens.
func holds(t *testing.T, fleet []*daemon) map[string][]hold {
	t.Helper()
	list := map[string][]hold{}
	for _, d := range fleet {
		at := map[int64]int{} // where the hold of a token is
		for _, l := range d.report(t) {
			switch l.what {
			case "hold":
				at[l.token] = len(list[l.task])
				list[l.task] = append(list[l.task], hold{by: d, token: l.token, begin: l.at, checkpoint: l.rest})
			case "end":
				h := &list[l.task][at[l.token]]
				h.end, h.cause = l.at, l.rest
			}
		}
		for task := range list {
			for i := range list[task] {
				if h := &list[task][i]; h.by == d && d.cut > h.begin && (h.end == 0 || h.end > d.cut) {
					h.end, h.cause = d.cut, "" // a frozen process does nothing, and a thawed one learns that it has lapsed
				}
			}
		}
	}
	for task, l := range list {
		list[task] = inOrder(l)
	}
	return list
}

// now is the instant as the daemons write it.
func now() int64 { return time.Now().UnixNano() }
