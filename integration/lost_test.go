package integration

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// faulty returns a proxy that applies action to the first n commands of an operation, and counts
// them all.
func (f *field) faulty(t testing.TB, name string, n int, action redistest.Action) (proxy *redistest.Proxy, sent *atomic.Int32) {
	t.Helper()
	op := lua(t, name)
	op.load(t, f) // so that the first command is the operation, not a question whether it is known
	proxy, sent = redistest.NewProxy(t, f.server.URL()), new(atomic.Int32)
	proxy.Intercept(func(c redistest.Command) redistest.Action {
		if op.is(c) && int(sent.Add(1)) <= n {
			return action
		}
		return redistest.Pass
	})
	return proxy, sent
}

// lostReply are the ways in which a command runs, or will run, and its sender does not know.
var lostReply = []struct {
	name   string
	action redistest.Action
	times  int
}{
	{"the connection ends after it", redistest.CutAfter, 1},
	{"it ends after each attempt", redistest.CutAfter, 5}, // more than one call makes
	{"the reply never comes", redistest.DropReply, 1},
	{"it stays in the buffers of a dead connection", redistest.Hold, 1},
	{"a second copy is on its way", redistest.Duplicate, 1},
}

// scenario 28, scenario 92, scenario 101: t1 was taken and its worker does not know. It gets it all
// the same, once, and a copy that arrives when t1 is finished draws nothing.
func TestATakeWhoseReplyIsLost(t *testing.T) {
	t.Parallel()
	for _, lost := range lostReply {
		t.Run(lost.name, func(t *testing.T) {
			t.Parallel()
			f := newField(t)
			told := f.listen(t)
			f.enqueue(t, "t1", "t2", "t3")
			proxy, _ := f.faulty(t, "take", lost.times, lost.action)
			a := f.daemon(t, setup{URL: proxy.URL(), Queue: queue, Do: "hold"})
			a.mustFinish(t, a.nextIs(t, "t1"))
			t2 := a.nextIs(t, "t2")
			proxy.Release(t)
			f.awaitWaiting(t, "t3")
			if held := f.held(t); !slices.Equal(held, []string{t2.process + " t2"}) {
				t.Fatalf("in hand: %v; want only t2", held)
			}
			a.mustFinish(t, t2)
			a.mustFinish(t, a.nextIs(t, "t3"))
			told.onlyOnce(t, "t1", "t2", "t3")
			a.end(t)
			f.awaitClean(t)
		})
	}
}

// scenario 92: the finish ran, or will run. Its result is true, there is one effect and one event.
func TestASettleWhoseReplyIsLost(t *testing.T) {
	t.Parallel()
	for _, lost := range lostReply {
		t.Run(lost.name, func(t *testing.T) {
			t.Parallel()
			f := newField(t)
			told := f.listen(t)
			f.enqueue(t, "t1", "t2", "t1") // a twin of t1 waits
			proxy, _ := f.faulty(t, "settle", lost.times, lost.action)
			a := f.daemon(t, setup{URL: proxy.URL(), Queue: queue, Do: "hold"})
			a.mustFinish(t, a.nextIs(t, "t1"))
			t2 := a.nextIs(t, "t2")
			proxy.Release(t)
			if held := f.held(t); !slices.Equal(held, []string{t2.process + " t2"}) {
				t.Fatalf("in hand: %v; want only t2", held)
			}
			f.awaitWaiting(t, "t1")
			a.mustFinish(t, t2)
			if done := told.snapshot(t).finished; done["t1"] != 1 || done["t2"] != 1 {
				t.Fatalf("finished: %v", done)
			}
			a.mustFinish(t, a.nextIs(t, "t1"))
			a.end(t)
			f.awaitClean(t)
		})
	}
}

// scenario 92: a plain enqueue is never repeated once it was sent.
func TestAnEnqueueWhoseReplyIsLost(t *testing.T) {
	t.Parallel()
	for _, lost := range []struct {
		name    string
		action  redistest.Action
		at, end int // tasks that wait when the caller has its answer, and when late copies have run
	}{
		{"it never arrived", redistest.CutBefore, 0, 0},
		{"the connection ends after it", redistest.CutAfter, 1, 1},
		{"the reply never comes", redistest.DropReply, 1, 1},
		{"it arrives late", redistest.Hold, 0, 1},
	} {
		t.Run(lost.name, func(t *testing.T) {
			t.Parallel()
			f := newField(t)
			proxy, sent := f.faulty(t, "enqueue", 1000, lost.action)
			m, err := worqr.Open(t.Context(), proxy.URL(), worqr.Config{Namespace: f.ns})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			err = m.Enqueue(t.Context(), queue, []byte("t1"))
			if !errors.Is(err, worqr.ErrUnknown) {
				t.Fatalf("enqueue: %v, want ErrUnknown", err)
			}
			if n := sent.Load(); n != 1 {
				t.Fatalf("it was sent %d times", n)
			}
			if n := len(f.waiting(t)); n != lost.at {
				t.Fatalf("%d tasks wait, want %d", n, lost.at)
			}
			proxy.Release(t)
			if n := len(f.waiting(t)); n != lost.end {
				t.Fatalf("%d tasks wait at the end, want %d", n, lost.end)
			}
		})
	}
}

// scenario 102: the open is in the buffers of a dead connection while its worker is killed and
// reclaimed, and executes then, and so does a take. The worker is not registered any more: the rota
// finds its task.
func TestOpenAndTakeExecuteAfterTheirWorkersEnd(t *testing.T) {
	t.Parallel()
	f := newField(t)
	f.enqueue(t, "t1", "t2")
	proxy, sent := f.faulty(t, "open", 1, redistest.Hold)
	a := f.daemon(t, setup{URL: proxy.URL(), Queue: queue, Do: "hold"})
	redistest.Eventually(t, soon, "the open is sent", func() bool { return sent.Load() > 0 })
	dead := a.joined(t, 1)
	a.Kill(t)
	peers := f.daemon(t, setup{Workers: 2}) // they supervise
	f.awaitGone(t, dead)

	peers.Freeze(t) // so that the rota does not come between the two
	if n := proxy.Release(t); n != 1 {
		t.Fatalf("%d late commands, want the open", n)
	}
	if answer, _ := lua(t, "take").on(t, f, dead+".1", 1, 1, 0).([]any); len(answer) != 4 {
		t.Fatalf("the late take: %q; it was to draw t1", answer)
	}
	peers.Thaw(t)
	f.awaitWaiting(t, "t1", "t2")
	redistest.Eventually(t, soon, "nobody is in the queue", func() bool { return f.count(t, "HLEN", f.key("workers")) == 0 })
	f.awaitWaiting(t, "t1", "t2")
}

// scenario 102, the other way: both had their replies, and second copies of them arrive.
func TestSecondCopiesAfterTheirWorkersEnd(t *testing.T) {
	t.Parallel()
	f := newField(t)
	proxy := redistest.NewProxy(t, f.server.URL())
	copied := []operation{lua(t, "join"), lua(t, "serve"), lua(t, "open"), lua(t, "take"), lua(t, "beat"), lua(t, "settle")}
	proxy.Intercept(func(c redistest.Command) redistest.Action {
		if slices.ContainsFunc(copied, func(op operation) bool { return op.is(c) }) {
			return redistest.Duplicate
		}
		return redistest.Pass
	})
	f.enqueue(t, "t1", "t2")
	a := f.daemon(t, setup{URL: proxy.URL(), Queue: queue, Do: "hold"})
	a.mustFinish(t, a.nextIs(t, "t1"))
	a.nextIs(t, "t2")
	dead := a.joined(t, 1)
	a.Kill(t)
	f.daemon(t, setup{Workers: 2}) // they supervise
	f.awaitGone(t, dead)
	f.awaitWaiting(t, "t2")
	f.enqueue(t, "t3")

	if n := proxy.Release(t); n < 5 {
		t.Fatalf("only %d late copies", n)
	}
	if n := f.count(t, "HLEN", f.key("workers")); n > 0 {
		t.Fatal("the late open has opened what was closed")
	}
	f.awaitWaiting(t, "t2", "t3")
	f.awaitGone(t, dead) // the late join may have registered it again: then it lapses again
	b := f.daemon(t, setup{Queue: queue, Do: "hold"})
	b.mustFinish(t, b.nextIs(t, "t2"))
	b.mustFinish(t, b.nextIs(t, "t3"))
}
