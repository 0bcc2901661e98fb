package wire

import (
	"context"
	"time"
)

var (
	joinScript    = Named("join")
	serveScript   = Named("serve")
	unserveScript = Named("unserve")
	leaveScript   = Named("leave")
	failScript    = Named("fail")
)

// Registration is what a worker joins with.
type Registration struct {
	Worker string // a fresh id
	Lapse  time.Duration
	Heir   string // the worker that this daemon was before it lapsed, "": none
	Info   Info
}

// Join registers a worker and starts its heartbeat. Errors: ErrConfig, ErrLost.
func (m *Mesh) Join(ctx context.Context, r Registration) error {
	_, err := m.eval(ctx, joinScript, append([]any{r.Worker, r.Lapse.Milliseconds(), Protocol, r.Heir}, r.Info.pairs()...)...)
	return err
}

// Serve puts a queue into the workmap of a worker, unless a later edit was there first. Errors:
// ErrLost.
func (m *Mesh) Serve(ctx context.Context, worker, queue string, edit int64) error {
	_, err := m.eval(ctx, serveScript, worker, queue, edit)
	return err
}

// Unserve takes a queue out of the workmap of a worker, as Serve puts it in.
func (m *Mesh) Unserve(ctx context.Context, worker, queue string, edit int64) error {
	_, err := m.eval(ctx, unserveScript, worker, queue, edit)
	return err
}

// Leave ends the registration of the worker that calls it.
func (m *Mesh) Leave(ctx context.Context, worker string) error {
	_, err := m.eval(ctx, leaveScript, worker, "left")
	return err
}

// Strike ends the registration of a dead worker. Errors: ErrAlive.
func (m *Mesh) Strike(ctx context.Context, worker string) error {
	_, err := m.eval(ctx, leaveScript, worker, "reclaimed")
	return err
}

// Fail ends the heartbeat of a worker. It reports whether one of this id is registered.
func (m *Mesh) Fail(ctx context.Context, worker string) (registered bool, err error) {
	reply, err := m.eval(ctx, failScript, worker)
	return decoded(reply, err, decodeFail)
}

func decodeFail(reply any) (bool, error) {
	n, err := decodeCount("fail", reply)
	return n > 0, err
}
