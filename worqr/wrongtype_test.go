package worqr_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// scene is a mesh in which each verb has something to do.
type scene struct {
	ns       string
	m        *worqr.Mesh
	w, other *worqr.Worker // w serves q and has p and one more in hand; other serves nothing
	p        *worqr.Process
}

func newScene(t testing.TB, pool *redis.Pool) *scene {
	t.Helper()
	s := &scene{ns: redistest.Namespace(t)}
	var err error
	if s.m, err = worqr.New(pool, worqr.Config{Namespace: s.ns}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.m.Close() })
	enqueue(t, s.m, "q", "t1", "t2", "t3", "t4")
	s.w, s.other = start(t, s.m, still(), "q"), start(t, s.m, still())
	s.p = take(t, s.w, "q")
	take(t, s.w, "q")
	redistest.Eventually(t, soon, "the subscription", s.m.Listener().Ready)
	return s
}

// still is a worker that changes no key by itself.
func still() worqr.WorkerConfig {
	cfg := steady()
	cfg.Sweep, cfg.Takeover = time.Hour, worqr.TakeoverStrict
	return cfg
}

// verbs are all that a caller can ask for, each once.
var verbs = map[string]func(ctx context.Context, s *scene) error{
	"Enqueue":     func(ctx context.Context, s *scene) error { return s.m.Enqueue(ctx, "q", []byte("x"), []byte("y")) },
	"Enqueue new": func(ctx context.Context, s *scene) error { return s.m.Enqueue(ctx, "new", []byte("x")) },
	"Take":        func(ctx context.Context, s *scene) error { _, err := s.w.Take(ctx, "q"); return err },
	"Finish": func(ctx context.Context, s *scene) error {
		ok, err := s.p.Finish(ctx)
		if err == nil && !ok {
			err = worqr.ErrGone
		}
		return err
	},
	"Stop":          func(ctx context.Context, s *scene) error { return s.p.Stop(ctx) },
	"StopToBack":    func(ctx context.Context, s *scene) error { return s.p.StopToBack(ctx) },
	"StartWork":     func(ctx context.Context, s *scene) error { return s.other.StartWork(ctx, "q") },
	"StopWork":      func(ctx context.Context, s *scene) error { return s.w.StopWork(ctx, "q") },
	"Start":         func(ctx context.Context, s *scene) error { return startAnother(ctx, s.m) },
	"Worker.Fail":   func(ctx context.Context, s *scene) error { return s.w.Fail(ctx) },
	"Mesh.Fail":     func(ctx context.Context, s *scene) error { return s.m.Fail(ctx, s.w.ID()) },
	"Cancel":        func(ctx context.Context, s *scene) error { _, err := s.m.Cancel(ctx, "q", []byte("t4")); return err },
	"DeleteQueue":   func(ctx context.Context, s *scene) error { _, err := s.m.DeleteQueue(ctx, "q"); return err },
	"Queues":        func(ctx context.Context, s *scene) error { _, err := s.m.Queues(ctx); return err },
	"Workers":       func(ctx context.Context, s *scene) error { _, err := s.m.Workers(ctx); return err },
	"WorkingQueues": func(ctx context.Context, s *scene) error { _, err := s.m.WorkingQueues(ctx, s.w.ID()); return err },
	"Processes":     func(ctx context.Context, s *scene) error { _, err := s.m.Processes(ctx, "q"); return err },
	"Peek":          func(ctx context.Context, s *scene) error { _, err := s.m.Peek(ctx, "q"); return err },
	"Len":           func(ctx context.Context, s *scene) error { _, err := s.m.Len(ctx, "q"); return err },
	"Tasks":         func(ctx context.Context, s *scene) error { _, err := s.m.Tasks(ctx, "q", 0, 10); return err },
}

func startAnother(ctx context.Context, m *worqr.Mesh) error {
	w, err := m.NewWorker(still())
	if err != nil {
		return err
	}
	return w.Start(ctx)
}

// keysOfScene are all our keys of it, and which verbs cannot do their work when a foreign value is
// there.
func keysOfScene(s *scene) map[string][]string {
	mesh, queue := "{"+s.ns+"}:", queuePrefix(s.ns, "q")+":"
	membership := s.p.ID()[:strings.LastIndexByte(s.p.ID(), '.')]
	return map[string][]string{
		mesh + "workers":                  {"Start", "Workers", "Mesh.Fail"},
		mesh + "worker:" + s.w.ID():       nil, // whatever its type, it is there or not
		mesh + "workmap:" + s.w.ID():      {"WorkingQueues", "StopWork"},
		mesh + "info:" + s.w.ID():         {"Workers", "Mesh.Fail"},
		mesh + "queues":                   {"Queues", "Enqueue new", "StartWork"},
		mesh + "mesh":                     {"Start"},
		mesh + "sweep":                    nil,
		mesh + "rota":                     nil,
		queue + "tasks":                   {"Enqueue", "Take", "Finish", "Stop", "StopToBack", "StopWork", "Worker.Fail", "Cancel", "DeleteQueue", "Peek", "Len", "Tasks"},
		queue + "workers":                 {"Take", "Finish", "Stop", "StopToBack", "StartWork", "StopWork", "Worker.Fail", "Processes"},
		queue + "process:" + s.p.ID():     {"Finish", "Stop", "StopToBack"},
		queue + "processes:" + membership: {"Take", "Finish", "Stop", "StopToBack", "StopWork", "Worker.Fail", "Processes"},
		queue + "returning":               {"Take", "StopWork", "StartWork", "Worker.Fail"},
		queue + "idle":                    {"Enqueue", "Take", "Stop", "StopToBack", "StopWork", "Worker.Fail"},
		queue + "token":                   {"Take", "Cancel", "DeleteQueue"},
		queue + "closed":                  {"StartWork"},
		queue + "cancels":                 {"Take", "Finish", "Stop", "StopToBack", "Cancel", "DeleteQueue"},
	}
}

// severalSteps are the verbs that no single script does. What one script does is all or nothing;
// when a later step is refused, what the steps before it did stands, and the mesh completes it.
var severalSteps = []string{"StartWork", "StopWork", "Worker.Fail", "Enqueue new", "Cancel"}

// Of foreign values at our keys: a clear error, and no key has changed.
func TestForeignValueAtEachKeyForEachVerb(t *testing.T) {
	t.Parallel()
	pool, c := redistest.Shared(t).Pool(t), redistest.Shared(t).Conn(t)
	s := newScene(t, pool)
	keys := keysOfScene(s)
	for _, key := range keysOf(t, c, s.ns) {
		if _, known := keys[key]; !known && !strings.Contains(key, s.other.ID()) && !strings.HasSuffix(key, ".1.2") {
			t.Errorf("key %s is not among those that are tried", key)
		}
	}
	for key := range keys {
		kind := kindOfKey(key)
		t.Run(kind, func(t *testing.T) {
			for verb := range verbs {
				t.Run(verb, func(t *testing.T) { foreignValue(t, pool, kind, verb) })
			}
		})
	}
}

func foreignValue(t *testing.T, pool *redis.Pool, kind, verb string) {
	c := redistest.Shared(t).Conn(t)
	s := newScene(t, pool)
	key, needed := "", false
	for k, verbs := range keysOfScene(s) {
		if kindOfKey(k) == kind {
			key, needed = k, slices.Contains(verbs, verb)
		}
	}
	original := snapshot(t, c, s.ns)[key] // "" when there is none
	command := "SET"
	if slices.Contains([]string{"{mesh}:worker", "{mesh}:sweep", "{mesh}:rota", "{q}:token", "{q}:closed"}, kind) {
		command = "RPUSH" // ours are strings
	}
	replace(t, c, key, command, key, "foreign")
	before := snapshot(t, c, s.ns)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	err := verbs[verb](ctx, s)
	changed := differences(before, snapshot(t, c, s.ns))
	switch {
	case err == nil && needed:
		t.Error("it succeeds")
	case err == nil:
	case errors.Is(err, worqr.ErrGone) && kind == "{q}:process":
		// the foreign value has replaced the task: there is nothing left to settle
	case !errors.Is(err, worqr.ErrWrongType):
		t.Errorf("%v; want ErrWrongType", err)
	case strings.Count(err.Error(), "worqr: ") != 1:
		t.Errorf("%q is not clear", err)
	case len(changed) == 0:
	case !slices.Contains(severalSteps, verb):
		t.Errorf("%v, and yet it changed %v", err, changed)
	default:
		completed(t, c, s, verb, key, original)
	}
	if original == "" {
		replace(t, c, key)
	} else {
		replace(t, c, key, "RESTORE", key, 0, original)
	}
}

// completed checks that nothing is lost of what a verb left half-way, once the foreign value is
// gone.
func completed(t *testing.T, c redis.Conn, s *scene, verb, key, original string) {
	t.Helper()
	if original == "" {
		replace(t, c, key)
	} else {
		replace(t, c, key, "RESTORE", key, 0, original)
	}
	_ = s.m.Close() // whoever could not leave is found by a peer
	tasks := []string{"t1", "t2", "t3", "t4"}
	if verb == "Cancel" {
		tasks = tasks[:3]
	}
	peer := openAt(t, redistest.Shared(t).URL(), worqr.Config{Namespace: s.ns})
	start(t, peer, steady())
	redistest.Eventually(t, soon, "all tasks are back", func() bool { return slices.Equal(waiting(t, peer, "q"), tasks) })
	want(t, "in hand", held(t, peer, "q"), nil)
}

// replace puts something else at a key, in one step: no look of a worker finds it absent.
func replace(t testing.TB, c redis.Conn, key string, command ...any) {
	t.Helper()
	commands := [][]any{{"MULTI"}, {"DEL", key}, {"EXEC"}}
	if len(command) > 0 {
		commands = slices.Insert(commands, 2, command)
	}
	for _, words := range commands {
		if _, err := c.Do(words[0].(string), words[1:]...); err != nil {
			t.Fatal(err)
		}
	}
}

// kindOfKey is a key without namespace and ids.
func kindOfKey(key string) string {
	tag, rest, _ := strings.Cut(key, ":")
	if strings.HasPrefix(tag, "{") {
		rest = "{mesh}:" + rest
	}
	for _, part := range []string{"worker", "workmap", "info", "process", "processes"} {
		if head, _, found := strings.Cut(rest, ":"+part+":"); found {
			return head + ":" + part
		}
	}
	return rest
}

// A foreign value where a take would put a task: no task is lost, and none is held without being
// known.
func TestForeignValueWhereATakeWouldPutATask(t *testing.T) {
	t.Parallel()
	ns := redistest.Namespace(t)
	m, c := openAt(t, redistest.Shared(t).URL(), worqr.Config{Namespace: ns}), redistest.Shared(t).Conn(t)
	ran := make(chan string, 10)
	_, stop := run(t, m, handling(patient(), "q", 3, gather(ran)))
	awaitIdle(t, c, ns, "q", 1)
	members, err := redis.StringMap(c.Do("HGETALL", queuePrefix(ns, "q")+":workers"))
	if err != nil || len(members) != 1 {
		t.Fatalf("members are %v, %v", members, err)
	}
	for id, number := range members {
		n, err := strconv.Atoi(number)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Do("SET", fmt.Sprintf("%s:process:%s.%d", queuePrefix(ns, "q"), id, n+2), "foreign"); err != nil {
			t.Fatal(err)
		}
	}
	enqueue(t, m, "q", "a", "b", "c", "d")
	var got []string
	for range 4 {
		got = append(got, receive(t, "a run", ran))
	}
	slices.Sort(got)
	want(t, "ran", got, []string{"a", "b", "c", "d"})
	if err := stop(); err != nil {
		t.Error(err)
	}
	want(t, "tasks", waiting(t, m, "q"), nil)
}
