package share

import (
	"fmt"
	"time"
)

// Settling sets how long moves wait for the membership to come to rest, so that a start-up or a
// rollout is shared out once and not after each join. The zero value works.
type Settling struct {
	// Window is how long no member must have joined or left before moves begin. Default 10 s.
	Window time.Duration
	// Most is the longest time for which an unrest may delay moves. After it they begin, whoever
	// joins and leaves, until the unrest is over. So a flapping member does not block the others
	// for ever. Default 6 windows; at least one.
	Most time.Duration
}

// Unrest is the latest run of joins and leaves with less than a window between them. The zero value
// means that there was none.
type Unrest struct{ First, Last time.Time }

// WithDefaults fills the fields that are zero and checks the result. The error wraps ErrInvalid.
func (s Settling) WithDefaults() (Settling, error) {
	const longest = 24 * time.Hour
	if s.Window == 0 {
		s.Window = 10 * time.Second
	}
	if s.Window < 0 || s.Window > longest {
		return s, fmt.Errorf("%w: settling: Window %v is not in 0..%v", ErrInvalid, s.Window, longest)
	}
	if s.Most == 0 {
		s.Most = 6 * s.Window
	}
	if s.Most < s.Window {
		return s, fmt.Errorf("%w: settling: Most %v is below Window %v", ErrInvalid, s.Most, s.Window)
	}
	return s, nil
}

// Step advances the unrest to now. It also returns how long moves still have to wait if nothing
// changes; 0 means that they may begin. changed means that a member joined or left at now; call
// Step once for each change that has a time of its own. A caller that does not know the unrest so
// far passes true. Times come from one clock; when that is set back, the time that has passed so
// far still counts. With a Settling that WithDefaults refuses, moves never begin.
func (s Settling) Step(u Unrest, changed bool, now time.Time) (Unrest, time.Duration) {
	s, err := s.WithDefaults()
	if err != nil {
		return u, time.Hour
	}
	if u.Last.After(now) {
		u = Unrest{First: now.Add(-u.Last.Sub(u.First)), Last: now}
	}
	if changed {
		if now.Sub(u.Last) >= s.Window { // true for the zero value, too
			u.First = now
		}
		u.Last = now
	}
	return u, max(0, min(s.Window-now.Sub(u.Last), s.Most-now.Sub(u.First)))
}
