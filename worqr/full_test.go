package worqr_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/events"
	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// limited returns a server that evicts nothing.
func limited(t testing.TB) (*redistest.Server, redis.Conn) {
	t.Helper()
	server := redistest.Own(t, "--maxmemory", "32mb", "--maxmemory-policy", "noeviction")
	return server, server.Conn(t)
}

// fill stores what is not ours until the server refuses it, and lowers the limit so that nothing
// small fits either.
func fill(t testing.TB, c redis.Conn) {
	t.Helper()
	for i := 0; ; i++ {
		_, err := c.Do("APPEND", "filler", strings.Repeat("x", 1<<20))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "OOM") {
				t.Fatal(err)
			}
			break
		}
	}
	if _, err := c.Do("CONFIG", "SET", "maxmemory", 16<<20); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Do("SET", "small", "x"); err == nil {
		t.Fatal("the server is not full")
	}
}

// content is a snapshot without what rounds of supervision change.
func content(t testing.TB, c redis.Conn, ns string) map[string]string {
	t.Helper()
	s := snapshot(t, c, ns)
	maps.DeleteFunc(s, func(key, _ string) bool {
		return strings.HasSuffix(key, ":round") || slices.ContainsFunc([]string{"mesh", "sweep", "rota", "watch", "deputy", "present"}, func(part string) bool {
			return strings.HasSuffix(key, "}:"+part)
		})
	})
	return s
}

// scenario 94
func TestEnqueueOnAFullRedis(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	server, c := limited(t)
	m := openAt(t, server.URL(), worqr.Config{Namespace: "ns"})
	enqueue(t, m, "q", "a")
	start(t, m, patient(), "q")
	fill(t, c)
	many := make([][]byte, 1_300)
	for i := range many {
		many[i] = []byte("x")
	}
	before := snapshot(t, c, "ns")
	for what, err := range map[string]error{
		"one task":           m.Enqueue(ctx, "q", []byte("b")),
		"a batch":            m.Enqueue(ctx, "q", []byte("b"), []byte("c")),
		"a batch of several": m.Enqueue(ctx, "q", many...),
		"a new queue":        m.Enqueue(ctx, "new", []byte("b")),
		"a large task":       m.Enqueue(ctx, "q", make([]byte, 5<<20)),
	} {
		if !errors.Is(err, worqr.ErrRedisFull) || errors.Is(err, worqr.ErrUnknown) {
			t.Errorf("%s: %v, want ErrRedisFull", what, err)
		}
		var batch *worqr.BatchError
		if errors.As(err, &batch) {
			t.Errorf("%s: %d tasks were accepted", what, batch.Accepted)
		}
	}
	want(t, "changed", differences(before, snapshot(t, c, "ns")), nil)

	// It fills up within a batch of several steps: the error says how many of it are stored.
	if _, err := c.Do("DEL", "filler"); err != nil {
		t.Fatal(err)
	}
	large := make([][]byte, 40)
	for i := range large {
		large[i] = make([]byte, 1<<20)
	}
	err := m.Enqueue(ctx, "q", large...)
	var batch *worqr.BatchError
	if !errors.Is(err, worqr.ErrRedisFull) || !errors.As(err, &batch) {
		t.Fatalf("40 MiB: %v, want ErrRedisFull within a BatchError", err)
	}
	n, err := m.Len(ctx, "q")
	if err != nil || batch.Accepted == 0 || n != 1+batch.Accepted {
		t.Errorf("%d tasks wait, %v; the error says that %d were accepted", n, err, batch.Accepted)
	}
	if _, err := m.DeleteQueue(ctx, "q"); err != nil {
		t.Fatal(err)
	}
	redistest.Eventually(t, soon, "there is room again", func() bool { return m.Enqueue(ctx, "new", []byte("b")) == nil })
}

// scenario 106
func TestEverythingButEnqueueGoesOnOnAFullRedis(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	server, c := limited(t)
	m := openAt(t, server.URL(), worqr.Config{Namespace: "ns"})
	proxy := redistest.NewProxy(t, server.URL())
	dying := openAt(t, proxy.URL(), worqr.Config{Namespace: "ns"})
	heard := hear(t, m, "q", events.Done, events.Cancel)
	enqueue(t, m, "q", numbered("t", 12)...)
	enqueue(t, m, "other", "x", "y")

	reclaimed := make(chan int, 10)
	peer := steady() // either of the two may have the round
	peer.Hooks.OnReclaim = func(_, _ string, n int) { reclaimed <- n }
	a := start(t, m, peer, "q", "other")
	first, second, third, x := take(t, a, "q"), take(t, a, "q"), take(t, a, "q"), take(t, a, "other")
	frail := steady()
	frail.Takeover = worqr.TakeoverStrict // so that nothing of it is left then
	doomed := start(t, dying, frail, "q")
	take(t, doomed, "q") // t3
	take(t, doomed, "q") // t4
	b := start(t, m, peer)
	ids := []string{a.ID(), b.ID()}

	fill(t, c)
	full := func() {
		t.Helper()
		before := content(t, c, "ns")
		for _, queue := range []string{"q", "other", "new"} {
			if err := m.Enqueue(ctx, queue, []byte("z")); !errors.Is(err, worqr.ErrRedisFull) {
				t.Fatalf("enqueue to %s: %v, want ErrRedisFull", queue, err)
			}
		}
		want(t, "changed by refused enqueues", differences(before, content(t, c, "ns")), nil)
	}
	full()
	finish(t, first)
	if e := receive(t, "the done event", heard); e.Kind != events.Done || string(e.Task) != "t0" {
		t.Errorf("heard %+v", e)
	}
	if err := errors.Join(second.Stop(ctx), third.StopToBack(ctx)); err != nil {
		t.Fatal(err)
	}
	want(t, "tasks", waiting(t, m, "q"), []string{"t1", "t5", "t6", "t7", "t8", "t9", "t10", "t11", "t2"})
	if canceled, err := m.Cancel(ctx, "q", []byte("t9")); err != nil || canceled.Waiting != 1 {
		t.Errorf("Cancel: %+v, %v; want one waiting", canceled, err)
	}
	if e := receive(t, "the cancel event", heard); e.Kind != events.Cancel || string(e.Task) != "t9" {
		t.Errorf("heard %+v", e)
	}
	if canceled, err := m.Cancel(ctx, "other", []byte("x")); err != nil || len(canceled.Running) != 1 {
		t.Errorf("Cancel: %+v, %v; want one running", canceled, err)
	}
	if cause := ended(t, x.Context()); !errors.Is(cause, worqr.ErrCanceled) {
		t.Errorf("its context ended with %v, want ErrCanceled", cause)
	}
	if err := x.Stop(ctx); err != nil { // dropped
		t.Error(err)
	}
	if n, err := m.DeleteQueue(ctx, "other"); n != 1 || err != nil {
		t.Errorf("DeleteQueue: %d, %v; want 1", n, err)
	}

	proxy.Refuse(true)
	if n := receive(t, "the reclaim", reclaimed); n != 2 {
		t.Errorf("%d processes were reclaimed, want 2", n)
	}
	redistest.Eventually(t, soon, "its registration has ended", func() bool { workers, err := m.Workers(ctx); return err == nil && len(workers) <= 2 })
	want(t, "tasks", waiting(t, m, "q"), []string{"t3", "t4", "t1", "t5", "t6", "t7", "t8", "t10", "t11", "t2"})
	full()
	if !a.Alive() || !b.Alive() || a.ID() != ids[0] || b.ID() != ids[1] { // a whole lapse later
		t.Errorf("the workers have lapsed: %v, %v", a.Alive(), b.Alive())
	}

	// A new worker joins, serves, takes and finishes: the mesh drains itself.
	ran := make(chan string, 20)
	_, stop := run(t, m, handling(steady(), "q", 2, gather(ran)))
	last := take(t, a, "q")
	if err := a.StopWork(ctx, "q"); err != nil { // returns it
		t.Errorf("StopWork: %v", err)
	}
	if cause := ended(t, last.Context()); !errors.Is(cause, worqr.ErrStopping) {
		t.Errorf("its context ended with %v, want ErrStopping", cause)
	}
	for range 10 {
		receive(t, "the runs of what is left", ran)
	}
	if err := errors.Join(stop(), a.Fail(ctx), b.Fail(ctx)); err != nil {
		t.Errorf("leaving: %v", err)
	}
	if workers, err := m.Workers(ctx); len(workers) > 1 || err != nil { // the doomed one may be back by now
		t.Errorf("registered are %v, %v", workers, err)
	}
	want(t, "tasks", waiting(t, m, "q"), nil)
	full()
	want(t, "keys", left(t, c, "ns"), nil)
	if _, err := c.Do("DEL", "filler"); err != nil {
		t.Fatal(err)
	}
	enqueue(t, m, "q", "z")
}
