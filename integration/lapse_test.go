package integration

import (
	"slices"
	"strings"
	"testing"

	"github.com/worqr/worqr-go/internal/redistest"
)

// scenario 30, scenario 31, scenario 100: the order to finish waits in the frozen process, so that
// it is among the first things that it does when it goes on.
func TestAFrozenWorkerHasLostItsTask(t *testing.T) {
	t.Parallel()
	f := newField(t)
	told := f.listen(t)
	f.enqueue(t, "t1")
	a := f.daemon(t, setup{Queue: queue, Do: "hold"})
	old := a.nextIs(t, "t1")
	c := f.daemon(t, setup{Queue: queue, Do: "hold"})
	f.awaitIdle(t, 1)

	a.Freeze(t)
	late := c.nextIs(t, "t1")
	if late.token <= old.token {
		t.Fatalf("the later owner's token %d is not above %d", late.token, old.token)
	}
	a.Tell(t, "finish "+old.process)
	a.Thaw(t)
	if answer := a.await(t, "finished "+old.process+" "); !strings.HasPrefix(answer, "false ") {
		t.Fatalf("the old owner's finish: %s", answer)
	}
	if ended := a.await(t, "ended "+old.process+" "); !strings.HasSuffix(ended, " lapsed") {
		t.Fatalf("the handler's context ended: %s; want lapsed", ended)
	}
	a.await(t, "lapsed "+old.worker())
	c.mustFinish(t, late)

	fresh := a.joinedAfter(t, old.worker())
	c.end(t)
	f.enqueue(t, "t2")
	next := a.nextIs(t, "t2")
	if next.worker() != fresh {
		t.Fatalf("t2 runs under %s, want %s", next.worker(), fresh)
	}
	a.mustFinish(t, next)
	a.end(t)
	told.onlyOnce(t, "t1", "t2")
	f.awaitClean(t)
}

// scenario 32
func TestAHeartbeatDeletedByHand(t *testing.T) {
	t.Parallel()
	f := newField(t)
	f.enqueue(t, "t1")
	a := f.daemon(t, setup{Queue: queue, Do: "hold"})
	old := a.nextIs(t, "t1")
	f.count(t, "DEL", f.meshKey("worker:"+old.worker()))
	a.await(t, "lapsed "+old.worker())
	if ended := a.await(t, "ended "+old.process+" "); !strings.HasSuffix(ended, " lapsed") {
		t.Fatalf("the handler's context ended: %s; want lapsed", ended)
	}
	again := a.nextIs(t, "t1")
	if again.worker() == old.worker() || !slices.Contains(a.said("joined "), again.worker()) {
		t.Fatalf("t1 runs under %s, before %s", again.worker(), old.worker())
	}
	f.awaitGone(t, old.worker())
	if f.count(t, "EXISTS", f.meshKey("worker:"+old.worker())) != 0 {
		t.Fatal("the old heartbeat is there again")
	}
	a.mustFinish(t, again)
	a.end(t)
	f.awaitClean(t)
}

// scenario 32: Fail of a live worker from elsewhere. Once the worker hears of it, and once it is
// cut off from Redis: then only its clock can stop it. The peer is in no doubt, and sees at once
// that the heartbeat is gone.
func TestALiveWorkerIsFailedFromElsewhere(t *testing.T) {
	t.Parallel()
	for _, cutOff := range []bool{false, true} {
		t.Run(map[bool]string{false: "told", true: "cut off"}[cutOff], func(t *testing.T) {
			t.Parallel()
			f := newField(t)
			proxy := redistest.NewProxy(t, f.server.URL())
			f.enqueue(t, "t1")
			a := f.daemon(t, setup{URL: proxy.URL(), Queue: queue, Do: "report"})
			old := a.nextIs(t, "t1")
			peers := redistest.NewProxy(t, f.server.URL())
			doubt := watchDoubt(t, peers)
			c := f.daemon(t, setup{URL: peers.URL(), Queue: queue, Do: "hold"})
			f.awaitIdle(t, 1)
			redistest.Eventually(t, soon, "the peer is in no doubt", func() bool { return doubt.quietFor() > 4*brisk.Sweep })

			if cutOff {
				proxy.Freeze(redistest.Both)
			}
			if err := f.mesh.Fail(t.Context(), old.worker()); err != nil {
				t.Fatal(err)
			}
			heir, late := nextOf(t, a, c) // A too, as the worker that it is then
			if ended := a.await(t, "ended "+old.process+" "); !strings.HasSuffix(ended, " lapsed") {
				t.Fatalf("the handler's context ended: %s; want lapsed", ended)
			}
			if last := a.lastHeld(t, old); last >= late.at {
				t.Fatalf("it held the task until %v, a peer ran it at %v", last, late.at)
			}
			proxy.Thaw()
			a.joinedAfter(t, old.worker())
			if late.worker() == old.worker() || late.token <= old.token {
				t.Fatalf("%+v after %+v", late, old)
			}
			heir.mustFinish(t, late)
			a.end(t)
			c.end(t)
			f.awaitClean(t)
		})
	}
}

// scenario 36: a worker that stands still, and a server that does, for less than the lapse.
func TestAStallShorterThanTheLapse(t *testing.T) {
	t.Parallel()
	long := timing{Beat: brisk.Beat, Lapse: 2 * brisk.Lapse, Sweep: brisk.Sweep}
	for _, who := range []string{"worker", "server"} {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			f := fieldAt(t, redistest.Own(t))
			told := f.listen(t)
			proxy := redistest.NewProxy(t, f.server.URL())
			f.enqueue(t, "t1")
			a := f.daemon(t, setup{Queue: queue, Do: "hold", Timing: long})
			run := a.nextIs(t, "t1")
			peer := f.daemon(t, setup{URL: proxy.URL(), Queue: queue, Do: "hold", Timing: long})
			f.awaitIdle(t, 1)

			sweeps := watchSweeps(t, proxy)
			if who == "worker" {
				a.Freeze(t)
				sweeps.await(t, 4)
				a.Thaw(t)
			} else {
				f.server.Pause(t)
				pass(long.Lapse / 3)
				f.server.Resume(t)
			}
			sweeps.await(t, 4)
			a.mustFinish(t, run)
			for _, d := range []*daemon{a, peer} {
				if lapsed := d.said("lapsed "); len(lapsed) > 0 {
					t.Fatalf("lapsed: %v", lapsed)
				}
			}
			if n := len(peer.deliveries(t)) + len(peer.said("reclaimed ")); n > 0 {
				t.Fatalf("the peer took over: %v", peer.Lines())
			}
			if ids := f.registered(t); !slices.Contains(ids, run.worker()) {
				t.Fatalf("registered: %v, not %s", ids, run.worker())
			}
			told.onlyOnce(t, "t1")
		})
	}
}

// sweepCount counts the looks at the heartbeats that come through a proxy.
type sweepCount struct{ seen chan struct{} }

func watchSweeps(t testing.TB, proxy *redistest.Proxy) sweepCount {
	t.Helper()
	sweep, s := lua(t, "sweep"), sweepCount{make(chan struct{}, 100)}
	proxy.Intercept(func(c redistest.Command) redistest.Action {
		if sweep.is(c) {
			raise(s.seen)
		}
		return redistest.Pass
	})
	return s
}

// await waits for n more.
func (s sweepCount) await(t testing.TB, n int) {
	t.Helper()
	for len(s.seen) > 0 {
		<-s.seen
	}
	for range n {
		receive(t, s.seen, "a sweep")
	}
}
