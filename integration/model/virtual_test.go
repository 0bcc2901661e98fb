package model

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/worqr/worqr-go/internal/embedded"
	"github.com/worqr/worqr-go/worqr"
)

// facts that thousands of sequences have to come to.
var facts = []string{
	"a peer returned a task", "a peer dropped a canceled task", "a peer dropped a task of a deleted queue",
	"two dead at once on one queue", "a stopped task was dropped", "a finish came too late",
}

// scenario 98, and the order of 19, 20, 23, 24, 44, 105, 107: in every state that the sequences
// come to
func TestModelInVirtualTime(t *testing.T) {
	n := wanted(t, "WORQR_MODEL_SEQUENCES", sequences)
	seen := newTally()
	t.Cleanup(func() { seen.want(t, n >= sequences, facts...) })
	for i := range chunks(n) {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(rt *rapid.T) {
				sequence := steps(verbs).Draw(rt, "steps")
				rapid.SyncTest(rt, func(rt *rapid.T) {
					play(rt, virtual(), seen, sequence)
				})
			})
		})
	}
}

// virtual is a world in the time of a bubble, with the library's own defaults.
func virtual() world {
	server := embedded.Virtual()
	pass := func(d time.Duration) {
		<-time.After(d)
		synctest.Wait()
	}
	return world{
		url: "redis://embedded/0", namespace: "model", reach: server.DialNet, virtual: true, mortal: true, calm: 500 * time.Millisecond,
		worker: worqr.WorkerConfig{Takeover: worqr.TakeoverStrict, Beat: time.Second, Lapse: 3 * time.Second, Sweep: time.Second},
		now:    time.Now, settle: synctest.Wait, pass: pass,
		poll: func(within time.Duration, fact func() bool) bool {
			synctest.Wait()
			for end := time.Now().Add(within); !fact(); pass(100 * time.Millisecond) {
				if time.Now().After(end) {
					return false
				}
			}
			return true
		},
		close: server.Close,
	}
}
