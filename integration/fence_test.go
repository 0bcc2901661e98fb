package integration

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/worqr/worqr-go/internal/redistest"
)

// scenario 103: the old opening is still on its way back when the worker has opened the queue
// again.
func TestALateReclaimOfAnOldOpening(t *testing.T) {
	t.Parallel()
	f := newField(t)
	f.enqueue(t, "t1", "t2", "t3")
	a := f.daemon(t, setup{Queue: queue, Limit: 3, Do: "hold"})
	first := a.holdAll(t, 3)
	id := a.joined(t, 1)

	// a reclaimer that is wrong about A fences it out, and does one step
	reclaim := lua(t, "reclaim")
	reclaim.on(t, f, id+".1", 1)
	for _, run := range first {
		a.await(t, "ended "+run.process+" ")
	}
	again := a.holdAll(t, 6)[3:]
	for i, run := range again {
		if run.task != first[i].task || run.worker() != id || run.token <= first[i].token {
			t.Fatalf("second opening: %+v after %+v", run, first[i])
		}
	}
	before := f.held(t)
	reclaim.on(t, f, id+".1", 500)
	if after := f.held(t); len(after) != 3 || !slices.Equal(before, after) {
		t.Fatalf("in hand: %v, after the late step %v", before, after)
	}
	for _, run := range again {
		a.mustFinish(t, run)
	}
	if lapsed := a.said("lapsed "); len(lapsed) > 0 {
		t.Fatalf("lapsed: %v", lapsed)
	}
	a.end(t)
	f.awaitClean(t)
}

// scenario 100: over a death, over the loss of the stored token, and over a server that has lost
// all it knew.
func TestALaterOwnersTokenIsGreater(t *testing.T) {
	t.Parallel()
	f := fieldAt(t, redistest.Own(t)) // it saves nothing
	f.enqueue(t, "t1")
	var last delivery
	above := func(d delivery) {
		t.Helper()
		if d.token <= last.token {
			t.Fatalf("token %d after %d", d.token, last.token)
		}
		last = d
	}
	a := f.daemon(t, setup{Queue: queue, Do: "hold"})
	above(a.nextIs(t, "t1"))
	a.Kill(t)
	b := f.daemon(t, setup{Queue: queue, Do: "hold"})
	above(b.nextIs(t, "t1"))
	f.count(t, "DEL", f.key("token"))
	b.Tell(t, "stop "+last.process)
	above(b.nextIs(t, "t1"))

	f.server.Kill(t)
	f.server.Start(t)
	redistest.Eventually(t, soon, "the producer reaches it", func() bool {
		return f.mesh.Enqueue(t.Context(), queue, []byte("t2")) == nil
	})
	for {
		run := b.next(t)
		above(run)
		if run.task == "t2" {
			b.mustFinish(t, run)
			return
		}
	}
}

// scenario 92, scenario 103: a finish was sent and got no reply, and its owner is fenced before it
// is sent again. It is not known whether it ran, so Finish returns false; and here it did not run.
func TestAFinishThatWasOvertakenByAReclaim(t *testing.T) {
	t.Parallel()
	f := newField(t)
	told := f.listen(t)
	f.enqueue(t, "t1")
	proxy := redistest.NewProxy(t, f.server.URL())
	settle, look, sent := lua(t, "settle"), lua(t, "look"), make(chan struct{}, 1)
	var fenced atomic.Bool
	proxy.Intercept(func(c redistest.Command) redistest.Action {
		switch {
		case settle.is(c) && !fenced.Load():
			raise(sent)
			return redistest.CutBefore
		case look.is(c) && len(sent) > 0: // only the finish is to find out
			return redistest.CutBefore
		}
		return redistest.Pass
	})
	a := f.daemon(t, setup{URL: proxy.URL(), Queue: queue, Do: "hold"})
	first := a.nextIs(t, "t1")
	a.Tell(t, "finish "+first.process)
	redistest.Eventually(t, soon, "the finish is sent", func() bool { return len(sent) > 0 })
	lua(t, "reclaim").on(t, f, first.worker()+".1", 500)
	fenced.Store(true)
	if answer := a.await(t, "finished "+first.process+" "); !strings.HasPrefix(answer, "false ") || !strings.Contains(answer, "unknown") {
		t.Fatalf("finish: %s; want false, outcome unknown", answer)
	}
	a.mustFinish(t, a.nextIs(t, "t1"))
	told.onlyOnce(t, "t1")
}
