package integration

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/worqr/worqr-go/internal/redistest"
)

// short leases, so that many of them lapse in a short time; with room for the scheduler of a busy
// machine in the margin, which is what the margin is for.
var short600 = timing{Beat: 150 * time.Millisecond, Lapse: 600 * time.Millisecond, Margin: 190 * time.Millisecond, Sweep: 100 * time.Millisecond}

// The holder of a lapsed lease has stopped before any peer took over, in every run, as an outside
// witness sees it.
//
// Five meshes, each with two daemons that hold one task in turn, six times each: the present holder
// is frozen or cut off from Redis in one way or another, past its lapse, and set free again. Both
// print every 10 ms that they hold, with the instant on the machine's one clock. The witness is
// this process: it compares both reports.
func TestTheHolderStopsBeforeAPeerTakesOver(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	const meshes, runs = 5, 6
	for i := range meshes {
		faults := make([]string, runs)
		for n := range faults {
			faults[n] = []string{"stop", "stop", "freeze", "freeze to", "freeze from", "refuse", "beats"}[r.IntN(7)]
		}
		offset := time.Duration(r.IntN(int(short600.Beat)))
		t.Run(fmt.Sprintf("mesh %d: %s", i, strings.Join(faults, ", ")), func(t *testing.T) {
			t.Parallel()
			witness(t, faults, offset)
		})
	}
}

func witness(t *testing.T, faults []string, offset time.Duration) {
	f := newField(t)
	f.enqueue(t, "t1")
	var side [2]*daemon
	var proxy [2]*redistest.Proxy
	var doubt [2]*doubts
	for i := range side {
		proxy[i] = redistest.NewProxy(t, f.server.URL())
		doubt[i] = watchDoubt(t, proxy[i])
		side[i] = f.daemon(t, setup{URL: proxy[i].URL(), Queue: queue, Do: "report", Timing: short600})
	}
	for n, fault := range faults {
		f.awaitIdle(t, 1) // whom the fault before struck has come back
		me, run := holder(t, side)
		if n%2 == 0 { // and is in no doubt any more, if this machine lets it: then it takes over at once
			quiet(doubt[1-me], 2*short600.Lapse)
		}
		pass(offset) // another phase of its beat
		heal := apply(t, fault, side[me], proxy[me], doubt[me])
		redistest.Eventually(t, soon, "the peer has the task", func() bool {
			who, now := holder(t, side)
			return who != me && now.token > run.token
		})
		heal()
		side[me].await(t, "ended "+run.process+" ")
	}
	var spans []span
	for _, s := range side {
		for _, run := range s.deliveries(t) {
			spans = append(spans, span{run.token, run.process, run.at, s.lastHeld(t, run)})
		}
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.token, b.token) })
	least := time.Hour
	for i := 1; i < len(spans); i++ {
		before, after := spans[i-1], spans[i]
		least = min(least, after.from-before.to)
		if after.from <= before.to {
			t.Errorf("%s held until %v, %s from %v on: %v together", before.process, before.to, after.process, after.from, before.to-after.from)
		}
	}
	t.Logf("%d takeovers, the least time between two holders %v", len(spans)-1, least.Round(time.Millisecond))
}

// holder returns which daemon ran the task last. On a busy machine one may lapse that no fault has
// struck, and run the task again.
func holder(t *testing.T, side [2]*daemon) (who int, last delivery) {
	redistest.Eventually(t, soon, "one of them runs the task", func() bool {
		for i, d := range side {
			for _, run := range d.deliveries(t) {
				if run.token > last.token {
					who, last = i, run
				}
			}
		}
		return last.token > 0
	})
	return who, last
}

// span is how long one process was held, by its holder's own reports.
type span struct {
	token    int64
	process  string
	from, to time.Duration
}

// apply brings a fault upon a daemon, and returns a function that ends it.
func apply(t *testing.T, fault string, d *daemon, proxy *redistest.Proxy, doubt *doubts) (heal func()) {
	t.Helper()
	switch fault {
	case "stop":
		d.Freeze(t)
		return func() { d.Thaw(t) }
	case "freeze":
		proxy.Freeze(redistest.Both)
	case "freeze to":
		proxy.Freeze(redistest.ToServer)
	case "freeze from":
		proxy.Freeze(redistest.ToClient)
	case "refuse":
		proxy.Refuse(true)
		return func() { proxy.Refuse(false) }
	case "beats": // they are sent, and get no reply; all else works, but it cannot join again
		beat, join := lua(t, "beat"), lua(t, "join")
		proxy.Intercept(func(c redistest.Command) redistest.Action {
			switch {
			case beat.is(c):
				return redistest.Hold
			case join.is(c):
				return redistest.CutBefore
			}
			return redistest.Pass
		})
		return func() { proxy.Intercept(doubt.see) }
	}
	return proxy.Thaw
}

// seeded returns a source of random numbers that WORQR_SEED repeats, and logs the seed.
func seeded(t testing.TB) *rand.Rand {
	t.Helper()
	seed, err := strconv.ParseUint(os.Getenv("WORQR_SEED"), 10, 64)
	if err != nil {
		seed = rand.Uint64()
	}
	t.Logf("WORQR_SEED=%d repeats this", seed)
	return rand.New(rand.NewPCG(seed, 0))
}
