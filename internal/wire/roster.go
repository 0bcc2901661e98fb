package wire

import (
	"context"
	"strconv"
	"strings"
	"time"
)

var rosterScript = Named("roster")

// label begins the fields of info that are labels.
const label = "label:"

// Info is what a worker writes of itself.
type Info struct {
	Host          string
	PID, Capacity int
	Version       string // of the module that it was built from, "": not known
	Labels        map[string]string
}

func (i Info) pairs() []any {
	pairs := []any{"host", i.Host, "pid", i.PID, "capacity", i.Capacity}
	if i.Version != "" {
		pairs = append(pairs, "version", i.Version)
	}
	for name, value := range i.Labels {
		pairs = append(pairs, label+name, value)
	}
	return pairs
}

// Registered is a row of the roster.
type Registered struct {
	ID      string
	Alive   bool          // it has a heartbeat
	Left    time.Duration // what that has to live
	Started time.Time
	Info    Info
}

// Roster is a page of the registered workers.
type Roster struct {
	Next    string // cursor, "0" at the end
	Workers []Registered
}

// Roster lists the page at a cursor, "0" for the first.
func (m *Mesh) Roster(ctx context.Context, cursor string) (Roster, error) {
	reply, err := m.eval(ctx, rosterScript, cursor)
	return decoded(reply, err, decodeRoster)
}

func decodeRoster(reply any) (r Roster, err error) {
	a := listOf("roster", reply, 1)
	r.Next = a.text()
	for range a.rows(3) {
		w := Registered{ID: a.text()}
		left := a.integer()
		w.Alive, w.Left = left != -2, time.Duration(max(left, 0))*time.Millisecond
		fields := a.inner()
		w.tell(&fields)
		if a.err == nil {
			a.err = fields.all()
		}
		r.Workers = append(r.Workers, w)
	}
	return r, a.all()
}

// tell reads info. What a foreign client left out, or wrote otherwise, stays zero.
func (w *Registered) tell(fields *answer) {
	w.Info.Labels = map[string]string{}
	for range fields.rows(2) {
		field, value := fields.text(), fields.text()
		switch field {
		case "host":
			w.Info.Host = value
		case "version":
			w.Info.Version = value
		case "pid":
			w.Info.PID, _ = strconv.Atoi(value)
		case "capacity":
			w.Info.Capacity, _ = strconv.Atoi(value)
		case "started":
			if us, err := strconv.ParseInt(value, 10, 64); err == nil {
				w.Started = time.UnixMicro(us)
			}
		default:
			if name, ok := strings.CutPrefix(field, label); ok {
				w.Info.Labels[name] = value
			}
		}
	}
}
