package heartbeat

import (
	"fmt"
	"time"
)

// minTTL is the shortest TTL that is accepted. Below it, ordinary scheduling and network delays end
// leases.
const minTTL = 100 * time.Millisecond

// Config sets how often a lease is renewed and how long it is trusted. The zero value works. All
// parties of one mesh must use the same TTL and Margin: a judge's verdict is safe only if the
// holders keep to the values that the judge knows.
type Config struct {
	// Every is the time between two beats. Default 1 s, or a third of TTL when that is less. At
	// most a third of TTL, so that one lost beat does not end the lease.
	Every time.Duration
	// TTL is how long the server keeps the lease after a beat. Default 3 s; at least 100 ms.
	TTL time.Duration
	// Margin is how much earlier than the server the holder gives up. It has to cover the drift of
	// two clocks over one TTL, and the time that work needs to stop once its context has ended.
	// Default TTL/10; below a third of TTL.
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

// answerTime returns how long a reply may take. It is the timeout of a beat. A reply that takes
// longer is late.
func (c Config) answerTime() time.Duration { return c.TTL / 4 }

// tolerance returns by how much two clocks may disagree before the difference counts as a step of
// one of them. At most a quarter of Margin is lost at each end of a lease, so half of Margin is
// always left for drift and for the handlers' return.
func (c Config) tolerance() time.Duration { return c.Margin / 4 }
