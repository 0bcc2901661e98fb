package heartbeat

import (
	"context"
	"math/rand/v2"
	"time"
)

// Watch runs a periodic job. Its rounds are jittered, so that the parties of a mesh do not all act
// at once.
type Watch struct {
	// Every is the mean pause between two rounds. Default (zero or less): 1 s.
	Every time.Duration
	// Now starts a round at once for each value that is received. What arrives during a round waits
	// in the channel. With room for one value and a send that does not block, any number of pokes
	// costs one round. Nil or closed: never.
	Now <-chan struct{}
	// Soon returns an upper bound for the pause that begins. Zero, a negative value or a nil func
	// means no bound.
	Soon func() time.Duration
}

// Run calls round again and again in the caller's goroutine, until ctx ends. Two rounds never run
// at once, and none runs any more when Run has returned. Before each round, also the first, it
// pauses for a time drawn evenly from 0.75 to 1.25 times Every. The pause begins when the round
// before has ended. So a stall is followed by one round, not by all that were missed.
func (w Watch) Run(ctx context.Context, round func(ctx context.Context)) {
	if w.Every <= 0 {
		w.Every = time.Second
	}
	timer := time.NewTimer(w.pause())
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case _, open := <-w.Now:
			if !open {
				w.Now = nil // a closed channel is always ready
				continue
			}
		case <-timer.C:
		}
		if ctx.Err() != nil {
			return // select picks at random among what is ready
		}
		round(ctx)
		timer.Reset(w.pause())
	}
}

func (w Watch) pause() time.Duration {
	pause := time.Duration(float64(w.Every) * (0.75 + rand.Float64()/2))
	if w.Soon != nil {
		if soon := w.Soon(); soon > 0 {
			return min(pause, soon)
		}
	}
	return pause
}
