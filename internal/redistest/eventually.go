package redistest

import (
	"testing"
	"time"
)

const (
	firstPoll = time.Millisecond
	lastPoll  = 20 * time.Millisecond
)

// Eventually waits for a fact. It calls cond at once and then every 1 ms, growing to 20 ms. It
// fails the test with the text what if cond was not true within that time. cond runs in the
// caller's goroutine and must not block.
func Eventually(t testing.TB, within time.Duration, what string, cond func() bool) {
	t.Helper()
	if !poll(within, cond) {
		t.Fatalf("not within %v: %s", within, what)
	}
}

// poll reports whether cond came true within that time. It calls cond once more when the time is
// up, so that a late scheduler does not fail a test.
func poll(within time.Duration, cond func() bool) bool {
	if cond() {
		return true
	}
	end := time.NewTimer(within)
	defer end.Stop()
	every := firstPoll
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-end.C:
			return cond()
		case <-tick.C:
			if cond() {
				return true
			}
			if every < lastPoll {
				every = min(every*3/2, lastPoll)
				tick.Reset(every)
			}
		}
	}
}

// within reports whether done was closed within limit.
func within(limit time.Duration, done <-chan struct{}) bool {
	end := time.NewTimer(limit)
	defer end.Stop()
	select {
	case <-done:
		return true
	case <-end.C:
		return false
	}
}
