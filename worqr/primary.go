package worqr

import (
	"errors"
	"time"

	"github.com/worqr/worqr-go/internal/wire"
)

// primaryEvery is the time between two questions of who only listens.
const primaryEvery = 2 * time.Second

var errDemoted = errors.New("the server has become a replica")

// stay asks, where no beats of a worker find it out, whether the server is still the primary: who
// only listens is refused nothing, and hears nothing any more. A server that was a replica from the
// start is what the caller wanted.
func (m *Mesh) stay() {
	primary := false
	for pause := jitter(primaryEvery); sleep(m.ctx, pause) == nil; {
		pause = jitter(primaryEvery)
		if m.beats() {
			continue
		}
		turn := m.at.turn.Load()
		replica, err := wire.Replica(m.ctx, m.cmd)
		if err != nil {
			continue // a user without INFO, or an outage, which ends the subscription too
		}
		if !replica {
			primary = true
		} else if primary {
			m.at.wrong(turn, errDemoted)
			primary, pause = false, 0 // the next question dials, and the subscription follows
		}
	}
}

// beats reports whether some worker's heartbeat is known to be renewed.
func (m *Mesh) beats() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for w := range m.workers {
		if w.Alive() {
			return true
		}
	}
	return false
}
