package worqr_test

import (
	"context"
	"errors"
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
	t.Cleanup(func() { _ = s.m.Close() }) // a worker that a foreign key holds up is not this test's matter
	enqueue(t, s.m, "q", "t1", "t2", "t3", "t4")
	s.w, s.other = start(t, s.m, patient(), "q"), start(t, s.m, patient())
	s.p = take(t, s.w, "q")
	take(t, s.w, "q")
	redistest.Eventually(t, soon, "the subscription", s.m.Listener().Ready)
	return s
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
	w, err := m.NewWorker(patient())
	if err != nil {
		return err
	}
	return w.Start(ctx)
}

// keysOfScene are all our keys of it, and which verbs cannot do their work when a foreign value is there.
func keysOfScene(s *scene) map[string][]string {
	mesh, queue := "{"+s.ns+"}:", queuePrefix(s.ns, "q")+":"
	membership := s.p.ID()[:strings.LastIndexByte(s.p.ID(), '.')]
	return map[string][]string{
		mesh + "workers":                  {"Start", "Workers", "Mesh.Fail"},
		mesh + "worker:" + s.w.ID():       nil, // whatever its type, it is there or not
		mesh + "workmap:" + s.w.ID():      {"WorkingQueues", "StopWork", "Worker.Fail"},
		mesh + "info:" + s.w.ID():         {"Workers", "Mesh.Fail"},
		mesh + "queues":                   {"Queues", "Enqueue new", "StartWork"},
		mesh + "mesh":                     {"Start"},
		mesh + "sweep":                    nil,
		queue + "tasks":                   {"Enqueue", "Take", "Finish", "Stop", "StopToBack", "StopWork", "Worker.Fail", "Cancel", "DeleteQueue", "Peek", "Len", "Tasks"},
		queue + "workers":                 {"Enqueue", "Take", "Finish", "Stop", "StopToBack", "StartWork", "StopWork", "Worker.Fail", "Processes"},
		queue + "process:" + s.p.ID():     {"Finish", "Stop", "StopToBack"},
		queue + "processes:" + membership: {"Take", "Finish", "Stop", "StopToBack", "StopWork", "Worker.Fail", "Processes"},
		queue + "returning":               {"Take", "StopWork", "StartWork", "Worker.Fail"},
		queue + "idle":                    {"Enqueue", "Take", "Stop", "StopToBack", "StopWork", "Worker.Fail"},
		queue + "token":                   {"Take", "Cancel", "DeleteQueue"},
		queue + "cancels":                 {"Take", "Finish", "Stop", "StopToBack", "Cancel", "DeleteQueue"},
	}
}

// Of foreign values at our keys: a clear error, and no key has changed.
func TestForeignValueAtEachKeyForEachVerb(t *testing.T) {
	t.Parallel()
	pool, c := redistest.Shared(t).Pool(t), redistest.Shared(t).Conn(t)
	for index := range keysOfScene(newScene(t, pool)) {
		_, index, _ = strings.Cut(index, ":") // without what differs from scene to scene
		for verb, call := range verbs {
			s := newScene(t, pool)
			key, needed := "", false
			for k, verbs := range keysOfScene(s) {
				if _, rest, _ := strings.Cut(k, ":"); sameKey(rest, index) {
					key, needed = k, strings.Contains(strings.Join(verbs, "|")+"|", verb+"|")
				}
			}
			foreign := []any{"SET", key, "foreign"}
			if kind, err := redis.String(c.Do("TYPE", key)); err != nil {
				t.Fatal(err)
			} else if kind == "string" || strings.HasSuffix(key, ":sweep") || strings.HasSuffix(key, ":token") {
				foreign = []any{"RPUSH", key, "foreign"}
			}
			if _, err := c.Do("DEL", key); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Do(foreign[0].(string), foreign[1:]...); err != nil {
				t.Fatal(err)
			}
			before := snapshot(t, c, s.ns)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			err := call(ctx, s)
			changed := differences(before, snapshot(t, c, s.ns))
			cancel()
			what := verb + " with a foreign value at " + index
			switch {
			case err == nil && needed:
				t.Errorf("%s succeeds", what)
			case err == nil:
			case errors.Is(err, worqr.ErrGone) && strings.HasPrefix(index, "{q}:process:"):
				// the foreign value has replaced the task: there is nothing left to settle
			case !errors.Is(err, worqr.ErrWrongType):
				t.Errorf("%s: %v; want ErrWrongType", what, err)
			case len(changed) > 0:
				t.Errorf("%s: %v, and yet it changed %v", what, err, changed)
			case !strings.HasPrefix(err.Error(), "worqr: "):
				t.Errorf("%s: %q is not clear", what, err)
			}
		}
	}
}

// sameKey compares keys of two scenes, whose ids differ.
func sameKey(a, b string) bool {
	strip := func(key string) string {
		for _, part := range []string{"worker:", "workmap:", "info:", "process:", "processes:"} {
			if i := strings.Index(key, part); i >= 0 {
				return key[:i+len(part)]
			}
		}
		return key
	}
	return strip(a) == strip(b)
}
