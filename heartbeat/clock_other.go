//go:build !linux

package heartbeat

import "time"

// hostSlept is not known here. A sleep of the host then shows only as a step of the wall clock,
// which triggers a beat; the deadline is late by as long as the host slept when the platform's
// monotonic clock stood still meanwhile.
func hostSlept() (time.Duration, bool) { return 0, false }
