package model

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// holdFacts that thousands of sequences have to come to.
var holdFacts = []string{
	"a hold after nothing", "a hold after death", "a hold after handover", "a hold after drain", "a hold after rebalance",
	"a hold after returned", "a hold after a death within a lapse", "two held a task as it moved", "a suspect",
	"a worker came back",
}

// No task has two holders, a present task is somewhere, and a checkpoint never goes back: in every
// state that the sequences come to.
//
// scenario 97, 98, 100, 105
func TestHoldsInVirtualTime(t *testing.T) {
	n := asked(t, "WORQR_MODEL_HOLD_SEQUENCES", holdSequences)
	seen := newTally()
	t.Cleanup(func() { seen.want(t, n >= holdSequences, holdFacts...) })
	for i := range chunks(n) {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(rt *rapid.T) {
				on := pick(allTerms, number.Draw(rt, "terms"))
				sequence := steps(holdVerbs).Draw(rt, "steps")
				rapid.SyncTest(rt, func(rt *rapid.T) {
					playHolds(rt, virtual(), on, seen, sequence)
				})
			})
		})
	}
}
