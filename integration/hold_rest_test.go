package integration

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// Ten workers that hold 10,000 tasks ask as much of Redis, at rest, as ten that hold 100: within a
// tenth, by the server's own count, of what clients send and of what the scripts do with it. Both
// meshes are counted at the same time, each on a server of its own.
func TestRestCostsTheSameWithManyHolds(t *testing.T) {
	if testing.Short() {
		t.Skip("it counts over time")
	}
	t.Parallel()
	const workers, same = 10, 1.1
	window := time.Duration(longer(10, 30)) * time.Second
	var meshes []*atRest
	for _, tasks := range []int{100, 10_000} {
		meshes = append(meshes, newAtRest(t, workers, tasks))
	}
	pass(lapse) // who has joined within the last lapse looks more often
	for _, m := range meshes {
		m.commands(t)
	}
	pass(window) // a rate is a matter of time
	var sent, done []float64
	for _, m := range meshes {
		s, d, list := m.commands(t)
		seconds := window.Seconds()
		sent, done = append(sent, s/seconds), append(done, d/seconds)
		t.Logf("%d holds: %.1f commands per second are sent, %.1f are done with those in scripts: %s", m.tasks, s/seconds, d/seconds, list)
	}
	for what, rates := range map[string][]float64{"sent": sent, "done": done} {
		if low, high := slices.Min(rates), slices.Max(rates); high > same*low {
			t.Errorf("commands %s per second: %.1f; want them within a tenth", what, rates)
		}
	}
}

// atRest is a mesh on a server of its own, all of whose tasks are held.
type atRest struct {
	*field
	tasks   int
	running atomic.Int64
	before  map[string]int // calls, by command
}

func newAtRest(t testing.TB, workers, tasks int) *atRest {
	t.Helper()
	m := &atRest{field: fieldAt(t, redistest.Own(t)), tasks: tasks, before: map[string]int{}}
	cfg := worqr.WorkerConfig{Grace: time.Millisecond, Queues: map[string]worqr.Queue{queue: {
		Persistent: true,
		Handler: worqr.HandlerFunc(func(ctx context.Context, _ *worqr.Process) error {
			m.running.Add(1)
			<-ctx.Done()
			return ctx.Err()
		}),
	}}}
	for range workers {
		m.serve(t, m.server.URL(), cfg)
		pass(time.Second / time.Duration(workers)) // so that each second has as many beats
	}
	redistest.Eventually(t, soon, "all serve the queue", func() bool { return m.count(t, "HLEN", m.key("workers")) == workers })
	desired := make([][]byte, tasks)
	for i, task := range named("t", tasks) {
		desired[i] = []byte(task)
	}
	if _, err := m.mesh.Reconcile(t.Context(), queue, desired); err != nil {
		t.Fatal(err)
	}
	redistest.Eventually(t, soon, "all is held", func() bool { return m.running.Load() == int64(tasks) })
	return m
}

// commands returns how many there were since its last call, and lists them: those that clients
// sent, and all, with those in scripts. Its own are left out.
func (m *atRest) commands(t testing.TB) (sent, done float64, list string) {
	t.Helper()
	text, err := redis.String(m.conn.Do("INFO", "commandstats"))
	if err != nil {
		t.Fatal(err)
	}
	now := map[string]int{}
	for line := range strings.Lines(text) {
		name, rest, ok := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":calls=")
		if !ok || name == "info" {
			continue
		}
		calls := 0
		if _, err := fmt.Sscanf(rest, "%d", &calls); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		now[name] = calls
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(now)) {
		n := now[name] - m.before[name]
		if n == 0 {
			continue
		}
		done += float64(n)
		if name == "evalsha" || name == "eval" || name == "ping" {
			sent += float64(n)
		}
		parts = append(parts, fmt.Sprint(name, " ", n))
	}
	m.before = now
	return sent, done, strings.Join(parts, ", ")
}
