package integration

import (
	"slices"
	"testing"

	"github.com/worqr/worqr-go/internal/redistest"
)

// scenario 23
func TestOnlyTheDeadWorkersTasksReturn(t *testing.T) {
	t.Parallel()
	f := newField(t)
	f.enqueue(t, "t1", "t2")
	a := f.daemon(t, setup{Queue: queue, Do: "hold"})
	a.nextIs(t, "t1")
	b := f.daemon(t, setup{Queue: queue, Do: "hold"})
	t2 := b.nextIs(t, "t2")

	a.Kill(t)
	f.awaitWaiting(t, "t1")
	f.awaitGone(t, a.joined(t, 1))
	if held := f.held(t); !slices.Equal(held, []string{t2.process + " t2"}) {
		t.Fatalf("in hand: %v; want only t2, as before", held)
	}
	b.mustFinish(t, t2)
	b.mustFinish(t, b.nextIs(t, "t1"))
	b.end(t)
	f.awaitClean(t)
}

// scenario 24: the peer is busy while the dead worker's tasks come back, so it has taken none of
// those behind them.
func TestReturnedTasksAreTakenFirstInTheirOrder(t *testing.T) {
	t.Parallel()
	f := newField(t)
	f.enqueue(t, "t0")
	b := f.daemon(t, setup{Queue: queue, Do: "hold"})
	t0 := b.nextIs(t, "t0")
	tasks := []string{"t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8"}
	f.enqueue(t, tasks...)
	a := f.daemon(t, setup{Queue: queue, Limit: 5, Do: "hold"})
	a.holdAll(t, 5)
	f.awaitWaiting(t, "t6", "t7", "t8")

	a.Kill(t)
	f.awaitWaiting(t, tasks...)
	b.mustFinish(t, t0)
	for _, task := range tasks {
		b.mustFinish(t, b.nextIs(t, task))
	}
	b.end(t)
	f.awaitClean(t)
}

// scenario 26: the reclaimer stands still between its reading of who is in the queue and its first
// step.
func TestTakeWhileAReclaimerStandsStill(t *testing.T) {
	t.Parallel()
	f := newField(t)
	proxy := redistest.NewProxy(t, f.server.URL())
	stopped, goOn := make(chan struct{}, 1), make(chan struct{})
	reclaim := lua(t, "reclaim")
	proxy.Intercept(func(c redistest.Command) redistest.Action {
		if reclaim.is(c) {
			raise(stopped)
			<-goOn
		}
		return redistest.Pass
	})

	f.enqueue(t, "t1")
	a := f.daemon(t, setup{Queue: queue, Do: "hold"})
	a.nextIs(t, "t1")
	r := f.daemon(t, setup{URL: proxy.URL()})
	r.joined(t, 1)
	a.Kill(t)
	receive(t, stopped, "the reclaimer has read and is about to act")

	// B beats, and does not sweep: it would do the reclaim itself.
	b := f.daemon(t, setup{Queue: queue, Do: "hold", Timing: lazy(brisk)})
	f.enqueue(t, "t2")
	t2 := b.nextIs(t, "t2")
	close(goOn)
	f.awaitWaiting(t, "t1")
	if held := f.held(t); !slices.Equal(held, []string{t2.process + " t2"}) {
		t.Fatalf("in hand: %v; want only t2", held)
	}
	b.Kill(t)
	f.awaitWaiting(t, "t2", "t1")
}

// scenario 29: the idle peer's looks are cut, so it learns of the task only by a wake-up.
func TestIdlePeersAreWokenByAReclaim(t *testing.T) {
	t.Parallel()
	f := newField(t)
	proxy := redistest.NewProxy(t, f.server.URL())
	look := lua(t, "look")
	proxy.Intercept(func(c redistest.Command) redistest.Action {
		if look.is(c) {
			return redistest.CutBefore
		}
		return redistest.Pass
	})
	f.enqueue(t, "t1")
	a := f.daemon(t, setup{Queue: queue, Do: "hold"})
	a.nextIs(t, "t1")
	b := f.daemon(t, setup{URL: proxy.URL(), Queue: queue, Do: "hold"})
	f.awaitIdle(t, 1)
	r := f.daemon(t, setup{}) // supervises
	r.joined(t, 1)
	a.Kill(t)
	b.mustFinish(t, b.nextIs(t, "t1"))
}

// scenario 33
func TestTheOnlyWorkerDiesWhileProducersLive(t *testing.T) {
	t.Parallel()
	f := newField(t)
	f.enqueue(t, "t1", "t2", "t3")
	a := f.daemon(t, setup{Queue: queue, Limit: 2, Do: "hold"})
	a.holdAll(t, 2)
	a.Kill(t)
	f.enqueue(t, "t4")
	b := f.daemon(t, setup{Queue: queue, Do: "finish"})
	var ran []string
	for range 4 {
		ran = append(ran, b.next(t).task)
	}
	// t3 and t4 may be taken before the death is certain; each pair keeps its order
	if got := sorted(ran); !slices.Equal(got, []string{"t1", "t2", "t3", "t4"}) {
		t.Fatalf("ran: %v", ran)
	}
	if slices.Index(ran, "t1") > slices.Index(ran, "t2") || slices.Index(ran, "t3") > slices.Index(ran, "t4") {
		t.Fatalf("order: %v", ran)
	}
	b.end(t)
	f.awaitClean(t)
}

// scenario 34
func TestADaemonRestartsBeforeItsLapse(t *testing.T) {
	t.Parallel()
	f := newField(t)
	f.enqueue(t, "t1", "t2", "t3")
	before := f.daemon(t, setup{Queue: queue, Limit: 2, Do: "hold"})
	before.holdAll(t, 2)
	before.Kill(t)
	after := f.daemon(t, setup{Queue: queue, Do: "hold"})
	t3 := after.nextIs(t, "t3")
	if after.joined(t, 1) == before.joined(t, 1) {
		t.Fatal("the new incarnation has the id of the old one")
	}
	f.awaitWaiting(t, "t1", "t2")
	f.awaitGone(t, before.joined(t, 1))
	if held := f.held(t); !slices.Equal(held, []string{t3.process + " t3"}) {
		t.Fatalf("in hand: %v; want only t3, untouched", held)
	}
	after.mustFinish(t, t3)
	after.mustFinish(t, after.nextIs(t, "t1"))
	after.mustFinish(t, after.nextIs(t, "t2"))
	after.end(t)
	f.awaitClean(t)
}
