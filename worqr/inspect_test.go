package worqr_test

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// scenario 8
func TestListingsAreExactAndNameTheOwner(t *testing.T) {
	t.Parallel()
	ctx, m := t.Context(), open(t)
	tasks := numbered("t", 10)
	enqueue(t, m, "q", tasks...)
	enqueue(t, m, "waits", "x")
	cfg := patient()
	cfg.Labels, cfg.Capacity = map[string]string{"zone": "a", "rack": ""}, 7
	a, b := start(t, m, cfg, "q", "served"), start(t, m, patient(), "q")
	var taken []*worqr.Process
	for _, w := range []*worqr.Worker{a, b, a} {
		taken = append(taken, take(t, w, "q"))
	}

	queues, err := m.Queues(ctx)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "queues", queues, []string{"q", "served", "waits"})
	want(t, "tasks", waiting(t, m, "q"), tasks[3:])
	if n, err := m.Len(ctx, "q"); n != 7 || err != nil {
		t.Errorf("Len is %d, %v; want 7", n, err)
	}
	processes, err := m.Processes(ctx, "q")
	if err != nil || len(processes) != 3 {
		t.Fatalf("Processes: %v, %v; want 3", processes, err)
	}
	for i, w := range []*worqr.Worker{a, b, a} {
		got, p := processes[i], taken[i]
		if got.Worker != w.ID() || got.ID != p.ID() || got.Queue != "q" || got.Token != p.Token() || !bytes.Equal(got.Task, p.Task()) || string(got.Task) != tasks[i] {
			t.Errorf("process %d is %+v, want %s of worker %s with %s", i, got, p.ID(), w.ID(), tasks[i])
		}
	}
	for queue := range map[string]bool{"served": true, "waits": true, "unknown": true} {
		want(t, "in hand of "+queue, held(t, m, queue), nil)
	}

	workers, err := m.Workers(ctx)
	if err != nil || len(workers) != 2 {
		t.Fatalf("Workers: %v, %v; want 2", workers, err)
	}
	host, _ := os.Hostname()
	for i, w := range []*worqr.Worker{a, b} { // the oldest first
		got := workers[i]
		if got.ID != w.ID() || !got.Alive || got.PID != os.Getpid() || got.Host != host || time.Since(got.Started).Abs() > time.Minute {
			t.Errorf("worker %d is %+v, want %s, alive, of this process", i, got, w.ID())
		}
	}
	if got := fmt.Sprint(workers[0].Labels, workers[0].Capacity, workers[1].Labels, workers[1].Capacity); got != "map[rack: zone:a] 7 map[] 1" {
		t.Errorf("labels and capacities are %s", got)
	}
	for id, served := range map[string][]string{a.ID(): {"q", "served"}, b.ID(): {"q"}, "unknown": nil} {
		got, err := m.WorkingQueues(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		want(t, "queues of "+id, got, served)
	}
}

// scenario 8: pages
func TestTasksAreListedInPages(t *testing.T) {
	t.Parallel()
	m := open(t)
	tasks := numbered("t", 10)
	enqueue(t, m, "q", tasks...)
	for _, page := range []struct{ offset, limit, from, to int }{
		{0, 10, 0, 10}, {0, 100, 0, 10}, {0, 1, 0, 1}, {3, 4, 3, 7}, {9, 1, 9, 10}, {9, 5, 9, 10}, {10, 1, 10, 10}, {100, 100, 10, 10}, {0, 0, 0, 0}, {5, 0, 0, 0},
	} {
		got, err := m.Tasks(t.Context(), "q", page.offset, page.limit)
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, task := range got {
			list = append(list, string(task))
		}
		want(t, fmt.Sprintf("offset %d, limit %d", page.offset, page.limit), list, tasks[page.from:page.to])
	}
}

// scenario 8: more than one page of everything that is read in pages
func TestLongListingsAreComplete(t *testing.T) {
	t.Parallel()
	const n = 1_201
	ctx, m := t.Context(), open(t)
	queues := numbered("q", n)
	for _, q := range queues {
		enqueue(t, m, q, "x")
	}
	slices.Sort(queues)
	got, err := m.Queues(ctx)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "queues", got, queues)

	tasks := numbered("t", n)
	enqueue(t, m, "q", tasks...)
	w := start(t, m, patient(), "q")
	for range n {
		take(t, w, "q")
	}
	for i := range tasks {
		tasks[i] = w.ID() + ":" + tasks[i]
	}
	want(t, "in hand", held(t, m, "q"), tasks)
}

// scenario 9: commandstats counts what scripts call, too
func TestNoCommandReadsAllKeys(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t)
	c := server.Conn(t)
	const foreign = 10_000
	for i := range foreign {
		if err := c.Send("SET", fmt.Sprintf("foreign:%d", i), "x"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Do(""); err != nil {
		t.Fatal(err)
	}
	m := openAt(t, server.URL(), worqr.Config{Namespace: "mesh"})
	everyVerb(t, m)
	if n, err := redis.Int(c.Do("DBSIZE")); n < foreign || err != nil {
		t.Fatalf("%d keys, %v; the %d foreign ones should be there", n, err, foreign)
	}
	stats, err := redis.String(c.Do("INFO", "commandstats"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(stats, "cmdstat_evalsha") || !strings.Contains(stats, "cmdstat_lmove") {
		t.Fatalf("these are not the statistics of a mesh:\n%s", stats)
	}
	for _, line := range regexp.MustCompile(`(?m)^cmdstat_(keys|scan|sort|randomkey|dbsize\|.*|monitor|flush.*)[:|].*$`).FindAllString(stats, -1) {
		t.Errorf("the mesh has sent %s", line)
	}
}

// everyVerb calls each verb at least once, and lets peers reclaim what a dead one held.
func everyVerb(t testing.TB, m *worqr.Mesh) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx := t.Context()
	reclaimed := make(chan string, 100)
	cfg := quick()
	cfg.Hooks.OnReclaim = func(id, queue string, _ int) { reclaimed <- queue }
	w := start(t, m, cfg, "q", "q2")
	heard := hear(t, m, "q")
	enqueue(t, m, "q", numbered("t", 8)...)
	receive(t, "the work event", heard)
	enqueue(t, m, "never-served", "x")
	finish(t, take(t, w, "q"))
	must(take(t, w, "q").Stop(ctx))
	must(take(t, w, "q").StopToBack(ctx))
	take(t, w, "q")

	other := start(t, m, quick(), "q")
	take(t, other, "q")
	must(m.Fail(ctx, other.ID()))
	receive(t, "the reclaim", reclaimed)
	must(other.Fail(ctx))

	_, err := m.Queues(ctx)
	must(err)
	_, err = m.Workers(ctx)
	must(err)
	_, err = m.WorkingQueues(ctx, w.ID())
	must(err)
	_, err = m.Processes(ctx, "q")
	must(err)
	_, err = m.Peek(ctx, "q")
	must(err)
	_, err = m.Len(ctx, "q")
	must(err)
	_, err = m.Tasks(ctx, "q", 0, 10)
	must(err)
	_, err = m.Cancel(ctx, "q", []byte("t7"))
	must(err)
	_, err = m.DeleteQueue(ctx, "never-served")
	must(err)
	must(w.StopWork(ctx, "q2"))
	ran := make(chan string, 100)
	_, stop := run(t, m, handling(quick(), "q3", 2, gather(ran)))
	enqueue(t, m, "q3", "a", "b")
	receive(t, "a run", ran)
	receive(t, "a run", ran)
	must(stop())
	must(w.Fail(ctx))
	everyPersistentVerb(t, m)
	must(m.Check(ctx))
}

// scenario 10
func TestProducerIsNoWorker(t *testing.T) {
	t.Parallel()
	ctx, m := t.Context(), open(t)
	if _, err := m.NewWorker(worqr.WorkerConfig{}); err != nil { // never started
		t.Fatal(err)
	}
	hear(t, m, "q")
	enqueue(t, m, "q", "a")
	if _, err := m.Cancel(ctx, "q", []byte("a")); err != nil {
		t.Fatal(err)
	}
	if workers, err := m.Workers(ctx); len(workers) != 0 || err != nil {
		t.Fatalf("Workers: %v, %v; want none", workers, err)
	}
	w := start(t, m, patient())
	if workers, err := m.Workers(ctx); len(workers) != 1 || err != nil || workers[0].ID != w.ID() {
		t.Fatalf("Workers: %v, %v; want only %s", workers, err, w.ID())
	}
}

// scenario 95
func TestNamespacesAreApart(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	ns, server := redistest.Namespace(t), redistest.Shared(t).URL()
	one, two := open(t), openAt(t, server, worqr.Config{Namespace: ns})
	heard := hear(t, openAt(t, server, worqr.Config{Namespace: ns}), "q")
	enqueue(t, one, "q", "a", "b", "c")
	w1, w2 := start(t, one, patient(), "q"), start(t, two, patient(), "q")
	p := take(t, w1, "q")
	if _, err := w2.Take(ctx, "q"); err == nil {
		t.Fatal("took a task of another namespace")
	}
	enqueue(t, two, "q", "a", "b")
	q := take(t, w2, "q")
	if c, err := one.Cancel(ctx, "q", []byte("a")); err != nil || len(c.Running) != 1 || c.Running[0].ID != p.ID() {
		t.Fatalf("Cancel: %+v, %v; want only the process of this namespace", c, err)
	}
	ended(t, p.Context())
	if n, err := one.DeleteQueue(ctx, "q"); n != 2 || err != nil {
		t.Fatalf("DeleteQueue removed %d, %v; want 2", n, err)
	}
	if err := one.Fail(ctx, w2.ID()); err == nil {
		t.Fatal("failed a worker of another namespace")
	}
	if err := w1.Fail(ctx); err != nil {
		t.Fatal(err)
	}
	want(t, "tasks of the other", waiting(t, two, "q"), []string{"b"})
	want(t, "in hand of the other", held(t, two, "q"), []string{w2.ID() + ":a"})
	if err := q.Context().Err(); err != nil {
		t.Error("a cancel has reached another namespace")
	}
	enqueue(t, two, "q", "marker")
	for _, count := range []int{2, 1} { // only what this namespace was told
		if e := receive(t, "a work event", heard); e.Count != count {
			t.Fatalf("heard %+v, want work with count %d", e, count)
		}
	}
}
