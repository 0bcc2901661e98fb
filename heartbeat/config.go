package heartbeat

import (
	"fmt"
	"time"
)

// minTTL is the shortest TTL that is accepted: below it, ordinary scheduling and network delays end
// leases.
const minTTL = 100 * time.Millisecond

// Config says how often a lease is renewed and how long it is trusted. The zero value works. Every
// party of one mesh must have the same TTL and Margin: the judge's reckoning rests on the holders'
// keeping to them.
type Config struct {
	// Every is the time between two beats. Default 1 s, or a third of TTL when that is less;
	// at most a third of TTL, so that one lost beat ends nothing.
	Every time.Duration
	// TTL is how long the server keeps the lease after a beat. Default 3 s; at least 100 ms.
	TTL time.Duration
	// Margin is how much earlier than the server the holder gives up. It has to cover the drift of
	// two clocks over one TTL and what work needs to stop once its context has ended. Default
	// TTL/10; below a third of TTL.
	Margin time.Duration
}

// WithDefaults fills the fields that are zero and checks the result. The error wraps ErrConfig.
func (c Config) WithDefaults() (Config, error) {
	if c.TTL == 0 {
		c.TTL = 3 * time.Second
	}
	if c.Every == 0 {
		c.Every = min(time.Second, c.TTL/3)
	}
	if c.Margin == 0 {
		c.Margin = c.TTL / 10
	}
	switch {
	case c.TTL < minTTL:
		return c, fmt.Errorf("%w: TTL %v is below the least, %v", ErrConfig, c.TTL, minTTL)
	case c.Every < 0:
		return c, fmt.Errorf("%w: Every %v is negative (TTL %v)", ErrConfig, c.Every, c.TTL)
	case c.Every > c.TTL/3:
		return c, fmt.Errorf("%w: Every %v is more than a third of TTL %v", ErrConfig, c.Every, c.TTL)
	case c.Margin < 0:
		return c, fmt.Errorf("%w: Margin %v is negative (TTL %v)", ErrConfig, c.Margin, c.TTL)
	case c.Margin >= c.TTL/3:
		return c, fmt.Errorf("%w: Margin %v is not below a third of TTL %v", ErrConfig, c.Margin, c.TTL)
	}
	return c, nil
}

// answerTime is how long an answer may take: the timeout of a beat, and the most that is not yet
// late.
func (c Config) answerTime() time.Duration { return c.TTL / 4 }

// tolerance is by how much two clocks may disagree before that is taken for a step of one of them.
// A quarter of Margin is lost at each end of a lease at most, so half of Margin is always left for
// drift and for the handlers' return.
func (c Config) tolerance() time.Duration { return c.Margin / 4 }
