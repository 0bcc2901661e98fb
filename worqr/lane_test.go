package worqr_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/embedded"
	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/internal/wire"
	"github.com/worqr/worqr-go/worqr"
)

// gated dials only while it is open, and counts the enqueues that are sent.
type gated struct {
	dial  func(context.Context) (redis.Conn, error)
	mu    sync.Mutex
	conns []redis.Conn
	gate  chan struct{} // nil: open
	sent  atomic.Int32
}

func (g *gated) Dial(ctx context.Context) (redis.Conn, error) {
	g.mu.Lock()
	gate := g.gate
	g.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	conn, err := g.dial(ctx)
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.conns = append(g.conns, conn)
	return tallied{conn.(whole), &g.sent}, nil
}

// shut breaks all connections and lets none be made until the answer is called.
func (g *gated) shut() (open func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.gate = make(chan struct{})
	for _, conn := range g.conns {
		_ = conn.Close()
	}
	g.conns = nil
	return func() { close(g.gate) }
}

// whole is what a connection has to be.
type whole interface {
	redis.ConnWithContext
	redis.ConnWithTimeout
}

type tallied struct {
	whole
	sent *atomic.Int32
}

func (c tallied) Send(command string, args ...any) error {
	if sha, ok := args[0].(string); ok && command == "EVALSHA" && sha == wire.Named("enqueue").SHA {
		c.sent.Add(1)
	}
	return c.whole.Send(command, args...)
}

// What callers enqueue until the writer comes to it is one command, each caller's tasks together
// and in order. Who leaves before stores nothing, is told so, and takes nothing from the others.
func TestEnqueuesAtTheSameTimeShareACommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := embedded.Virtual()
		defer server.Close()
		line := &gated{dial: server.Dial}
		m, err := worqr.New(nil, worqr.Config{Subscribe: line.Dial})
		if err != nil {
			t.Fatal(err)
		}
		enqueue(t, m, "q", "first") // the queue is listed from here on
		open, before := line.shut(), line.sent.Load()
		synctest.Wait()

		const callers = 100
		errs := make(chan error, callers)
		for i := range callers {
			go func() {
				errs <- m.Enqueue(t.Context(), "q", fmt.Appendf(nil, "%d a", i), fmt.Appendf(nil, "%d b", i), fmt.Appendf(nil, "%d c", i))
			}()
		}
		impatient, leave := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() { left <- m.Enqueue(impatient, "q", []byte("left")) }()
		synctest.Wait() // all of them wait for a connection
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) || errors.Is(err, worqr.ErrUnknown) {
			t.Errorf("who left was told %v, want that nothing was sent", err)
		}
		open()
		for range callers {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		if n := line.sent.Load() - before; n != 1 {
			t.Errorf("%d commands for %d callers, want 1", n, callers)
		}
		tasks := waiting(t, m, "q")
		if len(tasks) != 1+3*callers {
			t.Fatalf("%d tasks wait, want %d", len(tasks), 1+3*callers)
		}
		seen := map[string]bool{}
		for three := range slices.Chunk(tasks[1:], 3) {
			who, _, _ := strings.Cut(three[0], " ")
			want(t, "the tasks of one caller", three, []string{who + " a", who + " b", who + " c"})
			seen[who] = true
		}
		if len(seen) != callers {
			t.Errorf("tasks of %d callers, want %d", len(seen), callers)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
}

// callAtOnce enqueues one task by each of n callers at once, and answers their errors.
func callAtOnce(t *testing.T, m *worqr.Mesh, n int) []error {
	t.Helper()
	errs := make([]error, n)
	var callers sync.WaitGroup
	for i := range n {
		callers.Go(func() { errs[i] = m.Enqueue(t.Context(), "q", fmt.Append(nil, i)) })
	}
	callers.Wait()
	return errs
}

// copies counts each task that waits.
func copies(t *testing.T, m *worqr.Mesh) map[string]int {
	t.Helper()
	count := map[string]int{}
	for _, task := range waiting(t, m, "q") {
		count[task]++
	}
	return count
}

// The answer to a shared command is lost: each of its callers is told that the outcome is unknown,
// and nothing is stored twice.
func TestALostAnswerToASharedEnqueue(t *testing.T) {
	t.Parallel()
	m, proxy := mortal(t, redistest.Namespace(t))
	enqueue(t, m, "q", "first")
	var cut atomic.Bool
	proxy.Intercept(func(c redistest.Command) redistest.Action {
		if scriptOf(c) == "enqueue" && cut.CompareAndSwap(false, true) {
			return redistest.CutAfter
		}
		return redistest.Pass
	})
	unknown := 0
	errs := callAtOnce(t, m, 200)
	count := copies(t, m)
	for i, err := range errs {
		n := count[fmt.Sprint(i)]
		switch {
		case err == nil && n == 1:
		case errors.Is(err, worqr.ErrUnknown) && n <= 1:
			unknown++
		default:
			t.Errorf("task %d is stored %d times, its caller was told %v", i, n, err)
		}
	}
	if unknown == 0 {
		t.Error("nobody was told that the outcome is unknown")
	}
}

// The server has forgotten the scripts, as after a restart: what had not run is sent again by its
// source, once.
func TestASharedEnqueueOfAForgottenScript(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t)
	m := openAt(t, server.URL(), worqr.Config{})
	enqueue(t, m, "q", "first")
	for range 5 {
		if _, err := server.Conn(t).Do("SCRIPT", "FLUSH"); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(callAtOnce(t, m, 100)...); err != nil {
			t.Fatal(err)
		}
	}
	for task, n := range copies(t, m) {
		if task != "first" && n != 5 {
			t.Errorf("task %s is stored %d times, want 5", task, n)
		}
	}
}
