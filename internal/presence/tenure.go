package presence

import "time"

// tenure is the line's judgement of itself from one Reset to the next. It is pure: instants are
// passed in, on one monotonic scale.
//
//	fresh ── stands ──> up ── stands no more ──> away ── grace has passed ──> lost, for good
//	                    ^                          |
//	                    +── stands again, in time ─+
type tenure struct {
	grace time.Duration
	phase phase
	good  time.Duration // the subscription existed then, as far as is known; of phases up and away
}

type phase int

const (
	fresh phase = iota // it was never up: there is nothing to lose
	up
	away
	lost
)

// news is what a look has changed.
type news int

const (
	nothing news = iota
	isBack
	isAway
	isLost
)

// look takes in whether the subscription exists, and good, up to when it is known to have existed:
// an instant that is never later than its end, whenever this process hears of that end. If the
// subscription exists, it existed at now.
func (t *tenure) look(now, good time.Duration, stands bool) news {
	before := t.phase
	if t.phase == up {
		t.good = good
		if stands {
			return nothing
		}
		t.phase = away
	}
	switch {
	case t.phase == lost:
	case t.phase == away && now-t.good > t.grace:
		t.phase = lost
		return isLost
	case stands:
		t.phase, t.good = up, good
		return isBack
	case before == up:
		return isAway
	}
	return nothing
}

// left returns how long a tenure that is away has until it is lost.
func (t *tenure) left(now time.Duration) (time.Duration, bool) {
	return max(0, t.good+t.grace-now) + 1, t.phase == away
}
