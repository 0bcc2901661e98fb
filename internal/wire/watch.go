package wire

import (
	"context"
	"time"
)

var (
	appearScript = Named("appear")
	watchScript  = Named("watch")
)

// Role is what a worker has in watching the others.
type Role string

// The roles.
const (
	Watcher Role = "watcher"
	Deputy  Role = "deputy"
	Neither Role = ""
)

// Watched is one look at who is present.
type Watched struct {
	Workers int // how many are watched
	Role    Role
	Left    time.Duration // until the watcher's claim ends
	Rows    []Present     // for the watcher only
}

// Present is what the server says of one worker.
type Present struct {
	ID          string
	Subscribers int
	Ends        int64 // when its heartbeat ends by the server's clock, in microseconds; 0: it has none, or is present
}

// Watch asks who is present, and claims to be the one who does.
func (m *Mesh) Watch(ctx context.Context, worker string, claim time.Duration) (Watched, error) {
	reply, err := m.eval(ctx, watchScript, worker, claim.Milliseconds())
	return decoded(reply, err, decodeWatch)
}

func decodeWatch(reply any) (w Watched, err error) {
	a := listOf("watch", reply, 3)
	w.Workers, w.Role = a.count(), Role(a.text())
	w.Left = time.Duration(a.integer()) * time.Millisecond
	for range a.rows(3) {
		w.Rows = append(w.Rows, Present{ID: a.text(), Subscribers: a.count(), Ends: a.integer()})
	}
	return w, a.all()
}

// Appear puts a worker among those that are watched. It reports whether the server counts its
// presence subscription. Errors: ErrLost.
func (m *Mesh) Appear(ctx context.Context, worker string) (seen bool, err error) {
	reply, err := m.eval(ctx, appearScript, worker)
	return decoded(reply, err, decodeAppear)
}

func decodeAppear(reply any) (bool, error) {
	n, err := decodeCount("appear", reply)
	return n > 0, err
}

// PresenceChannel is what a worker subscribes to, to be counted. The database is known by then.
func (m *Mesh) PresenceChannel(worker string) string {
	return m.at.Load().channels + ":here:" + worker
}
