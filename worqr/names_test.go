package worqr_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/worqr/worqr-go/events"
	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// oddNames are names that keys, channels or patterns could mistake for something else, or for each
// other.
var oddNames = []string{
	"a:b", "a_b", "error", "*", "a/b", "tasks", "a:tasks", // as the scenario has them
	"a", "a/", "a//b", "a/b/c", "b", "a:b:tasks", "a/tasks", "a/b:tasks", "tasks:a", "workers", "a:workers", "processes:a",
	"mesh", "wake", "wake:a", "work", "a:work", "a:cancel", "a*", "?", "[a]", "a[b]", `a\b`, `"`, "'", "%s", "%", "@0", "a@1", "-1", "0", "1e3",
	"ü", "日本語", "A", "..", ".", "~", "worqr", "a,b", "a;b", "a|b", "$", "a#b", strings.Repeat("n", 200),
}

// scenario 6
func TestOddQueueNamesNeverCross(t *testing.T) {
	t.Parallel()
	for _, namespace := range []string{"my_app.v1", "a", "-"} {
		t.Run(namespace, func(t *testing.T) {
			t.Parallel()
			oddNamesNeverCross(t, redistest.Namespace(t))
		})
	}
}

func oddNamesNeverCross(t *testing.T, ns string) {
	ctx := t.Context()
	m := openAt(t, redistest.Shared(t).URL(), worqr.Config{Namespace: ns})
	heard := map[string]<-chan events.Event{}
	for _, q := range oddNames {
		heard[q] = hear(t, m, q)
	}
	for _, q := range oddNames {
		enqueue(t, m, q, "same", q+" 1", q+" 2")
	}
	sorted := slices.Sorted(slices.Values(oddNames))
	listed, err := m.Queues(ctx)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "queues", listed, sorted)

	// One worker takes a task of each and dies; the other one sees to it.
	doomed, proxy := mortal(t, ns)
	a := start(t, doomed, quick(), oddNames...)
	inHand := map[string]*worqr.Process{}
	for _, q := range oddNames {
		inHand[q] = take(t, a, q)
		finish(t, take(t, a, q)) // q 1
		if got := string(inHand[q].Task()); got != "same" {
			t.Fatalf("took %q of queue %q", got, q)
		}
	}
	served, err := m.WorkingQueues(ctx, a.ID())
	if err != nil {
		t.Fatal(err)
	}
	want(t, "served", served, sorted)

	// A cancel concerns one queue, whatever the task is called elsewhere.
	for _, q := range []string{"*", "a", "a/b", "error"} {
		c, err := m.Cancel(ctx, q, []byte("same"))
		if err != nil || c.Waiting != 0 || len(c.Running) != 1 || c.Running[0].ID != inHand[q].ID() {
			t.Fatalf("cancel in queue %q: %+v, %v; want its one process", q, c, err)
		}
		ended(t, inHand[q].Context())
	}
	for q, p := range inHand {
		canceled := q == "*" || q == "a" || q == "a/b" || q == "error"
		if p.Context().Err() != nil != canceled {
			t.Errorf("the process of queue %q has ended: %v; want %v", q, !canceled, canceled)
		}
		if canceled {
			delete(inHand, q)
		}
	}

	reclaimed := make(chan string, 10*len(oddNames))
	cfg := quick()
	cfg.Hooks.OnReclaim = func(_, queue string, _ int) { reclaimed <- queue }
	start(t, m, cfg)
	proxy.Refuse(true)
	var queues []string
	for range oddNames {
		queues = append(queues, receive(t, "a reclaim", reclaimed))
	}
	slices.Sort(queues)
	want(t, "reclaimed", queues, sorted)
	for _, q := range oddNames {
		tasks := []string{"same", q + " 2"}
		if inHand[q] == nil { // canceled
			tasks = tasks[1:]
		}
		want(t, fmt.Sprintf("tasks of queue %q", q), waiting(t, m, q), tasks)
	}

	// Whoever listens to a queue has heard what was told of it, and of no other.
	if n, err := m.DeleteQueue(ctx, "a"); n != 1 || err != nil {
		t.Fatalf("delete of queue a removed %d, %v; want 1", n, err)
	}
	for _, q := range oddNames {
		enqueue(t, m, q, "1", "2", "3", "4", "5", "6", "7")
		var told []string
		for count := 0; count != 7; {
			e := receive(t, "an event", heard[q])
			if e.Queue != q {
				t.Fatalf("the listener of queue %q heard %+v", q, e)
			}
			count = e.Count
			told = append(told, e.Kind.String())
		}
		wanted := []string{"work", "done"}
		if inHand[q] == nil {
			wanted = append(wanted, "cancel") // and so nothing comes back
		} else {
			wanted = append(wanted, "work")
		}
		if q == "a" {
			wanted = append(wanted, "delete")
		}
		want(t, fmt.Sprintf("told of queue %q", q), told, append(wanted, "work"))
	}
}

// scenario 6
func TestNamesThatCouldCrossAreRefused(t *testing.T) {
	t.Parallel()
	m := open(t)
	for name, why := range map[string]string{"{x}": "brace", "a{b": "brace", "a}b": "brace", "/x": "slash", "/": "slash"} {
		err := m.Enqueue(t.Context(), name, []byte("x"))
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", name)) || !strings.Contains(err.Error(), why) {
			t.Errorf("queue %q: %v; want an error that names it and says %q", name, err, why)
		}
	}
}
