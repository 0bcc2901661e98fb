package worqr

import (
	"context"
	"time"

	"github.com/worqr/worqr-go/internal/wire"
)

// admit waits until a hold may be started: after a death not all that its worker held starts at
// once. It returns nil also when the hold ends meanwhile.
func (k *keeping) admit(ctx context.Context, p *Process) error {
	if k.cfg.StartRate > 0 {
		_ = sleep(ctx, time.Until(k.turn()))
	}
	if k.cfg.GroupRate <= 0 || ctx.Err() != nil {
		return nil
	}
	group := k.cfg.Group(p.Task())
	if group == "" {
		return nil
	}
	return p.of.admitted(ctx, group, k.cfg.GroupRate)
}

// turn is when this worker may start the next hold.
func (k *keeping) turn() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	at := k.next
	if time.Since(at) > 0 {
		at = time.Now()
	}
	k.next = at.Add(time.Duration(float64(time.Second) / k.cfg.StartRate))
	return at
}

// admitted waits for the turn of an upstream in the whole mesh.
func (m *membership) admitted(ctx context.Context, group string, rate float64) error {
	wait, err := m.station.hold.wire.Admit(ctx, group, rate)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return failed(err, "wait for the turn of upstream %q of queue %q", wire.Clip(group), m.station.name)
	}
	_ = sleep(ctx, wait)
	return nil
}
