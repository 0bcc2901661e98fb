package share

import (
	"fmt"
	"time"
)

// Settling says how long moves wait for the membership to come to rest, so that a start-up or a
// rollout is shared out once and not after each join. The zero value works.
type Settling struct {
	// Window is how long nobody must have joined or left before moves begin. Default 10 s.
	Window time.Duration
	// Most is how long an unrest may hold moves up: after it they begin whoever comes and goes,
	// until the unrest is over. So a member that flaps blocks nobody for ever. Default 6 windows;
	// at least one.
	Most time.Duration
}

// Unrest is the latest run of joins and leaves with less than a window between them. The zero
// value: there was none.
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

// Step goes on to now, and answers how long moves have still to wait if nothing changes: 0 means
// that they may begin. Changed says that somebody joined or left, now; call it for each change that
// has a time of its own. Whoever does not know the unrest so far says that something changed. Times
// come from one clock; when that is set back, what has passed so far still counts. With a Settling
// that WithDefaults refuses, moves never begin.
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
