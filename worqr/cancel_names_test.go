package worqr_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/worqr/worqr-go/events"
	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// scenario 122: Cancel names every copy in hand, also one that obeys at once.
func TestCancelNamesWhatObeysAtOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		persistent bool
		others     int // in hand besides
		rounds     int
	}{
		"one-shot": {rounds: 100}, "persistent": {persistent: true, rounds: 100}, "beside many": {others: 600, rounds: 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := open(t)
			started := make(chan *worqr.Process, c.others+1)
			cfg := patient() // holders hear by the hint alone
			cfg.Queues = map[string]worqr.Queue{"q": {
				Limit: c.others + 2, Persistent: c.persistent,
				Handler: worqr.HandlerFunc(func(ctx context.Context, p *worqr.Process) error {
					started <- p
					<-ctx.Done()
					return nil
				}),
			}}
			w, _ := run(t, m, cfg)
			add := func(tasks ...string) {
				t.Helper()
				if !c.persistent {
					enqueue(t, m, "q", tasks...)
				} else if _, err := m.Reconcile(t.Context(), "q", raw(tasks)); err != nil {
					t.Fatal(err)
				}
			}
			if c.others > 0 {
				add(numbered("other", c.others)...)
				for range c.others {
					receive(t, "a run", started)
				}
			}
			for i := range c.rounds {
				task := fmt.Sprint("t", i)
				add(task)
				p := receive(t, "a run", started)
				got, err := m.Cancel(t.Context(), "q", []byte(task))
				if err != nil || len(got.Running) != 1 {
					t.Fatalf("cancel %d: %+v, %v; want the one in hand", i, got, err)
				}
				want := worqr.ProcessInfo{ID: p.ID(), Queue: "q", Worker: w.ID(), Token: p.Token(), Task: p.Task()}
				if fmt.Sprint(got.Running[0]) != fmt.Sprint(want) {
					t.Errorf("cancel %d: %+v, want %+v", i, got.Running[0], want)
				}
				if cause := ended(t, p.Context()); !errors.Is(cause, worqr.ErrCanceled) && !errors.Is(cause, worqr.ErrSettled) {
					t.Errorf("its context ended with %v", cause)
				}
			}
		})
	}
}

// Where too many are in a queue to look for a copy in one step, they are listed, and its holder
// hears after.
func TestCancelListsWhereTooManyAreIn(t *testing.T) {
	t.Parallel()
	ns, c := redistest.Namespace(t), redistest.Shared(t).Conn(t)
	m := openAt(t, redistest.Shared(t).URL(), worqr.Config{Namespace: ns})
	w := start(t, m, patient(), "q")
	enqueue(t, m, "q", "t")
	p := take(t, w, "q")
	for _, member := range numbered("left.", 501) { // as many had left and were not reclaimed yet
		if _, err := c.Do("SADD", queuePrefix(ns, "q")+":returning", member); err != nil {
			t.Fatal(err)
		}
	}
	got, err := m.Cancel(t.Context(), "q", []byte("t"))
	if err != nil || len(got.Running) != 1 || got.Running[0].ID != p.ID() || got.Running[0].Token != p.Token() {
		t.Errorf("cancel: %+v, %v; want %s", got, err, p.ID())
	}
	if cause := ended(t, p.Context()); !errors.Is(cause, worqr.ErrCanceled) {
		t.Errorf("its context ended with %v", cause)
	}
}

// Events carry the beginning of a big task: twelve of 12 MiB would overflow what Redis keeps for a
// subscriber.
func TestEventsOfBigTasks(t *testing.T) {
	t.Parallel()
	m := open(t)
	heard := hear(t, m, "q", events.Done, events.Cancel)
	w := start(t, m, patient(), "q")
	big := strings.Repeat("x", 5000)
	enqueue(t, m, "q", big, big+"y", big, strings.Repeat("z", 4096))
	first, other, third := take(t, w, "q"), take(t, w, "q"), take(t, w, "q")
	finish(t, first)
	if e := receive(t, "a done event", heard); e.Size != 5000 || string(e.Task) != big[:4096] || e.Process != first.ID() || e.Sum != "" {
		t.Errorf("heard %d bytes of %d, of %s", len(e.Task), e.Size, e.Process)
	}
	if _, err := m.Cancel(t.Context(), "q", []byte(big)); err != nil {
		t.Fatal(err)
	}
	if e := receive(t, "the cancel event", heard); e.Size != 5000 || len(e.Task) != 4096 || len(e.Sum) != 40 {
		t.Errorf("heard %d bytes of %d, %q", len(e.Task), e.Size, e.Sum)
	}
	if cause := ended(t, third.Context()); !errors.Is(cause, worqr.ErrCanceled) {
		t.Errorf("the copy ended with %v, want ErrCanceled", cause)
	}
	if err := context.Cause(other.Context()); err != nil {
		t.Errorf("the one that begins alike has ended: %v", err)
	}
	finish(t, other)
	receive(t, "a done event", heard)
	finish(t, take(t, w, "q"))
	if e := receive(t, "a done event", heard); e.Size != 4096 || len(e.Task) != 4096 {
		t.Errorf("heard %d bytes of %d, want all 4096", len(e.Task), e.Size)
	}
}
