package heartbeat

import (
	"math/rand/v2"
	"time"
)

// clock holds the readings of the host that a lease rests on, and the random numbers for jitter.
// They are functions so that a test can bend each of them alone: no test can suspend its host.
type clock struct {
	now   func() time.Time             // monotonic; stands still while the host sleeps
	wall  func() time.Time             // set by people; it never measures, it only shows a step
	slept func() (time.Duration, bool) // how long the host has slept since it booted; false: not known
	dice  func() float64               // uniform in [0, 1), for jitter
}

func hostClock() clock {
	return clock{
		now:   time.Now,
		wall:  func() time.Time { return time.Now().Round(0) }, // Round(0) drops the monotonic reading
		slept: hostSlept,
		dice:  rand.Float64,
	}
}

// stepper notices when the wall clock has not advanced as far as the monotonic clock.
type stepper struct{ now, wall time.Time }

func (s *stepper) stepped(now, wall time.Time, tolerance time.Duration) bool {
	last := *s
	s.now, s.wall = now, wall
	return !last.now.IsZero() && (wall.Sub(last.wall)-now.Sub(last.now)).Abs() > tolerance
}
