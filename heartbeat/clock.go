package heartbeat

import "time"

// clock holds the three readings of the host that the package rests on. They are functions so that a test can bend each
// of them alone: no test can suspend its host.
type clock struct {
	now   func() time.Time             // monotonic; stands still while the host sleeps
	wall  func() time.Time             // what people set; never used to measure, only to notice a step
	slept func() (time.Duration, bool) // how long the host has slept since it booted; false: not known here
}

func hostClock() clock {
	return clock{
		now:   time.Now,
		wall:  func() time.Time { return time.Now().Round(0) }, // Round(0) drops the monotonic reading
		slept: hostSlept,
	}
}

// stepper notices that the wall clock has not advanced as the other one did.
type stepper struct{ now, wall time.Time }

func (s *stepper) stepped(now, wall time.Time, tolerance time.Duration) bool {
	last := *s
	s.now, s.wall = now, wall
	return !last.now.IsZero() && (wall.Sub(last.wall)-now.Sub(last.now)).Abs() > tolerance
}
