package heartbeat

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// A noted holder is judged as soon as it may be, not at the next regular round.
func TestRoundComesWhenANotedOneCanBeJudged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		judge := must(NewJudge(Config{}))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var noted, dead time.Time
		Watch{Every: 10 * time.Second, Soon: judge.Soonest}.Run(ctx, func(context.Context) {
			if noted.IsZero() {
				noted = time.Now()
			}
			if due := judge.Due(); due != (time.Since(noted) >= 3*time.Second) {
				t.Errorf("due %v, %v after it was noted", due, time.Since(noted))
			}
			if len(judge.Round(3, []Absent{{ID: "x", ByHand: true}})) > 0 {
				dead = time.Now()
				cancel()
			}
		})
		if got := dead.Sub(noted); got != 3*time.Second {
			t.Errorf("judged %v after it was noted, want the TTL of 3s", got)
		}
		if !judge.Due() {
			t.Error("a judged one that is still there is not due")
		}
		if judge.Round(2, nil); judge.Due() {
			t.Error("one that has gone is due")
		}
		if got := judge.Soonest(); got != 0 {
			t.Errorf("Soonest is %v when all are judged, want 0", got)
		}
	})
}

// Of several noted ones the next round waits for the first.
func TestRoundComesForTheFirstOfSeveralNotedOnes(t *testing.T) {
	b := calm(t)
	b.round(4, "[]", "!x")
	b.pass(time.Second)
	b.round(4, "[]", "!x", "!y")
	b.pass(time.Second)
	b.round(4, "[]", "!x", "!y", "!z")
	for range 50 { // a map comes in any order
		if got := b.Soonest(); got != time.Second {
			t.Fatalf("the first one can be judged in %v, want 1s", got)
		}
	}
}
