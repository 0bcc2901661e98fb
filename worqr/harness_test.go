package worqr_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/rs/zerolog"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// soon is how long a test waits for a fact that should hold at once. Slow machines, the race
// detector and neighbours are allowed for: what is tested is the fact, not the time.
const soon = 60 * time.Second

// open returns a mesh on the shared server, in a namespace of its own.
func open(t testing.TB) *worqr.Mesh {
	t.Helper()
	return openAt(t, redistest.Shared(t).URL(), worqr.Config{Namespace: redistest.Namespace(t)})
}

// openAt returns a mesh on any server, closed at the end of the test.
func openAt(t testing.TB, url string, cfg worqr.Config) *worqr.Mesh {
	t.Helper()
	if cfg.Namespace == "" {
		cfg.Namespace = redistest.Namespace(t)
	}
	cfg.Logger = zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel)
	m, err := worqr.Open(t.Context(), url, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Logf("close: %v", err)
		}
	})
	return m
}

// quick is a worker with a short lapse, which is what its peers wait for, so that tests of deaths
// are short.
func quick() worqr.WorkerConfig {
	return worqr.WorkerConfig{
		Takeover: worqr.TakeoverStrict,
		Beat:     100 * time.Millisecond, Lapse: 500 * time.Millisecond, Sweep: 100 * time.Millisecond, Grace: 5 * time.Second,
	}
}

// start returns a started worker that serves these queues by Take.
func start(t testing.TB, m *worqr.Mesh, cfg worqr.WorkerConfig, queues ...string) *worqr.Worker {
	t.Helper()
	w, err := m.NewWorker(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, q := range queues {
		if err := w.StartWork(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// run returns a worker in Run, and a function that ends it and returns what Run did. The test's end
// ends it too.
func run(t testing.TB, m *worqr.Mesh, cfg worqr.WorkerConfig) (w *worqr.Worker, stop func() error) {
	t.Helper()
	w, err := m.NewWorker(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	var result error
	stopped := false
	stop = func() error {
		cancel()
		if !stopped {
			result, stopped = <-ended, true
		}
		return result
	}
	t.Cleanup(func() { _ = stop() })
	return w, stop
}

// enqueue stores tasks given as text.
func enqueue(t testing.TB, m *worqr.Mesh, queue string, tasks ...string) {
	t.Helper()
	list := make([][]byte, len(tasks))
	for i, task := range tasks {
		list[i] = []byte(task)
	}
	if err := m.Enqueue(t.Context(), queue, list...); err != nil {
		t.Fatal(err)
	}
}

// take takes a task that has to be there.
func take(t testing.TB, w *worqr.Worker, queue string) *worqr.Process {
	t.Helper()
	p, err := w.Take(t.Context(), queue)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// finish finishes a process for the first time.
func finish(t testing.TB, p *worqr.Process) {
	t.Helper()
	if ok, err := p.Finish(t.Context()); !ok || err != nil {
		t.Fatalf("finish of %q: %v, %v; want true", p.Task(), ok, err)
	}
}

// waiting returns the tasks of a queue as text, the front first.
func waiting(t testing.TB, m *worqr.Mesh, queue string) []string {
	t.Helper()
	tasks, err := m.Tasks(t.Context(), queue, 0, 100_000)
	if err != nil {
		t.Fatal(err)
	}
	list := make([]string, len(tasks))
	for i, task := range tasks {
		list[i] = string(task)
	}
	return list
}

// held returns what is in hand as "worker:task", the oldest take first.
func held(t testing.TB, m *worqr.Mesh, queue string) []string {
	t.Helper()
	processes, err := m.Processes(t.Context(), queue)
	if err != nil {
		t.Fatal(err)
	}
	list := make([]string, len(processes))
	for i, p := range processes {
		list[i] = p.Worker + ":" + string(p.Task)
	}
	return list
}

func want[T comparable](t testing.TB, what string, got, wanted []T) {
	t.Helper()
	if !slices.Equal(got, wanted) {
		t.Fatalf("%s: got %v, want %v", what, got, wanted)
	}
}

// keysOf lists every key of a namespace.
func keysOf(t testing.TB, c redis.Conn, ns string) []string {
	t.Helper()
	var keys []string
	for cursor := "0"; ; {
		page, err := redis.Values(c.Do("SCAN", cursor, "COUNT", 1000))
		if err != nil {
			t.Fatal(err)
		}
		names, err := redis.Strings(page[1], nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if strings.HasPrefix(name, "{"+ns+"}") || strings.HasPrefix(name, ns+":{") {
				keys = append(keys, name)
			}
		}
		if cursor, _ = redis.String(page[0], nil); cursor == "0" {
			slices.Sort(keys)
			return slices.Compact(keys)
		}
	}
}

// left lists the keys that may not be there when all workers have left and all tasks are done: all
// but the list of queues, the mesh, and tokens and marks that have an end.
func left(t testing.TB, c redis.Conn, ns string) []string {
	t.Helper()
	var bad []string
	for _, key := range keysOf(t, c, ns) {
		if key == "{"+ns+"}:queues" || key == "{"+ns+"}:mesh" || key == "{"+ns+"}:sweep" || key == "{"+ns+"}:rota" {
			continue
		}
		if strings.HasSuffix(key, ":token") || strings.HasSuffix(key, ":cancels") || strings.HasSuffix(key, ":closed") {
			if ttl, err := redis.Int(c.Do("PTTL", key)); err == nil && ttl > 0 {
				continue
			}
		}
		bad = append(bad, key)
	}
	return bad
}

func queuePrefix(ns, queue string) string {
	tag, rest, slash := strings.Cut(queue, "/")
	if slash {
		rest = "/" + rest
	}
	return fmt.Sprintf("%s:{%s}%s", ns, tag, rest)
}
