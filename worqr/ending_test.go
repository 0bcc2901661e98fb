package worqr_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"
	"go.uber.org/goleak"

	"github.com/worqr/worqr-go/events"
	"github.com/worqr/worqr-go/internal/embedded"
	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// scenario 49. Not parallel: it looks for goroutines.
func TestNothingIsLeftAfterTheEnd(t *testing.T) {
	server := redistest.Own(t)
	c := server.Conn(t)
	clients := func() int {
		list, err := redis.String(c.Do("CLIENT", "LIST"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(list, "\n")
	}
	before, goroutines := clients(), goleak.IgnoreCurrent()
	m, err := worqr.Open(t.Context(), server.URL(), worqr.Config{Namespace: "ns"})
	if err != nil {
		t.Fatal(err)
	}
	ran := make(chan string, 100)
	running, err := m.NewWorker(handling(quick(), "q", 5, gather(ran)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { result <- running.Run(ctx) }()
	started := start(t, m, quick(), "taken") // ended by Close only
	if _, err := started.On("taken", func(events.Event) {}); err != nil {
		t.Fatal(err)
	}
	if _, err := m.NewWorker(quick()); err != nil { // never started
		t.Fatal(err)
	}
	enqueue(t, m, "q", numbered("t", 20)...)
	enqueue(t, m, "taken", "x", "y")
	take(t, started, "taken")
	for range 20 {
		receive(t, "a run", ran)
	}
	if clients() <= before+1 {
		t.Fatalf("%d clients: the mesh has no connections that could be left", clients())
	}

	cancel()
	if err := receive(t, "the end of Run", result); err != nil {
		t.Errorf("Run: %v", err)
	}
	for range 2 {
		if err := running.Fail(t.Context()); err != nil {
			t.Errorf("Fail after Run: %v", err)
		}
	}
	if err := running.Run(t.Context()); !errors.Is(err, worqr.ErrClosed) {
		t.Errorf("a second Run: %v, want ErrClosed", err)
	}
	for range 2 {
		if err := m.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if err := m.Close(); err != nil {
				t.Errorf("Close at the same time: %v", err)
			}
		})
	}
	both.Wait()
	if err := goleak.Find(goroutines); err != nil {
		t.Error(err)
	}
	redistest.Eventually(t, soon, "all connections are closed", func() bool { return clients() == before })
	if keys := left(t, c, "ns"); len(keys) != 1 || keys[0] != "ns:{taken}:tasks" {
		t.Errorf("left is %v, want only the tasks that nobody has finished", keys)
	}
	for name, err := range map[string]error{
		"Enqueue": m.Enqueue(t.Context(), "q", []byte("x")), "Fail": m.Fail(t.Context(), "w"),
		"StartWork": started.StartWork(t.Context(), "q"), "Start": started.Start(t.Context()),
	} {
		if !errors.Is(err, worqr.ErrClosed) {
			t.Errorf("%s after Close: %v, want ErrClosed", name, err)
		}
	}
	if _, err := m.NewWorker(quick()); !errors.Is(err, worqr.ErrClosed) {
		t.Errorf("NewWorker after Close: %v, want ErrClosed", err)
	}
}

// counting counts the connections that a function has dialled, and those that are open.
type counting struct {
	dial         func(context.Context, string, string) (net.Conn, error)
	dialled, now atomic.Int64
}

func (c *counting) Dial(ctx context.Context) (redis.Conn, error) {
	return redis.DialContext(ctx, "tcp", "", redis.DialContextFunc(func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := c.dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		c.dialled.Add(1)
		c.now.Add(1)
		return &countedConn{Conn: conn, closed: sync.OnceFunc(func() { c.now.Add(-1) })}, nil
	}))
}

type countedConn struct {
	net.Conn
	closed func()
}

func (c *countedConn) Close() error {
	c.closed()
	return c.Conn.Close()
}

// scenario 49: in the time of a bubble, which ends only when all its goroutines have ended
func TestNoBeatAfterTheEnd(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, m *worqr.Mesh, w *worqr.Worker, stop func() error) error{
		"Run":   func(_ *testing.T, _ *worqr.Mesh, _ *worqr.Worker, stop func() error) error { return stop() },
		"Close": func(_ *testing.T, m *worqr.Mesh, _ *worqr.Worker, _ func() error) error { return m.Close() },
		"Fail":  func(t *testing.T, _ *worqr.Mesh, w *worqr.Worker, _ func() error) error { return w.Fail(t.Context()) },
		"lapse": func(t *testing.T, m *worqr.Mesh, w *worqr.Worker, stop func() error) error {
			if err := m.Fail(t.Context(), w.ID()); err != nil {
				return err
			}
			time.Sleep(10 * time.Second) // of the bubble: it has joined again
			return stop()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := embedded.Virtual()
				defer server.Close()
				connections := &counting{dial: server.DialNet}
				m, err := worqr.New(nil, worqr.Config{Subscribe: connections.Dial})
				if err != nil {
					t.Fatal(err)
				}
				ran := make(chan string, 10)
				w, err := m.NewWorker(handling(worqr.WorkerConfig{}, "q", 2, gather(ran)))
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				result := make(chan error, 1)
				go func() { result <- w.Run(ctx) }()
				stop := sync.OnceValue(func() error {
					cancel()
					return <-result
				})
				enqueue(t, m, "q", "a", "b", "c")
				for range 3 {
					<-ran
				}
				time.Sleep(10 * time.Second) // of the bubble
				if connections.now.Load() == 0 {
					t.Fatal("no connection is counted")
				}
				if err := end(t, m, w, stop); err != nil {
					t.Error(err)
				}
				for range 2 {
					if err := errors.Join(stop(), w.Fail(t.Context()), m.Close()); err != nil {
						t.Error(err)
					}
				}
				dialled := connections.dialled.Load()
				if n := connections.now.Load(); n != 0 {
					t.Errorf("%d connections are left open", n)
				}
				time.Sleep(time.Hour)
				if n := connections.dialled.Load() - dialled; n != 0 {
					t.Errorf("%d connections were dialled after the end", n)
				}
			})
		})
	}
}

// scenario 50: each daemon of a host is replaced by a new one while tasks flow
func TestRollingDeployRunsNothingTwice(t *testing.T) {
	t.Parallel()
	ns := redistest.Namespace(t)
	url, c := redistest.Shared(t).URL(), redistest.Shared(t).Conn(t)
	const daemons, deploys, n = 3, 3, 600
	var runs [n]atomic.Int64
	var total atomic.Int64
	index := map[string]int{}
	for i, task := range numbered("t", n) {
		index[task] = i
	}
	daemon := func() func() error {
		m := openAt(t, url, worqr.Config{Namespace: ns})
		_, stop := run(t, m, handling(worqr.WorkerConfig{}, "q", 4, func(_ context.Context, p *worqr.Process) error {
			runs[index[string(p.Task())]].Add(1)
			total.Add(1)
			return nil
		}))
		return func() error { return errors.Join(stop(), m.Close()) }
	}
	var fleet []func() error
	for range daemons {
		fleet = append(fleet, daemon())
	}
	producer := openAt(t, url, worqr.Config{Namespace: ns})
	tasks, sent := numbered("t", n), 0
	for range deploys {
		for i := range fleet {
			enqueue(t, producer, "q", tasks[sent:sent+n/(daemons*deploys)]...)
			sent += n / (daemons * deploys)
			newer := daemon() // it starts before the older one ends
			if err := fleet[i](); err != nil {
				t.Error(err)
			}
			fleet[i] = newer
		}
	}
	enqueue(t, producer, "q", tasks[sent:]...)
	redistest.Eventually(t, soon, "all tasks have run", func() bool { return total.Load() >= n })
	for _, stop := range fleet {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}
	for i := range runs {
		if got := runs[i].Load(); got != 1 {
			t.Errorf("%s was run %d times", tasks[i], got)
		}
	}
	want(t, "keys after everybody has left", left(t, c, ns), nil)
}
