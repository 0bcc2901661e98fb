package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gomodule/redigo/redis"
	"github.com/google/uuid"

	"github.com/worqr/worqr-go/internal/wire"
	"github.com/worqr/worqr-go/worqr"
)

// hand is a worker that the operations simulate: so what it holds costs the test nothing, and it
// dies by not beating.
type hand struct {
	*field
	t             testing.TB
	queue, worker string
	lapse         int64 // milliseconds
	next          int   // the number of the next process
	operations    map[string]operation
}

// play makes a worker join and serve a queue.
func (f *field) play(t testing.TB, queue string, lapse int64) *hand {
	t.Helper()
	h := &hand{field: f, t: t, queue: queue, worker: uuid.Must(uuid.NewV7()).String(), lapse: lapse, next: 1, operations: map[string]operation{}}
	lua(t, "join").onMesh(t, f, h.worker, lapse, f.protocol(t))
	ticket := h.do("newest")
	lua(t, "serve").onMesh(t, f, h.worker, queue, 1)
	h.do("open", h.member(), ticket)
	return h
}

// protocol returns the version that this mesh speaks, 1 when nobody has joined it yet.
func (f *field) protocol(t testing.TB) string {
	t.Helper()
	version, err := redis.String(f.conn.Do("HGET", f.meshKey("mesh"), "protocol"))
	if err == redis.ErrNil {
		return "1"
	}
	if err != nil {
		t.Fatal(err)
	}
	return version
}

func (h *hand) member() string { return h.worker + ".1" }

func (h *hand) beat() { h.t.Helper(); lua(h.t, "beat").onMesh(h.t, h.field, h.worker, h.lapse, 0) }

// do runs an operation on the queue.
func (h *hand) do(name string, args ...any) any {
	h.t.Helper()
	op, known := h.operations[name]
	if !known {
		op = lua(h.t, name)
		op.load(h.t, h.field)
		h.operations[name] = op
	}
	args = append([]any{op.sha, 1, h.ns + ":{" + h.queue + "}", h.channels(h.t), h.queue}, args...)
	reply, err := h.conn.Do("EVALSHA", args...)
	if err != nil {
		h.t.Fatalf("%s: %v", name, err)
	}
	return reply
}

// fill stores n tasks of 32 bytes, and returns them.
func (f *field) fill(t testing.TB, queue string, n int) []string {
	t.Helper()
	tasks := make([]string, n)
	for i := range tasks {
		tasks[i] = fmt.Sprintf("task %027d", i)
	}
	for chunk := range slices.Chunk(tasks, 500) {
		list := make([][]byte, len(chunk))
		for i, task := range chunk {
			list[i] = []byte(task)
		}
		if err := f.mesh.Enqueue(t.Context(), queue, list...); err != nil {
			t.Fatal(err)
		}
	}
	return tasks
}

// hold takes n tasks.
func (h *hand) hold(n int) {
	h.t.Helper()
	for count := 0; n > 0; n -= count {
		count = min(n, 500)
		h.take(count, false)
	}
	if held := h.count(h.t, "ZCARD", h.ns+":{"+h.queue+"}:processes:"+h.member()); held != h.next-1 {
		h.t.Fatalf("%d processes are in hand, want %d", held, h.next-1)
	}
}

// take takes up to n tasks and returns the processes as settle names them. With park it then waits
// for a wake-up.
func (h *hand) take(n int, park bool) (runs string) {
	h.t.Helper()
	flag := 0
	if park {
		flag = 1
	}
	reply, err := redis.Strings(h.do("take", h.member(), h.next, n, flag), nil)
	if err != nil || len(reply) < 3 {
		h.t.Fatalf("a take answered %q, %v", reply, err)
	}
	h.next += n
	return reply[2]
}

// finish takes one task and finishes it.
func (h *hand) finish() {
	h.t.Helper()
	var number, token string
	if _, err := fmt.Sscan(h.take(1, false), &number, &token); err != nil {
		h.t.Fatalf("no task was taken: %v", err)
	}
	if answer, err := redis.String(h.do("settle", h.member(), number+" "+token+" 1 finish"), nil); answer != "done" {
		h.t.Fatalf("settle answered %q, %v", answer, err)
	}
}

// info reads numbers from a line of INFO, as fmt.Sscanf does.
func (f *field) info(t testing.TB, section, format string, numbers ...any) {
	t.Helper()
	text, err := redis.String(f.conn.Do("INFO", section))
	if err != nil {
		t.Fatal(err)
	}
	name, _, _ := strings.Cut(format, ":")
	_, rest, _ := strings.Cut(text, "\n"+name+":")
	if _, err := fmt.Sscanf(name+":"+rest, format, numbers...); err != nil {
		t.Fatalf("INFO %s has no line %q: %v", section, format, err)
	}
}

// serve runs a worker until the test ends, with a client of its own.
func (f *field) serve(t testing.TB, url string, cfg worqr.WorkerConfig) {
	t.Helper()
	m, err := worqr.Open(t.Context(), url, worqr.Config{Namespace: f.ns})
	if err != nil {
		t.Fatal(err)
	}
	w, err := m.NewWorker(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
		if err := m.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
}

// scripts returns the names of all operations, by their SHA-1 in EVALSHA.
func scripts() map[string]string {
	names := map[string]string{}
	for _, s := range wire.Scripts() {
		names[s.SHA] = s.Name
	}
	return names
}

func median(list []float64) float64 {
	list = slices.Sorted(slices.Values(list))
	return list[len(list)/2]
}
