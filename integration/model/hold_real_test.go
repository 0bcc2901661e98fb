package model

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/worqr/worqr-go/internal/redistest"
)

// The same on a real Redis, in real time, where a task may also be added while a canceled process
// of it winds down.
//
// scenario 97, 98, 100, 105
func TestHoldsOnRedis(t *testing.T) {
	n := asked(t, "WORQR_MODEL_REAL_HOLD_SEQUENCES", 50)
	redistest.Shared(t)
	seen := newTally()
	t.Cleanup(func() {
		seen.want(t, n >= 50, "a hold after nothing", "a hold after drain", "a hold after returned")
		if seen.counts[void] > n/10 {
			t.Errorf("%d of %d %s", seen.counts[void], n, void)
		}
	})
	for i := range chunks(n) {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(rt *rapid.T) {
				w := realWorld(t, number.Draw(rt, "mortal")%12 == 1)
				w.calm = 50 * time.Millisecond
				if !w.mortal {
					w.worker.Lapse = 20 * time.Second // a busy machine ends no lease
				}
				on := pick(allTerms, number.Draw(rt, "terms"))
				playHolds(rt, w, on, seen, steps(holdVerbs).Draw(rt, "steps"))
			})
		})
	}
}
