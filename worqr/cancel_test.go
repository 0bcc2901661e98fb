package worqr_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/worqr/worqr-go/events"
	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// scenario 63
func TestWaitingCopiesAreCancelled(t *testing.T) {
	t.Parallel()
	ctx, m := t.Context(), open(t)
	heard := hear(t, m, "q", events.Cancel)
	enqueue(t, m, "q", "u", "other", "u", "u", "uu")
	enqueue(t, m, "q2", "u")
	c, err := m.Cancel(ctx, "q", []byte("u"))
	if err != nil || c.Waiting != 3 || len(c.Running) != 0 {
		t.Fatalf("Cancel: %+v, %v; want 3 waiting", c, err)
	}
	want(t, "tasks", waiting(t, m, "q"), []string{"other", "uu"})
	want(t, "tasks of another queue", waiting(t, m, "q2"), []string{"u"})
	if e := receive(t, "the cancel event", heard); e.Kind != events.Cancel || e.Queue != "q" || string(e.Task) != "u" || e.Token == 0 {
		t.Errorf("heard %+v, want the cancel of u", e)
	}
	if c, err := m.Cancel(ctx, "q", []byte("u")); err != nil || c.Waiting != 0 || len(c.Running) != 0 {
		t.Errorf("a second Cancel: %+v, %v; want nothing found", c, err)
	}
	if c, err := m.Cancel(ctx, "never", []byte("u")); err != nil || c.Waiting != 0 || len(c.Running) != 0 {
		t.Errorf("Cancel in an unknown queue: %+v, %v; want nothing found", c, err)
	}
	// what is enqueued afterwards is a new task
	enqueue(t, m, "q", "u")
	w := start(t, m, patient(), "q")
	for _, task := range []string{"other", "uu", "u"} {
		p := take(t, w, "q")
		if string(p.Task()) != task || p.Context().Err() != nil {
			t.Errorf("took %q, ended with %v; want %q", p.Task(), context.Cause(p.Context()), task)
		}
		finish(t, p)
	}
}

// scenario 63, scenario 64: of no bytes, and of many
func TestOddTasksAreCancelled(t *testing.T) {
	t.Parallel()
	ctx, m := t.Context(), open(t)
	w := start(t, m, patient(), "q")
	for _, task := range [][]byte{nil, {}, {0}, []byte("\n"), []byte("*"), []byte("7\n"), make([]byte, 1<<20)} {
		if err := m.Enqueue(ctx, "q", task, []byte("other"), task, []byte("other")); err != nil {
			t.Fatal(err)
		}
		p, other := take(t, w, "q"), take(t, w, "q")
		c, err := m.Cancel(ctx, "q", task)
		if err != nil || c.Waiting != 1 || len(c.Running) != 1 || c.Running[0].ID != p.ID() || c.Running[0].Worker != w.ID() {
			t.Fatalf("cancel of %.20q: %d waiting, running %v, %v; want 1 and %s", task, c.Waiting, c.Running, err, p.ID())
		}
		if cause := ended(t, p.Context()); !errors.Is(cause, worqr.ErrCanceled) {
			t.Errorf("its context ended with %v, want ErrCanceled", cause)
		}
		finish(t, p)
		finish(t, other)
		finish(t, take(t, w, "q"))
		want(t, "tasks", waiting(t, m, "q"), nil)
	}
}

// scenario 64
func TestRunningCopyIsCancelled(t *testing.T) {
	t.Parallel()
	for name, returns := range map[string]error{"nil": nil, "an error": errors.New("interrupted"), "its cause": worqr.ErrCanceled} {
		t.Run("the handler returns "+name, func(t *testing.T) {
			t.Parallel()
			ns := redistest.Namespace(t)
			m, c := openAt(t, redistest.Shared(t).URL(), worqr.Config{Namespace: ns}), redistest.Shared(t).Conn(t)
			heard := hear(t, m, "q", events.Done)
			entered, causes := make(chan *worqr.Process, 10), make(chan error, 10)
			answered, finishOther := make(chan struct{}), make(chan struct{})
			cfg, settled := settling(patient())
			_, stop := run(t, m, handling(cfg, "q", 2, func(ctx context.Context, p *worqr.Process) error {
				entered <- p
				if string(p.Task()) != "u" {
					<-finishOther
					return context.Cause(ctx)
				}
				<-ctx.Done()
				causes <- context.Cause(ctx)
				<-answered // else Cancel could find it finished already
				return returns
			}))
			enqueue(t, m, "q", "u", "v")
			receive(t, "a run", entered)
			receive(t, "a run", entered)
			got, err := m.Cancel(t.Context(), "q", []byte("u"))
			close(answered)
			if err != nil || got.Waiting != 0 || len(got.Running) != 1 || string(got.Running[0].Task) != "u" {
				t.Fatalf("Cancel: %+v, %v; want one running", got, err)
			}
			if cause := receive(t, "the end of the context", causes); !errors.Is(cause, worqr.ErrCanceled) {
				t.Errorf("its context ended with %v, want ErrCanceled", cause)
			}
			// It is removed, whatever the handler returned, and nobody is told that it was
			// finished. The other one goes on.
			if got := receive(t, "what became of u", settled); got != "u canceled <nil>" {
				t.Errorf("OnSettle: %s, want u canceled", got)
			}
			close(finishOther)
			if e := receive(t, "a done event", heard); string(e.Task) != "v" {
				t.Errorf("heard %+v, want v done", e)
			}
			enqueue(t, m, "q", "marker")
			if p := receive(t, "a run", entered); string(p.Task()) != "marker" {
				t.Errorf("%q came back", p.Task())
			}
			receive(t, "a done event", heard)
			if err := stop(); err != nil {
				t.Error(err)
			}
			want(t, "keys after a drain", left(t, c, ns), nil)
		})
	}
}

// scenario 65
func TestCancelRacesATake(t *testing.T) {
	t.Parallel()
	ctx, m := t.Context(), open(t)
	w := start(t, m, patient(), "q")
	before, after := 0, 0
	for i, task := range numbered("t", 300) {
		enqueue(t, m, "q", task)
		var c worqr.Canceled
		var p *worqr.Process
		var cancelErr, takeErr error
		var both sync.WaitGroup
		gate := make(chan struct{})
		both.Go(func() {
			<-gate
			c, cancelErr = m.Cancel(ctx, "q", []byte(task))
		})
		both.Go(func() {
			<-gate
			for range i % 4 { // a cancel takes more than one command
				if _, err := m.Len(ctx, "q"); err != nil {
					t.Error(err)
				}
			}
			p, takeErr = w.Take(ctx, "q")
		})
		close(gate)
		both.Wait()
		switch {
		case cancelErr != nil:
			t.Fatal(cancelErr)
		case c.Waiting == 1:
			before++
			if !errors.Is(takeErr, worqr.ErrEmpty) {
				t.Fatalf("the task was removed, and Take gives %v, %v", p, takeErr)
			}
		default:
			after++
			if takeErr != nil || len(c.Running) != 1 || c.Running[0].ID != p.ID() {
				t.Fatalf("Cancel: %+v; Take: %v", c, takeErr)
			}
			if cause := ended(t, p.Context()); !errors.Is(cause, worqr.ErrCanceled) {
				t.Fatalf("its context ended with %v, want ErrCanceled", cause)
			}
			if err := p.Stop(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(waiting(t, m, "q")); n != 0 {
			t.Fatalf("%d tasks wait", n)
		}
	}
	t.Logf("%d cancels before the take, %d after it", before, after)
}

// scenario 66
func TestDeletedQueue(t *testing.T) {
	t.Parallel()
	ctx, ns := t.Context(), redistest.Namespace(t)
	m, c := openAt(t, redistest.Shared(t).URL(), worqr.Config{Namespace: ns}), redistest.Shared(t).Conn(t)
	heard := hear(t, m, "q", events.Delete)
	enqueue(t, m, "q", "t1", "t2", "t3", "t4", "t5", "t6")
	enqueue(t, m, "other", "o")
	a, b := start(t, m, patient(), "q"), start(t, m, patient(), "q")
	stopped, finished, returned := take(t, a, "q"), take(t, a, "q"), take(t, b, "q")
	toBack := take(t, a, "q")
	if n, err := m.DeleteQueue(ctx, "q"); n != 2 || err != nil {
		t.Fatalf("DeleteQueue: %d, %v; want the 2 that waited", n, err)
	}
	if e := receive(t, "the delete event", heard); e.Kind != events.Delete || e.Queue != "q" || e.Token <= toBack.Token() {
		t.Errorf("heard %+v, want the delete of q with a token above all that is in hand", e)
	}
	want(t, "tasks", waiting(t, m, "q"), nil)
	want(t, "tasks of another queue", waiting(t, m, "other"), []string{"o"})
	for _, p := range []*worqr.Process{stopped, finished, returned, toBack} {
		if p.Context().Err() != nil {
			t.Errorf("the context of %q has ended: %v", p.Task(), context.Cause(p.Context()))
		}
	}
	enqueue(t, m, "q", "new") // makes the queue again
	finish(t, finished)
	// scenario 105: what is put back does not come back
	if err := errors.Join(stopped.Stop(ctx), toBack.StopToBack(ctx), b.Fail(ctx)); err != nil {
		t.Error(err)
	}
	want(t, "tasks", waiting(t, m, "q"), []string{"new"})
	want(t, "in hand", held(t, m, "q"), nil)
	queues, err := m.Queues(ctx)
	if err != nil || !slices.Contains(queues, "q") {
		t.Errorf("queues: %v, %v; q is there again", queues, err)
	}
	p := take(t, a, "q")
	if err := p.Stop(ctx); err != nil { // enqueued after the delete, so it comes back
		t.Fatal(err)
	}
	finish(t, take(t, a, "q"))
	if n, err := m.DeleteQueue(ctx, "never"); n != 0 || err != nil {
		t.Errorf("delete of an unknown queue: %d, %v; want 0", n, err)
	}
	if err := a.Fail(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := m.DeleteQueue(ctx, "other"); err != nil {
		t.Fatal(err)
	}
	want(t, "keys after everybody has left", left(t, c, ns), nil)
	if queues, err := m.Queues(ctx); err != nil || slices.Contains(queues, "other") {
		t.Errorf("queues: %v, %v; a deleted queue that nobody serves is not listed", queues, err)
	}
}

// scenario 105
func TestCancelledTaskThatIsStoppedDoesNotComeBack(t *testing.T) {
	t.Parallel()
	ctx, ns := t.Context(), redistest.Namespace(t)
	m, conn := openAt(t, redistest.Shared(t).URL(), worqr.Config{Namespace: ns}), redistest.Shared(t).Conn(t)
	w := start(t, m, patient(), "q")
	puts := map[string]func(*worqr.Process) error{
		"Stop":       func(p *worqr.Process) error { return p.Stop(ctx) },
		"StopToBack": func(p *worqr.Process) error { return p.StopToBack(ctx) },
		"StopWork":   func(*worqr.Process) error { return errors.Join(w.StopWork(ctx, "q"), w.StartWork(ctx, "q")) },
	}
	for name, put := range puts {
		enqueue(t, m, "q", "u", "v")
		u, v := take(t, w, "q"), take(t, w, "q")
		if _, err := m.Cancel(ctx, "q", []byte("u")); err != nil {
			t.Fatal(err)
		}
		enqueue(t, m, "q", "w")
		if err := errors.Join(put(u), put(v)); err != nil {
			t.Fatal(err)
		}
		got := waiting(t, m, "q")
		slices.Sort(got)
		want(t, fmt.Sprintf("tasks after %s", name), got, []string{"v", "w"})
		enqueue(t, m, "q", "u") // a new one, which a stop does put back
		for range 3 {
			p := take(t, w, "q")
			if string(p.Task()) == "u" {
				if err := p.Stop(ctx); err != nil {
					t.Fatal(err)
				}
				p = take(t, w, "q")
			}
			finish(t, p)
		}
		want(t, "tasks", waiting(t, m, "q"), nil)
	}
	if err := w.Fail(ctx); err != nil {
		t.Fatal(err)
	}
	want(t, "keys after the worker has left", left(t, conn, ns), nil)
}
