package worqr_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/worqr/worqr-go/events"
	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// says checks that an error is of a kind and that its text has these parts.
func says(t testing.TB, what string, err, kind error, parts ...string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("%s: %v, want one that is %v", what, err, kind)
		return
	}
	text := err.Error()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s: %q does not say %q", what, text, part)
		}
	}
	if strings.Count(text, "worqr: ") != 1 || len(text) > 400 {
		t.Errorf("%s: %q is not one clear line", what, text)
	}
}

func TestQueueNamesThatAreRefused(t *testing.T) {
	t.Parallel()
	ctx, ns := t.Context(), redistest.Namespace(t)
	m, c := openAt(t, redistest.Shared(t).URL(), worqr.Config{Namespace: ns}), redistest.Shared(t).Conn(t)
	w := start(t, m, patient())
	before := snapshot(t, c, ns)
	for name, why := range map[string]string{
		"": "empty", "/": "slash", "/a": "slash", "{": "brace", "}": "brace", "a{b}": "brace",
		"a b": "space", " ": "space", "a\u00a0b": "space", "a\u2028b": "space", "a\u3000": "space",
		"\x00": "control", "a\nb": "control", "a\tb": "control", "a\r": "control", "\x7f": "control", "a\u0085": "control", "a\x1b[31m": "control",
		"\xff": "UTF-8", "a\xc3": "UTF-8",
		strings.Repeat("n", 201): "201 bytes", strings.Repeat("n", 10<<10): "10240 bytes", strings.Repeat("ü", 101): "202 bytes",
	} {
		verbs := map[string]func() error{
			"Enqueue":     func() error { return m.Enqueue(ctx, name, []byte("x")) },
			"Cancel":      func() error { _, err := m.Cancel(ctx, name, []byte("x")); return err },
			"DeleteQueue": func() error { _, err := m.DeleteQueue(ctx, name); return err },
			"Processes":   func() error { _, err := m.Processes(ctx, name); return err },
			"Peek":        func() error { _, err := m.Peek(ctx, name); return err },
			"Len":         func() error { _, err := m.Len(ctx, name); return err },
			"Tasks":       func() error { _, err := m.Tasks(ctx, name, 0, 1); return err },
			"StartWork":   func() error { return w.StartWork(ctx, name) },
			"StopWork":    func() error { return w.StopWork(ctx, name) },
			"Take":        func() error { _, err := w.Take(ctx, name); return err },
			"On":          func() error { _, err := w.On(name, func(events.Event) {}); return err },
		}
		shown := fmt.Sprintf("%q", name)
		if len(name) > 40 {
			shown = shown[:20]
		}
		for verb, call := range verbs {
			says(t, verb, call(), worqr.ErrInvalid, "queue", shown, why)
		}
		_, err := m.NewWorker(handling(worqr.WorkerConfig{}, name, 1, gather(nil)))
		says(t, "NewWorker", err, worqr.ErrConfig, "Queues", shown, why)
	}
	want(t, "changed", differences(before, snapshot(t, c, ns)), nil)
	longest := strings.Repeat("n", 200)
	enqueue(t, m, longest, "x")
	if err := w.StartWork(ctx, longest); err != nil {
		t.Fatal(err)
	}
	finish(t, take(t, w, longest))
}

func TestArgumentsThatAreRefused(t *testing.T) {
	t.Parallel()
	ctx, ns := t.Context(), redistest.Namespace(t)
	m, c := openAt(t, redistest.Shared(t).URL(), worqr.Config{Namespace: ns, MaxTask: 5}), redistest.Shared(t).Conn(t)
	w := start(t, m, patient(), "q")
	before := snapshot(t, c, ns)
	says(t, "an empty batch", m.Enqueue(ctx, "q"), worqr.ErrInvalid, `"q"`, "batch is empty")
	says(t, "a nil batch", m.Enqueue(ctx, "q", nil...), worqr.ErrInvalid, `"q"`, "batch is empty")
	says(t, "a large task", m.Enqueue(ctx, "q", []byte("a"), []byte("123456")), worqr.ErrInvalid, "task 2 of 2", "6 bytes", "MaxTask is 5")
	_, err := w.On("q", nil)
	says(t, "a nil callback", err, worqr.ErrInvalid, `"q"`, "nil")
	_, err = m.Tasks(ctx, "q", -1, 1)
	says(t, "Tasks", err, worqr.ErrInvalid, "offset -1")
	_, err = m.Tasks(ctx, "q", 0, -2)
	says(t, "Tasks", err, worqr.ErrInvalid, "limit -2")
	for _, id := range []string{"", "unknown", "{x}", "a b\x00", w.ID() + " ", strings.Repeat("w", 10<<10)} {
		err := m.Fail(ctx, id)
		says(t, "Fail", err, worqr.ErrGone, fmt.Sprintf("%q", id)[:1])
		if queues, err := m.WorkingQueues(ctx, id); len(queues) != 0 || err != nil {
			t.Errorf("queues of an unknown worker: %v, %v", queues, err)
		}
	}
	want(t, "changed", differences(before, snapshot(t, c, ns)), nil)
}

func TestExtremePages(t *testing.T) {
	t.Parallel()
	m := open(t)
	enqueue(t, m, "q", "t0", "t1", "t2", "t3")
	for _, page := range []struct{ offset, limit, count int }{
		{0, math.MaxInt, 4}, {1, math.MaxInt, 3}, {2, math.MaxInt, 2}, {3, math.MaxInt - 1, 1}, {4, math.MaxInt, 0}, {math.MaxInt, math.MaxInt, 0}, {math.MaxInt, 1, 0},
	} {
		tasks, err := m.Tasks(t.Context(), "q", page.offset, page.limit)
		if len(tasks) != page.count || err != nil {
			t.Errorf("offset %d, limit %d: %d tasks, %v; want %d", page.offset, page.limit, len(tasks), err, page.count)
		}
	}
}

func TestConfigsThatAreRefused(t *testing.T) {
	t.Parallel()
	url := redistest.Shared(t).URL()
	for _, namespace := range []string{" ", "a b", "a{b", "{}", "a/b", "a:b", "a@0", "ü", "a\n", "\x00", "*", strings.Repeat("n", 65), strings.Repeat("n", 10<<10)} {
		_, err := worqr.Open(t.Context(), url, worqr.Config{Namespace: namespace})
		says(t, "Open", err, worqr.ErrConfig, "Namespace", fmt.Sprintf("%q", namespace)[:2])
		_, err = worqr.New(redistest.Shared(t).Pool(t), worqr.Config{Namespace: namespace})
		says(t, "New", err, worqr.ErrConfig, "Namespace")
	}
	_, err := worqr.Open(t.Context(), url, worqr.Config{MaxTask: -1})
	says(t, "MaxTask", err, worqr.ErrConfig, "MaxTask", "-1")
}

func TestWorkerConfigsThatAreRefused(t *testing.T) {
	t.Parallel()
	m := open(t)
	handler := worqr.HandlerFunc(gather(nil))
	queue := func(q worqr.Queue) map[string]worqr.Queue { return map[string]worqr.Queue{"orders": q} }
	for _, c := range []struct {
		cfg   worqr.WorkerConfig
		parts []string
	}{
		{worqr.WorkerConfig{Beat: -time.Second}, []string{"Beat -1s"}},
		{worqr.WorkerConfig{Beat: 5 * time.Second}, []string{"Beat 5s", "Lapse 3s"}},
		{worqr.WorkerConfig{Beat: time.Second + time.Millisecond}, []string{"Beat 1.001s", "Lapse 3s"}},
		{worqr.WorkerConfig{Lapse: -3 * time.Second}, []string{"Lapse -3s"}},
		{worqr.WorkerConfig{Beat: 10 * time.Millisecond, Lapse: 99 * time.Millisecond}, []string{"Lapse 99ms", "100ms"}},
		{worqr.WorkerConfig{Beat: time.Second, Lapse: 2 * time.Second}, []string{"Beat 1s", "Lapse 2s"}},
		{worqr.WorkerConfig{Lapse: 3*time.Second + 500*time.Microsecond}, []string{"Lapse", "3.0005s", "milliseconds"}},
		{worqr.WorkerConfig{Margin: -time.Millisecond}, []string{"Margin -1ms"}},
		{worqr.WorkerConfig{Margin: time.Second}, []string{"Margin 1s", "Lapse 3s"}},
		{worqr.WorkerConfig{Sweep: -time.Second}, []string{"Sweep", "-1s"}},
		{worqr.WorkerConfig{Sweep: time.Nanosecond}, []string{"Sweep", "1ns"}},
		{worqr.WorkerConfig{Grace: -time.Second}, []string{"Grace", "-1s"}},
		{worqr.WorkerConfig{Capacity: -7}, []string{"Capacity", "-7"}},
		{worqr.WorkerConfig{Queues: queue(worqr.Queue{})}, []string{"Queues", `"orders"`, "Handler", "nil"}},
		{worqr.WorkerConfig{Queues: queue(worqr.Queue{Handler: worqr.HandlerFunc(nil)})}, []string{"Queues", `"orders"`, "Handler", "nil"}},
		{worqr.WorkerConfig{Queues: queue(worqr.Queue{Handler: handler, Limit: -1})}, []string{"Queues", `"orders"`, "Limit", "-1"}},
	} {
		w, err := m.NewWorker(c.cfg)
		if w != nil {
			t.Errorf("%+v is accepted", c.cfg)
		}
		says(t, fmt.Sprintf("NewWorker(%+v)", c.cfg), err, worqr.ErrConfig, c.parts...)
	}
	for _, cfg := range []worqr.WorkerConfig{
		{}, {Queues: queue(worqr.Queue{Handler: handler})}, {Beat: 33 * time.Millisecond, Lapse: 100 * time.Millisecond, Margin: 33 * time.Millisecond},
	} {
		if _, err := m.NewWorker(cfg); err != nil {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
}

func TestMeshWithAnotherLapseOrProtocol(t *testing.T) {
	t.Parallel()
	ctx, ns := t.Context(), redistest.Namespace(t)
	url, c := redistest.Shared(t).URL(), redistest.Shared(t).Conn(t)
	m := openAt(t, url, worqr.Config{Namespace: ns, WaitForRedis: true}) // it does not wait for what does not pass
	other := patient()
	other.Lapse += time.Millisecond
	refused := func(cfg worqr.WorkerConfig, parts ...string) {
		t.Helper()
		before := snapshot(t, c, ns)
		w, err := m.NewWorker(cfg)
		if err != nil {
			t.Fatal(err)
		}
		says(t, "Start", w.Start(ctx), worqr.ErrConfig, parts...)
		says(t, "Run", w.Run(ctx), worqr.ErrConfig, parts...)
		if w.ID() != "" || w.Alive() {
			t.Errorf("it has id %q, is alive: %v", w.ID(), w.Alive())
		}
		want(t, "changed", differences(before, snapshot(t, c, ns)), nil)
	}
	first := start(t, m, patient())
	refused(other, "Lapse", "600000 ms", "600001 ms")
	if err := first.Fail(ctx); err != nil {
		t.Fatal(err)
	}
	if err := start(t, m, other).Fail(ctx); err != nil { // nobody is registered any more
		t.Fatal(err)
	}
	if _, err := c.Do("HSET", "{"+ns+"}:mesh", "protocol", "999"); err != nil {
		t.Fatal(err)
	}
	refused(other, "Protocol", "999", "1")
	refused(patient(), "Protocol", "999", "1")
}

// A context that has ended already: an error that says so, nothing done.
func TestEndedContext(t *testing.T) {
	t.Parallel()
	ns := redistest.Namespace(t)
	m, c := openAt(t, redistest.Shared(t).URL(), worqr.Config{Namespace: ns}), redistest.Shared(t).Conn(t)
	enqueue(t, m, "q", "a", "b")
	w := start(t, m, patient(), "q")
	p := take(t, w, "q")
	over, cancel := context.WithCancel(t.Context())
	cancel()
	before := snapshot(t, c, ns)
	for verb, call := range map[string]func() error{
		"Enqueue":   func() error { return m.Enqueue(over, "q", []byte("x")) },
		"Cancel":    func() error { _, err := m.Cancel(over, "q", []byte("a")); return err },
		"Delete":    func() error { _, err := m.DeleteQueue(over, "q"); return err },
		"Fail":      func() error { return m.Fail(over, w.ID()) },
		"Queues":    func() error { _, err := m.Queues(over); return err },
		"Workers":   func() error { _, err := m.Workers(over); return err },
		"Processes": func() error { _, err := m.Processes(over, "q"); return err },
		"Len":       func() error { _, err := m.Len(over, "q"); return err },
		"Take":      func() error { _, err := w.Take(over, "q"); return err },
	} {
		says(t, verb, call(), context.Canceled)
	}
	want(t, "changed", differences(before, snapshot(t, c, ns)), nil)
	finish(t, p)
}
