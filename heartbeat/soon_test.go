package heartbeat

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// A noted one is judged as soon as it may be, not at the next round in turn.
func TestRoundComesWhenANotedOneCanBeJudged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		judge := NewJudge(Config{})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var noted, dead time.Time
		Watch{Every: 10 * time.Second, Soon: judge.Soonest}.Run(ctx, func(context.Context) {
			if noted.IsZero() {
				noted = time.Now()
			}
			if len(judge.Round(3, []Absent{{ID: "x", ByHand: true}})) > 0 {
				dead = time.Now()
				cancel()
			}
		})
		if got := dead.Sub(noted); got != 3*time.Second {
			t.Errorf("judged %v after it was noted, want the TTL of 3s", got)
		}
		if got := judge.Soonest(); got != 0 {
			t.Errorf("Soonest is %v when all are judged, want 0", got)
		}
	})
}
