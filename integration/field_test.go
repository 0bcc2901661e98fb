package integration

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// soon is how long a test waits for a fact. It allows for slow machines, the race detector and
// neighbours: the fact is tested, not the time.
const soon = 60 * time.Second

// queue is the queue that a field's daemons serve.
const queue = "q"

// brisk makes tests of deaths short, and leaves a busy machine enough room not to make a live
// worker look dead.
var brisk = timing{Beat: 300 * time.Millisecond, Lapse: 2 * time.Second, Sweep: 200 * time.Millisecond}

// field is where a test takes place: a server, a namespace of the test's own, and a client beside
// the daemons.
type field struct {
	server *redistest.Server
	ns     string
	mesh   *worqr.Mesh
	conn   redis.Conn
}

func newField(t testing.TB) *field {
	t.Helper()
	return fieldAt(t, redistest.Shared(t))
}

func fieldAt(t testing.TB, server *redistest.Server) *field {
	t.Helper()
	f := &field{server: server, ns: redistest.Namespace(t), conn: server.Conn(t)}
	var err error
	if f.mesh, err = worqr.Open(t.Context(), server.URL(), worqr.Config{Namespace: f.ns}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.mesh.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return f
}

// enqueue stores tasks given as text.
func (f *field) enqueue(t testing.TB, tasks ...string) {
	t.Helper()
	list := make([][]byte, len(tasks))
	for i, task := range tasks {
		list[i] = []byte(task)
	}
	if err := f.mesh.Enqueue(t.Context(), queue, list...); err != nil {
		t.Fatal(err)
	}
}

// named returns n names: prefix0001 and so on.
func named(prefix string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("%s%04d", prefix, i+1)
	}
	return list
}

// waiting returns the tasks of the queue, the front first.
func (f *field) waiting(t testing.TB) []string {
	t.Helper()
	tasks, err := f.mesh.Tasks(t.Context(), queue, 0, 100_000)
	if err != nil {
		t.Fatal(err)
	}
	list := make([]string, len(tasks))
	for i, task := range tasks {
		list[i] = string(task)
	}
	return list
}

// awaitWaiting waits until exactly these tasks wait, in this order.
func (f *field) awaitWaiting(t testing.TB, tasks ...string) {
	t.Helper()
	var now []string
	defer func() {
		if t.Failed() {
			t.Logf("waiting at last: %s", short(now))
		}
	}()
	redistest.Eventually(t, soon, "waiting: "+short(tasks), func() bool {
		now = f.waiting(t)
		return slices.Equal(now, tasks)
	})
}

func short(list []string) string {
	if len(list) > 20 {
		return fmt.Sprintf("%d: %v ... %v", len(list), list[:10], list[len(list)-10:])
	}
	return fmt.Sprint(list)
}

// held returns what is in hand as "process task", the oldest take first.
func (f *field) held(t testing.TB) []string {
	t.Helper()
	processes, err := f.mesh.Processes(t.Context(), queue)
	if err != nil {
		t.Fatal(err)
	}
	list := make([]string, len(processes))
	for i, p := range processes {
		list[i] = p.ID + " " + string(p.Task)
	}
	return list
}

// registered returns the ids of the registered workers.
func (f *field) registered(t testing.TB) []string {
	t.Helper()
	workers, err := f.mesh.Workers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list := make([]string, len(workers))
	for i, w := range workers {
		list[i] = w.ID
	}
	return list
}

// awaitGone waits until a worker is not registered any more.
func (f *field) awaitGone(t testing.TB, worker string) {
	t.Helper()
	redistest.Eventually(t, soon, "worker "+worker+" is not registered any more", func() bool {
		return !slices.Contains(f.registered(t), worker)
	})
}

// awaitIdle waits until n memberships are parked: they found the queue empty, and a wake-up would
// reach them.
func (f *field) awaitIdle(t testing.TB, n int) {
	t.Helper()
	redistest.Eventually(t, soon, fmt.Sprintf("%d idle workers", n), func() bool {
		return f.count(t, "SCARD", f.key("idle")) == n
	})
}

// awaitMember waits until a worker has the queue open for the first time.
func (f *field) awaitMember(t testing.TB, worker string) {
	t.Helper()
	redistest.Eventually(t, soon, worker+" serves the queue", func() bool {
		return f.count(t, "HEXISTS", f.key("workers"), worker+".1") == 1
	})
}

// awaitRegistered waits until n workers are registered: what lapsed was reclaimed, also a join that
// nobody waits for.
func (f *field) awaitRegistered(t testing.TB, n int) {
	t.Helper()
	redistest.Eventually(t, soon, fmt.Sprintf("%d workers are registered", n), func() bool { return len(f.registered(t)) == n })
}

// key returns the name of a key of the queue, meshKey that of one of the mesh.
func (f *field) key(rest string) string     { return f.ns + ":{" + queue + "}:" + rest }
func (f *field) meshKey(rest string) string { return "{" + f.ns + "}:" + rest }

// channels returns the root of the channels' names, which carry the number of the database.
func (f *field) channels(t testing.TB) string {
	t.Helper()
	u, err := url.Parse(f.server.URL())
	if err != nil {
		t.Fatal(err)
	}
	db := strings.TrimPrefix(u.Path, "/")
	if db == "" {
		db = "0"
	}
	return f.ns + "@" + db
}

// count sends a command whose reply is a number.
func (f *field) count(t testing.TB, command string, args ...any) int {
	t.Helper()
	n, err := redis.Int(f.conn.Do(command, args...))
	if err != nil {
		t.Fatalf("%s %v: %v", command, args, err)
	}
	return n
}

// awaitClean waits until no key of this namespace is left except those that may stay, when all
// tasks are done and all workers have left: the list of queues, the mesh, and tokens and marks that
// have an end.
func (f *field) awaitClean(t testing.TB) {
	t.Helper()
	var bad []string
	defer func() {
		if t.Failed() {
			t.Logf("left over: %v", bad)
		}
	}()
	// Who lapsed while it left has no peer that could tidy up behind it.
	if left := f.registered(t); len(left) > 0 {
		t.Logf("lapsed on leaving: %v", left)
		last := f.daemon(t, setup{})
		for _, worker := range left {
			f.awaitGone(t, worker)
		}
		last.end(t)
	}
	redistest.Eventually(t, soon, "no key is left over", func() bool {
		bad = f.leftOver(t)
		return len(bad) == 0
	})
}

func (f *field) leftOver(t testing.TB) []string {
	t.Helper()
	var bad []string
	for cursor := "0"; ; {
		page, err := redis.Values(f.conn.Do("SCAN", cursor, "COUNT", 1000))
		var keys []string
		if err == nil {
			_, err = redis.Scan(page, &cursor, &keys)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range keys {
			switch {
			case !strings.HasPrefix(key, f.meshKey("")) && !strings.HasPrefix(key, f.ns+":{"):
			case key == f.meshKey("queues"), key == f.meshKey("mesh"), key == f.meshKey("sweep"):
			case (strings.HasSuffix(key, ":token") || strings.HasSuffix(key, ":cancels") || strings.HasSuffix(key, ":closed")) && f.count(t, "PTTL", key) > 0:
			default:
				bad = append(bad, key)
			}
		}
		if cursor == "0" {
			return bad
		}
	}
}
