package worqr_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/rs/zerolog"

	"github.com/worqr/worqr-go/events"
	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/internal/wire"
	"github.com/worqr/worqr-go/worqr"
)

// hear listens to a queue. It returns when every event from now on is heard.
func hear(t testing.TB, m *worqr.Mesh, queue string, kinds ...events.Kind) <-chan events.Event {
	t.Helper()
	heard := make(chan events.Event, 10_000)
	t.Cleanup(m.Listener().On(queue, func(e events.Event) { heard <- e }, kinds...))
	redistest.Eventually(t, soon, "the listener is ready", m.Listener().Ready)
	return heard
}

// receive waits for the next value of a channel.
func receive[T any](t testing.TB, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(soon):
		t.Fatalf("not within %v: %s", soon, what)
		panic("unreachable")
	}
}

// ended waits for the end of a process's context and returns why it ended.
func ended(t testing.TB, ctx context.Context) error {
	t.Helper()
	receive(t, "the end of the process context", ctx.Done())
	return context.Cause(ctx)
}

// patient is a worker that does nothing by itself for minutes: no beat, no look and no round
// changes a key or hides a wake-up that was lost.
func patient() worqr.WorkerConfig {
	return worqr.WorkerConfig{
		Beat: 3 * time.Minute, Lapse: 10 * time.Minute, Margin: time.Second, Sweep: time.Hour, Grace: 5 * time.Second,
		Takeover: worqr.TakeoverStrict, // nor does it watch
	}
}

// steady is a worker that does not lapse on a busy machine, and yet within a test.
func steady() worqr.WorkerConfig {
	return worqr.WorkerConfig{
		Beat: 200 * time.Millisecond, Lapse: 2 * time.Second, Sweep: 200 * time.Millisecond, Grace: 5 * time.Second,
	}
}

// handling is a worker's configuration with one handler.
func handling(cfg worqr.WorkerConfig, queue string, limit int, handle worqr.HandlerFunc) worqr.WorkerConfig {
	queues := map[string]worqr.Queue{queue: {Handler: handle, Limit: limit}}
	for name, q := range cfg.Queues {
		queues[name] = q
	}
	cfg.Queues = queues
	return cfg
}

// awaitIdle waits until so many memberships of a queue are parked: nothing but a wake-up or a look
// starts them.
func awaitIdle(t testing.TB, c redis.Conn, ns, queue string, n int) {
	t.Helper()
	redistest.Eventually(t, soon, fmt.Sprintf("%d idle memberships in queue %q", n, queue), func() bool {
		idle, err := redis.Int(c.Do("SCARD", queuePrefix(ns, queue)+":idle"))
		return err == nil && idle == n
	})
}

// mortal opens a mesh by way of a proxy, so that a test can take its worker's connections away: to
// peers it is dead.
func mortal(t testing.TB, ns string) (*worqr.Mesh, *redistest.Proxy) {
	t.Helper()
	proxy := redistest.NewProxy(t, redistest.Shared(t).URL())
	return openAt(t, proxy.URL(), worqr.Config{Namespace: ns}), proxy
}

// snapshot reads every key of a namespace with its content, byte for byte. Times to live are left
// out.
func snapshot(t testing.TB, c redis.Conn, ns string) map[string]string {
	t.Helper()
	content := map[string]string{}
	for _, key := range keysOf(t, c, ns) {
		value, err := redis.String(c.Do("DUMP", key))
		if err == redis.ErrNil {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		content[key] = value
	}
	return content
}

// differences names the keys in which two snapshots differ.
func differences(before, after map[string]string) []string {
	var keys []string
	for key, value := range before {
		if now, there := after[key]; !there {
			keys = append(keys, key+" (gone)")
		} else if now != value {
			keys = append(keys, key+" (changed)")
		}
	}
	for key := range after {
		if _, there := before[key]; !there {
			keys = append(keys, key+" (new)")
		}
	}
	slices.Sort(keys)
	return keys
}

// crowd counts how many are inside at once.
type crowd struct{ now, most atomic.Int64 }

func (c *crowd) enter() {
	n := c.now.Add(1)
	for {
		most := c.most.Load()
		if n <= most || c.most.CompareAndSwap(most, n) {
			return
		}
	}
}

func (c *crowd) leave() { c.now.Add(-1) }

// numbered makes n tasks: prefix0, prefix1, ...
func numbered(prefix string, n int) []string {
	tasks := make([]string, n)
	for i := range tasks {
		tasks[i] = fmt.Sprintf("%s%d", prefix, i)
	}
	return tasks
}

// gather is a handler that tells which tasks it was given.
func gather(ran chan<- string) worqr.HandlerFunc {
	return func(_ context.Context, p *worqr.Process) error {
		ran <- string(p.Task())
		return nil
	}
}

// door is a handler that says when it has begun and returns when it is told to, whatever its
// context does.
type door struct {
	entered chan *worqr.Process
	leave   chan error
	runs    atomic.Int64
	inside  crowd
}

func newDoor() *door {
	return &door{entered: make(chan *worqr.Process, 1_000), leave: make(chan error, 1_000)}
}

func (d *door) handle(_ context.Context, p *worqr.Process) error {
	d.runs.Add(1)
	d.inside.enter()
	defer d.inside.leave()
	d.entered <- p
	return <-d.leave
}

// scriptOf names the script that a command runs, "" when it runs none.
func scriptOf(c redistest.Command) string {
	if len(c.Args) < 2 || !c.Is("EVALSHA") && !c.Is("EVAL") {
		return ""
	}
	for _, s := range wire.Scripts() {
		if text := string(c.Args[1]); text == s.SHA || text == s.Source {
			return s.Name
		}
	}
	return ""
}

// counted has a proxy count the runs of each script from now on.
func counted(p *redistest.Proxy) (runs func(script string) int) {
	var mu sync.Mutex
	byName := map[string]int{}
	p.Intercept(func(c redistest.Command) redistest.Action {
		mu.Lock()
		defer mu.Unlock()
		byName[scriptOf(c)]++
		return redistest.Pass
	})
	return func(script string) int {
		mu.Lock()
		defer mu.Unlock()
		return byName[script]
	}
}

// logs is what a logger has written.
type logs struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logs) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// lines decodes the lines that contain a text.
func (l *logs) lines(containing string) []map[string]any {
	var list []map[string]any
	for line := range strings.Lines(l.String()) {
		fields := map[string]any{}
		if strings.Contains(line, containing) && json.Unmarshal([]byte(line), &fields) == nil {
			list = append(list, fields)
		}
	}
	return list
}

// logged opens a mesh whose log, down to the last level, the test reads.
func logged(t testing.TB, url string, cfg worqr.Config) (*worqr.Mesh, *logs) {
	t.Helper()
	log := &logs{}
	cfg.Logger = zerolog.New(log)
	m, err := worqr.Open(t.Context(), url, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m, log
}
