package worqr

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/worqr/worqr-go/internal/wire"
)

// patiently runs a step again while Redis does not answer, when the configuration says so.
func (m *Mesh) patiently(ctx context.Context, step func(context.Context) error) error {
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		err := step(ctx)
		if err == nil || !m.cfg.WaitForRedis || errors.Is(err, ErrConfig) || wire.Lasts(err) {
			return err
		}
		if sleep(ctx, jitter(pause)) != nil {
			return err
		}
	}
}

// sleep waits, or returns why ctx ended before.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// fresh is a context of d for what must still be said after the caller's own has ended.
func fresh(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), d)
}

// jitter spreads d over three quarters to five quarters of it, so that a fleet does not act in
// step.
func jitter(d time.Duration) time.Duration {
	return d*3/4 + time.Duration(rand.Int64N(int64(d/2)+1))
}
