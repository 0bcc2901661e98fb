package model

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// void is a sequence that says nothing, see fatalf.
const void = "sequences without a verdict"

// The same on a real Redis, in real time: workers die in a small share of the sequences, with short
// leases, and then the next step waits until they are reclaimed.
//
// scenario 98
func TestModelOnRedis(t *testing.T) {
	n := wanted(t, "WORQR_MODEL_REAL_SEQUENCES", 300)
	redistest.Shared(t)
	seen := newTally()
	t.Cleanup(func() {
		seen.want(t, n >= 300, "a peer returned a task")
		if seen.counts[void] > n/10 {
			t.Errorf("%d of %d %s", seen.counts[void], n, void)
		}
	})
	for i := range chunks(n) {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(rt *rapid.T) {
				mortal := number.Draw(rt, "mortal")%12 == 1
				play(rt, realWorld(t, mortal), seen, steps(verbs).Draw(rt, "steps"))
			})
		})
	}
}

// realWorld is a namespace of its own on the shared server.
func realWorld(t *testing.T, mortal bool) world {
	w := world{
		url: redistest.Shared(t).URL(), namespace: redistest.Namespace(t), mortal: mortal,
		reach: func(ctx context.Context, network, address string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, network, address)
		},
		worker: worqr.WorkerConfig{Takeover: worqr.TakeoverStrict, Beat: time.Second, Lapse: 3 * time.Second, Sweep: time.Second},
		now:    time.Now, settle: func() {}, close: func() {},
		poll: func(within time.Duration, fact func() bool) bool {
			for end := time.Now().Add(within); !fact(); <-time.After(2 * time.Millisecond) {
				if time.Now().After(end) {
					return false
				}
			}
			return true
		},
	}
	if mortal {
		w.worker = worqr.WorkerConfig{Takeover: worqr.TakeoverStrict, Beat: 200 * time.Millisecond, Lapse: time.Second, Sweep: 200 * time.Millisecond}
	}
	return w
}
