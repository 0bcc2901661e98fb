package worqrtest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
	"github.com/worqr/worqr-go/worqrtest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// onBoth runs a test on the server inside the process, and on a Redis. It returns that Redis.
func onBoth(t *testing.T, test func(t *testing.T)) *redistest.Server {
	t.Helper()
	server := redistest.Own(t)
	t.Run("inside the process", func(t *testing.T) {
		t.Setenv("WORQR_TEST_REDIS_URL", "")
		test(t)
	})
	t.Run("on Redis", func(t *testing.T) {
		t.Setenv("WORQR_TEST_REDIS_URL", server.URL())
		test(t)
		if keys(t, server) == 0 {
			t.Error("the mesh is not on the Redis of WORQR_TEST_REDIS_URL")
		}
	})
	return server
}

func keys(t *testing.T, s *redistest.Server) int {
	t.Helper()
	n, err := redis.Int(s.Conn(t).Do("DBSIZE"))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A handler is tried as in a user's test: the task is given to it, and finished by its return.
func TestAHandlerIsTried(t *testing.T) {
	server := onBoth(t, func(t *testing.T) {
		mesh := worqrtest.NewMesh(t)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		handled := ""
		worker, err := mesh.NewWorker(worqr.WorkerConfig{Queues: map[string]worqr.Queue{
			"orders": {Handler: worqr.HandlerFunc(func(_ context.Context, p *worqr.Process) error {
				handled = string(p.Task())
				stop()
				return nil
			})},
		}})
		if err != nil {
			t.Fatal(err)
		}
		if err := mesh.Enqueue(t.Context(), "orders", []byte("17")); err != nil {
			t.Fatal(err)
		}
		if err := worker.Run(ctx); err != nil || handled != "17" {
			t.Errorf("handled %q, %v", handled, err)
		}
		if n, err := mesh.Len(t.Context(), "orders"); n != 0 || err != nil {
			t.Errorf("%d tasks are left, %v", n, err)
		}
	})
	if n := keys(t, server); n != 0 {
		t.Errorf("%d keys are left", n)
	}
}

// The mesh ends with the test, a worker that nobody stopped too, and leaves no key of tasks that
// never end.
func TestTheMeshEndsWithTheTest(t *testing.T) {
	var meshes []*worqr.Mesh
	var workers []*worqr.Worker
	server := onBoth(t, func(t *testing.T) {
		mesh := worqrtest.NewMesh(t)
		if _, err := mesh.Reconcile(t.Context(), "feeds", [][]byte{[]byte("a"), []byte("b")}); err != nil {
			t.Fatal(err)
		}
		worker, err := mesh.NewWorker(worqr.WorkerConfig{})
		if err != nil {
			t.Fatal(err)
		}
		if err := worker.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		meshes, workers = append(meshes, mesh), append(workers, worker)
	})
	for i, mesh := range meshes {
		if err := mesh.Enqueue(t.Context(), "orders", []byte("1")); !errors.Is(err, worqr.ErrClosed) {
			t.Errorf("mesh %d after its test: %v, want ErrClosed", i, err)
		}
		if workers[i].Alive() {
			t.Errorf("the worker of mesh %d is alive after its test", i)
		}
	}
	if n := keys(t, server); n != 0 {
		t.Errorf("%d keys are left", n)
	}
}

// No two meshes meet.
func TestEachMeshIsItsOwn(t *testing.T) {
	onBoth(t, func(t *testing.T) {
		a, b := worqrtest.NewMesh(t), worqrtest.NewMesh(t)
		if err := a.Enqueue(t.Context(), "orders", []byte("1")); err != nil {
			t.Fatal(err)
		}
		if n, err := b.Len(t.Context(), "orders"); n != 0 || err != nil {
			t.Errorf("the other mesh has %d tasks, %v", n, err)
		}
	})
}

// An error names the variable, and shows no password.
func TestTheErrorNamesTheVariable(t *testing.T) {
	t.Setenv("WORQR_TEST_REDIS_URL", "redis://user:secret@127.0.0.1:1/0")
	defer func() {
		said := fmt.Sprint(recover())
		if !strings.Contains(said, "WORQR_TEST_REDIS_URL") || strings.Contains(said, "secret") {
			t.Errorf("it panics with %q", said)
		}
	}()
	_, end := worqrtest.Open()
	end()
	t.Error("a mesh on port 1")
}
