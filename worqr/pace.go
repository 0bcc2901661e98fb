package worqr

import (
	"context"
	"time"
)

// While handlers return quickly and tasks come in a stream, a queue that has run dry is asked again
// only a moment later: so a take brings what has come meanwhile, where it brought one task at a
// time, and nobody is woken for each.
const (
	paceStep = time.Millisecond
	paceCalm = time.Second // a pause that brought less than two tasks was for nothing: none for so long
)

// pacer decides whether a dispatcher pauses before it asks again. It belongs to the dispatcher.
type pacer struct {
	paused bool      // or is about to
	calm   time.Time // no pause before this
}

// may reports whether a pause may follow the next take.
func (c *pacer) may(st *station) bool {
	return st.quick.Load() >= quickRow && time.Since(c.calm) > 0
}

// took enters a take that brought n tasks, with dry all that there were.
func (c *pacer) took(n int, dry, may bool) {
	missed := c.paused && dry && n < 2
	if missed {
		c.calm = time.Now().Add(paceCalm)
	}
	c.paused = may && dry && n > 0 && !missed
}

// rest waits out a pause, and returns false when there is nothing to take for any more.
func (m *membership) rest(ctx context.Context, timer *time.Timer) bool {
	m.takeAlong(false)
	timer.Reset(paceStep)
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-m.ctx.Done():
	}
	return false
}
