package worqr

import (
	"fmt"
	"time"
)

// Hold configures how the tasks of a persistent queue are held. The zero value works. Workers of
// one queue have the same, but for StartRate; during a rollout the one that plans a round decides.
type Hold struct {
	// MakeBeforeBreak: who receives a task that moves begins before its holder ends, and the holder
	// ends when Process.Ready was called, or a Lapse later. For what may run twice for a moment.
	MakeBeforeBreak bool
	// MoveRate is how many moves per second may begin to even out the shares. Default 100.
	MoveRate float64
	// Settle is how long nobody must have joined before moves begin, so that a rollout is shared
	// out once. Default 2 s.
	Settle time.Duration
	// StartRate is how many handlers per second this worker starts. 0: no limit.
	StartRate float64
	// Group names the upstream of a task, "" for none; GroupRate is how many handlers of each are
	// started per second in the whole mesh. 0: no limit.
	Group     func(task []byte) string
	GroupRate float64
}

// withDefaults fills the zero values and checks the rest.
func (h Hold) withDefaults(persistent bool) (Hold, error) {
	if h.MoveRate == 0 {
		h.MoveRate = 100
	}
	if h.Settle == 0 {
		h.Settle = 2 * time.Second
	}
	for _, rate := range []struct {
		name   string
		perSec float64
	}{{"MoveRate", h.MoveRate}, {"StartRate", h.StartRate}, {"GroupRate", h.GroupRate}} {
		if !(rate.perSec >= 0 && rate.perSec <= 1e6) { // so that NaN is refused
			return h, fmt.Errorf("in Hold: %s: %v is not from 0 to a million per second", rate.name, rate.perSec)
		}
	}
	switch {
	case h.Settle < 0:
		return h, fmt.Errorf("in Hold: Settle: %v is below 0", h.Settle)
	case h.GroupRate > 0 && h.Group == nil:
		return h, fmt.Errorf("in Hold: GroupRate: without Group no task has an upstream")
	case h.MakeBeforeBreak && !persistent:
		return h, fmt.Errorf("in Hold: MakeBeforeBreak: only a persistent task is handed over")
	}
	return h, nil
}
