package subscribe

import (
	"bytes"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/worqr/worqr-go/events"
)

func TestCallbackSeesEventsInOrder(t *testing.T) {
	t.Parallel()
	const n = 3000
	r := listen(t, shared(t), func(c *Config) { c.Buffer = n })
	inside := make(chan struct{}, 1) // full while a call is in progress
	got := make(chan string, n)
	r.On("q", func(e events.Event) {
		select {
		case inside <- struct{}{}:
		default:
			t.Error("two calls at once")
		}
		got <- fmt.Sprint(e.Kind, e.Count, e.Token)
		<-inside
	})
	r.awaitReady()
	var want []string
	for i := range n {
		suffix, payload, line := "q:work", strconv.Itoa(i), fmt.Sprint(events.Work, i, 0)
		switch i % 4 {
		case 1:
			suffix, payload, line = "q:cancel", fmt.Sprintf("%d\ntask", i), fmt.Sprint(events.Cancel, 0, i)
		case 2:
			suffix, line = "q:delete", fmt.Sprint(events.Delete, 0, i)
		case 3:
			suffix, payload, line = "q:done", fmt.Sprintf("w p %d\ntask", i), fmt.Sprint(events.Done, 0, i)
		}
		if err := r.admin.Send("PUBLISH", r.channel(suffix), payload); err != nil {
			t.Fatal(err)
		}
		want = append(want, line)
	}
	r.do("")
	for i := range n {
		if line := await(t, "an event", got); line != want[i] {
			t.Fatalf("event %d is %s, want %s", i, line, want[i])
		}
	}
}

func TestSlowCallbackStallsNobody(t *testing.T) {
	t.Parallel()
	const buffer, n = 8, 50
	r := listen(t, shared(t), func(c *Config) { c.Buffer = buffer })
	entered, release := make(chan struct{}), make(chan struct{})
	slow, fast, hint := make(chan int, n+1), make(chan int, n+1), make(chan int, n+1)
	r.On("q", func(e events.Event) {
		if e.Count == 0 {
			close(entered)
			<-release
		}
		slow <- e.Count
	}, events.Work)
	r.On("q", func(e events.Event) { fast <- e.Count }, events.Work)
	r.OnHint("q", events.Work, func(e events.Event) { hint <- e.Count })
	r.awaitReady()

	r.publish("q:work", "0")
	await(t, "the slow callback to begin", entered)
	await(t, "event 0 elsewhere", fast)
	await(t, "event 0 as a hint", hint)
	for i := 1; i <= n; i++ {
		r.publish("q:work", strconv.Itoa(i))
		if f, h := await(t, "an event", fast), await(t, "a hint", hint); f != i || h != i {
			t.Fatalf("got %d and %d, want %d", f, h, i)
		}
	}
	until(t, "the drops to be counted", func() bool { return r.Dropped() >= n-buffer })
	lines := r.logs.lines(t, "too slow")
	if len(lines) != 1 || lines[0]["queue"] != "q" || lines[0]["kind"] != "work" || lines[0]["dropped"] != 1.0 || lines[0]["callback_running"].(float64) <= 0 {
		t.Errorf("the log says %v, want one line that names q, work and how long", lines)
	}
	_, handlers := r.want.find(":q:work")
	handlers[0].mu.Lock()
	handlers[0].logged = handlers[0].logged.Add(-logEvery) // as if that time had passed
	handlers[0].mu.Unlock()
	r.publish("q:work", "999")
	until(t, "a second line", func() bool { return len(r.logs.lines(t, "too slow")) == 2 })
	if line := r.logs.lines(t, "too slow")[1]; line["dropped"] != float64(n-buffer) {
		t.Errorf("the second line is %v, want all %d since the first", line, n-buffer)
	}
	close(release)
	for i := range buffer + 1 { // the one in progress and the oldest that waited
		if got := await(t, "what had waited", slow); got != i {
			t.Fatalf("the slow callback got %d, want %d", got, i)
		}
	}
	r.publish("q:work", "1000")
	if got := await(t, "the next event", slow); got != 1000 {
		t.Errorf("after its buffer the slow callback got %d, want 1000", got)
	}
	if got := r.Dropped(); got != n-buffer+1 {
		t.Errorf("Dropped is %d, want %d", got, n-buffer+1)
	}
}

func TestCallbackThatFails(t *testing.T) {
	t.Parallel()
	r := listen(t, shared(t))
	got := make(chan int, 10)
	r.OnReady(func() { panic("burst ready") })
	r.On("q", func(e events.Event) {
		switch e.Count {
		case 1:
			panic("burst pipe")
		case 2:
			runtime.Goexit()
		}
		got <- e.Count
	}, events.Work)
	r.OnHint("q", events.Work, func(e events.Event) {
		if e.Count == 1 {
			panic("burst hint")
		}
	})
	r.awaitReady()
	for i := range 4 {
		r.publish("q:work", strconv.Itoa(i))
	}
	for _, want := range []int{0, 3} {
		if n := await(t, "the next event", got); n != want {
			t.Fatalf("got %d, want %d", n, want)
		}
	}
	for _, what := range []string{"burst pipe", "burst hint", "burst ready"} {
		until(t, what+" in the log", func() bool { return strings.Contains(r.logs.text(), what) })
	}
	for _, line := range r.logs.lines(t, "panicked") {
		if line["panic"] == "burst pipe" && (line["queue"] != "q" || line["kind"] != "work" || !strings.Contains(line["stack"].(string), "callbacks_test.go")) {
			t.Errorf("the log says %v, want queue, kind and the stack", line)
		}
	}
	if r.dials.Load() != 1 {
		t.Error("a failing callback cost the connection")
	}
}

// A hint that ends its goroutine ends the reader: the connection is made anew.
func TestHintThatEndsTheReader(t *testing.T) {
	t.Parallel()
	r := listen(t, shared(t))
	got := make(chan int, 10)
	r.OnHint("q", events.Work, func(e events.Event) {
		if e.Count == 1 {
			runtime.Goexit()
		}
		got <- e.Count
	})
	r.awaitReady()
	r.publish("q:work", "1")
	until(t, "another connection", func() bool { return r.dials.Load() == 2 && r.Ready() })
	r.publish("q:work", "2")
	if n := await(t, "the next hint", got); n != 2 {
		t.Errorf("got %d, want 2", n)
	}
}

func TestStopAndOnWithinCallback(t *testing.T) {
	t.Parallel()
	r := listen(t, shared(t))
	first, second, marker := make(chan int, 10), make(chan int, 100), make(chan int, 100)
	var stop func()
	enough := make(chan struct{})
	stop = r.On("q", func(e events.Event) {
		<-enough
		stop()
		stop()
		r.On("q", func(e events.Event) { second <- e.Count }, events.Work)
		first <- e.Count
	}, events.Work)
	r.OnHint("q", events.Work, func(e events.Event) { marker <- e.Count })
	r.awaitReady()
	for i := 1; i <= 3; i++ {
		r.publish("q:work", strconv.Itoa(i))
		await(t, "the event to be read", marker)
	}
	close(enough) // two wait behind the one that stops
	await(t, "the first event", first)
	r.publish("q:work", "9")
	if n := await(t, "an event for the new one", second); n != 9 {
		t.Errorf("the new callback got %d, want 9", n)
	}
	r.stop()
	if len(first) > 0 {
		t.Error("a stopped callback was called again")
	}
}

// A hint that stops itself takes no event from those behind it.
func TestHintsThatStopThemselves(t *testing.T) {
	t.Parallel()
	r := listen(t, shared(t))
	const hints = 5
	called := make(chan int, 2*hints)
	for i := range hints {
		var stop func()
		stop = r.OnHint("q", events.Work, func(events.Event) {
			called <- i
			stop()
		})
	}
	done := make(chan struct{}, 2)
	r.On("q", func(events.Event) { done <- struct{}{} }, events.Work)
	r.awaitReady()
	for range 2 {
		r.publish("q:work", "1")
		await(t, "the event", done)
	}
	for i := range hints {
		if n := await(t, "a hint", called); n != i {
			t.Errorf("hint %d was called, want %d", n, i)
		}
	}
	if len(called) > 0 {
		t.Errorf("%d calls too many", len(called))
	}
}

// What wakes, and what is done with a task of any bytes.
func TestPayloadsArriveUnchanged(t *testing.T) {
	t.Parallel()
	r := listen(t, shared(t))
	got := make(chan events.Event, 1)
	r.On("q", func(e events.Event) { got <- e }, events.Cancel, events.Done)
	r.awaitReady()
	for _, task := range []string{"", "\n", "\x00", "\n\n\x00\r\n", "7\n8", " ", "\xff\xfe", strings.Repeat("\x00\r\n", 1<<20/3)} {
		for _, c := range []struct {
			suffix, payload string
			want            events.Event
		}{
			{"q:cancel", "7\n" + task, events.Event{Kind: events.Cancel, Queue: "q", Token: 7}},
			{"q:done", "w p 8\n" + task, events.Event{Kind: events.Done, Queue: "q", Worker: "w", Process: "p", Token: 8}},
		} {
			r.publish(c.suffix, c.payload)
			e := await(t, "an event", got)
			same := bytes.Equal(e.Task, []byte(task))
			if e.Size != len(task) {
				t.Errorf("task %.20q: its size is %d, want %d", task, e.Size, len(task))
			}
			e.Task, e.Size = nil, 0
			if !same || fmt.Sprint(e) != fmt.Sprint(c.want) {
				t.Errorf("task %.20q: got %+v (same task: %v), want %+v", task, e, same, c.want)
			}
		}
	}
}

func TestMalformedPayloadsAreCountedAndPassedOver(t *testing.T) {
	t.Parallel()
	r := listen(t, shared(t))
	got := make(chan events.Event, 1)
	r.On("q", func(e events.Event) { got <- e })
	r.OnMesh(func(e events.Event) { got <- e })
	r.OnWake("w1", func(string, bool) { t.Error("woken by a malformed message") })
	r.awaitReady()
	bad := []struct{ suffix, payload string }{
		{"q:work", "hunter2"}, {"q:work", ""}, {"q:cancel", "hunter2"}, {"q:cancel", "\n"}, {"q:delete", "-1"}, {"q:done", "w p\nhunter2"},
		{"mesh", "hunter2 w"}, {"mesh", ""}, {"wake:w1", "hunter2"}, {"q:work", strings.Repeat("9", 1<<20)},
	}
	for _, b := range bad {
		r.publish(b.suffix, b.payload)
	}
	r.publish("q:work", "3")
	if e := await(t, "the event behind them", got); e.Count != 3 {
		t.Errorf("got %+v", e)
	}
	if n := r.Malformed(); n != uint64(len(bad)) {
		t.Errorf("Malformed is %d, want %d", n, len(bad))
	}
	if lines := r.logs.lines(t, "not published by this library"); len(lines) != 1 || lines[0]["channel"] != r.channel("q:work") {
		t.Errorf("the log says %v, want one line", lines)
	}
	if strings.Contains(r.logs.text(), "hunter2") {
		t.Error("the log holds a payload")
	}
}
