package integration

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"
)

// longer chooses between the size of a test by default and that with WORQR_LONG.
func longer(usual, long int) int {
	if os.Getenv("WORQR_LONG") != "" {
		return long
	}
	return usual
}

// quantiles puts how long something took in words, and answers the 50th and the 99th of a hundred.
func quantiles(list []time.Duration) (half, most time.Duration, words string) {
	if len(list) == 0 {
		return 0, 0, "none"
	}
	slices.Sort(list)
	unit := 100 * time.Microsecond
	half, most = p50(list), p99(list)
	return half, most, fmt.Sprintf("%d: p50 %v, p90 %v, p99 %v, at most %v", len(list), half.Round(unit),
		list[len(list)*9/10].Round(unit), most.Round(unit), list[len(list)-1].Round(unit))
}

// stalled is for how long this process must have waited for its turn to say that the machine stalled.
const stalled = 20 * time.Millisecond

// stalls counts how often this process waited for its turn: then others did so too, and what they took longer for says
// nothing about them.
type stalls struct {
	mu    sync.Mutex
	n     int
	worst time.Duration
}

func watchStalls(t testing.TB) *stalls {
	s := &stalls{}
	ctx, stop := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	t.Cleanup(watching.Wait)
	t.Cleanup(stop)
	watching.Go(func() {
		const every = 5 * time.Millisecond
		for last := stamp(); ctx.Err() == nil; {
			pass(every)
			now := stamp()
			if late := now - last - every; late > stalled {
				s.mu.Lock()
				s.n, s.worst = s.n+1, max(s.worst, late)
				s.mu.Unlock()
			}
			last = now
		}
	})
	return s
}

// since answers how many there were since it was last asked, and the longest.
func (s *stalls) since() (n int, worst time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, worst = s.n, s.worst
	s.n, s.worst = 0, 0
	return n, worst
}
