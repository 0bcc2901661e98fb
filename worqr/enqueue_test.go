package worqr_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/worqr/worqr-go/events"
	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// scenario 1
func TestTasksAreTakenInTheOrderOfTheirEnqueues(t *testing.T) {
	t.Parallel()
	m := open(t)
	if n, err := m.Len(t.Context(), "q"); n != 0 || err != nil {
		t.Fatalf("an unknown queue has %d tasks, %v; want 0", n, err)
	}
	for _, task := range []string{"a", "b", "c"} {
		enqueue(t, m, "q", task)
	}
	if n, err := m.Len(t.Context(), "q"); n != 3 || err != nil {
		t.Fatalf("Len is %d, %v; want 3", n, err)
	}
	if task, err := m.Peek(t.Context(), "q"); string(task) != "a" || err != nil {
		t.Fatalf("Peek gives %q, %v; want a", task, err)
	}
	w := start(t, m, worqr.WorkerConfig{}, "q")
	for _, task := range []string{"a", "b", "c"} {
		p := take(t, w, "q")
		if string(p.Task()) != task || p.Queue() != "q" {
			t.Fatalf("took %q of queue %q, want %q of q", p.Task(), p.Queue(), task)
		}
	}
}

// scenario 2
func TestBatchIsOneEventInOrder(t *testing.T) {
	t.Parallel()
	m := open(t)
	heard := hear(t, m, "q", events.Work)
	enqueue(t, m, "q", "a", "b", "c")
	want(t, "tasks", waiting(t, m, "q"), []string{"a", "b", "c"})
	enqueue(t, m, "q", "marker")
	for _, count := range []int{3, 1} {
		if e := receive(t, "a work event", heard); e.Kind != events.Work || e.Queue != "q" || e.Count != count {
			t.Fatalf("heard %+v, want work of q with count %d", e, count)
		}
	}
}

// scenario 2: a batch of several steps stays in order too
func TestLargeBatchesStayInOrder(t *testing.T) {
	t.Parallel()
	m := open(t)
	many := numbered("t", 1_234)
	enqueue(t, m, "q", many...)
	large := make([]string, 5) // two and a half fit into one step
	for i := range large {
		large[i] = strings.Repeat(fmt.Sprint(i), 400_000)
	}
	enqueue(t, m, "q", large...)
	want(t, "tasks", waiting(t, m, "q"), append(many, large...))
}

// scenario 3
func TestBatchWithATaskAboveTheLimitStoresNothing(t *testing.T) {
	t.Parallel()
	ns := redistest.Namespace(t)
	m := openAt(t, redistest.Shared(t).URL(), worqr.Config{Namespace: ns, MaxTask: 10})
	c := redistest.Shared(t).Conn(t)
	small := func(n int) [][]byte {
		batch := make([][]byte, n)
		for i := range batch {
			batch[i] = []byte("0123456789") // exactly the limit
		}
		return batch
	}
	for _, batch := range [][][]byte{
		append(small(2), []byte("01234567890")),
		append([][]byte{[]byte("01234567890")}, small(2)...),
		append(small(1_700), []byte("01234567890")), // the steps before it would fit
	} {
		err := m.Enqueue(t.Context(), "q", batch...)
		if !errors.Is(err, worqr.ErrInvalid) {
			t.Fatalf("got %v, want ErrInvalid", err)
		}
		for _, part := range []string{"MaxTask", "11 bytes", "is 10", `"q"`} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q does not say %q", err, part)
			}
		}
		want(t, "keys", keysOf(t, c, ns), nil)
	}
	if err := m.Enqueue(t.Context(), "q", small(3)...); err != nil {
		t.Fatalf("tasks of just the limit: %v", err)
	}
}

// scenario 4
func TestPayloadsAreIdenticalAfterARoundTrip(t *testing.T) {
	t.Parallel()
	m := open(t)
	noise := make([]byte, 1<<20)
	r := rand.NewChaCha8([32]byte{})
	_, _ = r.Read(noise) // never fails
	tasks := [][]byte{
		{}, nil, {0}, []byte("\x00a\x00"), []byte("\r\n"), []byte("\n"), noise, []byte(" "), []byte("\xff\xfe"), []byte("*"),
		make([]byte, 1<<20), []byte("1790000000000001"), []byte("2"), []byte("{}"), []byte("+OK\r\n"), []byte("$-1\r\n"),
	}
	heard := hear(t, m, "q", events.Done)
	if err := m.Enqueue(t.Context(), "q", tasks...); err != nil {
		t.Fatal(err)
	}
	same := func(where string, i int, got []byte) {
		t.Helper()
		if got == nil || !bytes.Equal(got, tasks[i]) {
			t.Fatalf("%s: task %d has changed: %d bytes, begins %.20q", where, i, len(got), got)
		}
	}
	listed, err := m.Tasks(t.Context(), "q", 0, len(tasks))
	if err != nil || len(listed) != len(tasks) {
		t.Fatalf("Tasks: %d of %d, %v", len(listed), len(tasks), err)
	}
	w := start(t, m, patient(), "q")
	var inHand []*worqr.Process
	for i := range tasks {
		same("Tasks", i, listed[i])
		next, err := m.Peek(t.Context(), "q")
		if err != nil {
			t.Fatal(err)
		}
		same("Peek", i, next)
		p := take(t, w, "q")
		same("Take", i, p.Task())
		if err := p.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		p = take(t, w, "q")
		same("Take after Stop", i, p.Task())
		inHand = append(inHand, p)
	}
	processes, err := m.Processes(t.Context(), "q")
	if err != nil || len(processes) != len(tasks) {
		t.Fatalf("Processes: %d of %d, %v", len(processes), len(tasks), err)
	}
	for i, p := range inHand {
		same("Processes", i, processes[i].Task)
		finish(t, p)
		e := receive(t, "a done event", heard) // it carries the beginning of the task
		if begin := tasks[i][:min(len(tasks[i]), 4096)]; !bytes.Equal(e.Task, begin) || e.Size != len(tasks[i]) {
			t.Fatalf("the done event: task %d has changed: %d of %d bytes, begins %.20q", i, len(e.Task), e.Size, e.Task)
		}
	}
}

// scenario 5
func TestEqualTasksAreTwoProcesses(t *testing.T) {
	t.Parallel()
	m := open(t)
	enqueue(t, m, "q", "same", "same")
	w := start(t, m, patient(), "q")
	first, second := take(t, w, "q"), take(t, w, "q")
	if first.ID() == second.ID() || first.Token() >= second.Token() {
		t.Fatalf("processes %s with token %d and %s with token %d are not apart", first.ID(), first.Token(), second.ID(), second.Token())
	}
	if w.Process(first.ID()) != first || w.Process(second.ID()) != second {
		t.Fatal("Process does not find them by their ids")
	}
	finish(t, first)
	want(t, "in hand", held(t, m, "q"), []string{w.ID() + ":same"})
	processes, err := m.Processes(t.Context(), "q")
	if err != nil || processes[0].ID != second.ID() {
		t.Fatalf("left in hand is %v, %v; want %s", processes, err, second.ID())
	}
	if w.Process(first.ID()) != nil {
		t.Error("Process finds one that is finished")
	}
	finish(t, second)
	want(t, "in hand", held(t, m, "q"), nil)
}

// scenario 7
func TestTakeFromAnEmptyQueueLeavesNothing(t *testing.T) {
	t.Parallel()
	ns := redistest.Namespace(t)
	m := openAt(t, redistest.Shared(t).URL(), worqr.Config{Namespace: ns})
	c := redistest.Shared(t).Conn(t)
	w := start(t, m, patient(), "q")
	before := snapshot(t, c, ns)
	for range 3 {
		if p, err := w.Take(t.Context(), "q"); p != nil || !errors.Is(err, worqr.ErrEmpty) || !strings.Contains(err.Error(), `"q"`) {
			t.Fatalf("Take gives %v, %v; want ErrEmpty that names q", p, err)
		}
	}
	// The one thing that may change is the number that the membership draws next.
	members := queuePrefix(ns, "q") + ":workers"
	if changed := slices.DeleteFunc(differences(before, snapshot(t, c, ns)), func(key string) bool {
		return key == members+" (changed)"
	}); len(changed) > 0 {
		t.Errorf("a take that found nothing left %v", changed)
	}
	if _, err := m.Peek(t.Context(), "q"); !errors.Is(err, worqr.ErrEmpty) {
		t.Errorf("Peek: %v, want ErrEmpty", err)
	}
	if err := w.Fail(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(t, "keys after the worker has left", left(t, c, ns), nil)
}
