package integration

import (
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// A process that waits for its slot may wait through a freeze of the daemon: a peer has run it when
// its turn comes, and it is not handed to its handler any more.
//
// Two daemons, as without the look at the clocks a lease's timer may save one by chance.
func TestWhatWaitsForASlotThroughAFreezeIsNotRun(t *testing.T) {
	t.Parallel()
	f := newField(t)
	tasks := named("t", 1000)
	f.enqueue(t, tasks...)
	var frozen []*daemon
	for range 2 {
		frozen = append(frozen, f.daemon(t, setup{Queue: queue, Limit: 1, Do: "freeze"}))
	}
	ran := map[string]bool{}
	old := map[*daemon]string{} // the worker that froze, with more than aheadOfLimitOne behind the handler
	for _, a := range frozen {
		old[a], _, _ = strings.Cut(a.await(t, "freezes "), ".")
		for _, run := range a.deliveries(t) {
			ran[run.task] = true
			a.seen++
		}
	}

	peer := f.daemon(t, setup{Queue: queue, Limit: 16})
	had := map[string]time.Duration{} // when the peer ran what was left
	redistest.Eventually(t, 2*soon, "a peer has run the rest", func() bool {
		for _, run := range peer.deliveries(t) {
			had[run.task] = run.at
		}
		return !slices.ContainsFunc(tasks, func(task string) bool { return !ran[task] && had[task] == 0 })
	})
	for _, a := range frozen {
		a.Thaw(t)
		a.joinedAfter(t, old[a])
		a.end(t)
		for _, run := range a.deliveries(t)[a.seen:] {
			if run.worker() == old[a] {
				t.Errorf("%q ran under the old id %v after a peer had it", run.task, run.at-had[run.task])
			}
		}
	}
	peer.end(t)
	f.awaitClean(t)
}

// freezer is the handler of a child that freezes itself once, when enough waits for its slot.
type freezer struct {
	mu     sync.Mutex
	behind map[string]bool // processes that are in hand and have not begun
	frozen bool
}

// aheadOfLimitOne is half of what a worker takes ahead of one slot. With more in hand it asks for
// nothing: so no answer to a take is under way when the process freezes.
const aheadOfLimitOne = 8

func (z *freezer) taken(p *worqr.Process) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.behind[p.ID()] = true
}

func (z *freezer) gone(p *worqr.Process) {
	z.mu.Lock()
	defer z.mu.Unlock()
	delete(z.behind, p.ID())
}

// ripe reports whether it is the moment to freeze.
func (z *freezer) ripe() bool {
	z.mu.Lock()
	defer z.mu.Unlock()
	ripe := !z.frozen && len(z.behind) > aheadOfLimitOne
	z.frozen = z.frozen || ripe
	return ripe
}

// freeze stops the whole process, and returns when it continues. What is taken ahead would not wait
// until the test stops it.
//
// This goroutine has to be the first to continue, before the timer of the lease. So there is one
// thread for Go. A call that Go knows nothing of does not lose it, and a goroutine that has only
// just begun keeps it. The signal comes a moment after the call; only the clock shows that it was
// here.
func freeze(lapse time.Duration) error {
	runtime.GOMAXPROCS(1)
	runtime.Gosched()
	last := stamp()
	if _, _, errno := syscall.RawSyscall(syscall.SYS_KILL, uintptr(syscall.Getpid()), uintptr(syscall.SIGSTOP), 0); errno != 0 {
		return errno
	}
	for now := last; now-last < lapse/2; now = stamp() {
		last = now
	}
	return nil
}
