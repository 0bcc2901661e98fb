package worqr_test

import (
	"errors"
	"testing"

	"github.com/worqr/worqr-go/worqr"
)

// scenario 1, scenario 17
func TestTasksAreTakenInOrderAndFinishedOnce(t *testing.T) {
	m := open(t)
	enqueue(t, m, "q", "a", "b", "c")
	if n, err := m.Len(t.Context(), "q"); n != 3 || err != nil {
		t.Fatalf("len: %d, %v; want 3", n, err)
	}
	if task, err := m.Peek(t.Context(), "q"); string(task) != "a" || err != nil {
		t.Fatalf("peek: %q, %v; want a", task, err)
	}
	w := start(t, m, worqr.WorkerConfig{}, "q")
	for _, task := range []string{"a", "b", "c"} {
		p := take(t, w, "q")
		if string(p.Task()) != task {
			t.Fatalf("took %q, want %q", p.Task(), task)
		}
		finish(t, p)
		if ok, err := p.Finish(t.Context()); ok || err != nil {
			t.Fatalf("second finish: %v, %v; want false", ok, err)
		}
	}
	if _, err := w.Take(t.Context(), "q"); !errors.Is(err, worqr.ErrEmpty) {
		t.Fatalf("take from an empty queue: %v, want ErrEmpty", err)
	}
}
