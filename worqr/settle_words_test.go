package worqr_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/worqr/worqr-go/events"
	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// settling has a worker tell what became of its processes: "task word error".
func settling(cfg worqr.WorkerConfig) (worqr.WorkerConfig, <-chan string) {
	settled := make(chan string, 100)
	cfg.Hooks.OnSettle = func(p *worqr.Process, result worqr.Outcome, err error) {
		settled <- fmt.Sprint(string(p.Task()), " ", result, " ", err)
	}
	return cfg, settled
}

// One word means one thing, and `done` is told of nothing else than what was finished.
func TestSettledWords(t *testing.T) {
	t.Parallel()
	ns := redistest.Namespace(t)
	m, c := openAt(t, redistest.Shared(t).URL(), worqr.Config{Namespace: ns}), redistest.Shared(t).Conn(t)
	heard := hear(t, m, "q", events.Done)
	cfg, settled := settling(patient())
	w := start(t, m, cfg, "q")
	enqueue(t, m, "q", "finished", "stopped", "canceled", "removed", "kept")
	for _, step := range []struct {
		word string
		act  func(*worqr.Process) error
	}{
		{"done", func(p *worqr.Process) error { _, err := p.Finish(t.Context()); return err }},
		{"returned", func(p *worqr.Process) error { return p.StopToBack(t.Context()) }},
		{"dropped", func(p *worqr.Process) error {
			_, err := m.Cancel(t.Context(), "q", p.Task())
			return errors.Join(err, p.Stop(t.Context()))
		}},
		{"gone", func(p *worqr.Process) error {
			if _, err := c.Do("DEL", queuePrefix(ns, "q")+":process:"+p.ID()); err != nil {
				return err
			}
			_, err := p.Finish(t.Context())
			return err
		}},
		{"returned", func(*worqr.Process) error { return w.StopWork(t.Context(), "q") }},
	} {
		p := take(t, w, "q")
		if err := step.act(p); err != nil {
			t.Fatal(err)
		}
		if got, wanted := receive(t, "what became of it", settled), fmt.Sprint(string(p.Task()), " ", step.word, " <nil>"); got != wanted {
			t.Errorf("OnSettle: %s, want %s", got, wanted)
		}
	}
	if e := receive(t, "a done event", heard); string(e.Task) != "finished" {
		t.Errorf("heard that %q is done", e.Task)
	}
	if err := w.StartWork(t.Context(), "q"); err != nil {
		t.Fatal(err)
	}
	finish(t, take(t, w, "q"))
	if e := receive(t, "a done event", heard); string(e.Task) != "kept" {
		t.Errorf("heard that %q is done, want only what was finished", e.Task)
	}
}

// What a handler's return and a cancel make of a task.
func TestSettledWordsOfHandlers(t *testing.T) {
	t.Parallel()
	for _, persistent := range []bool{false, true} {
		t.Run(fmt.Sprintf("persistent=%v", persistent), func(t *testing.T) {
			t.Parallel()
			m := open(t)
			heard := hear(t, m, "q", events.Done)
			cfg, settled := settling(firm())
			entered := make(chan string, 10)
			failed := false
			cfg.Queues = map[string]worqr.Queue{"q": {
				Persistent: persistent,
				Handler: worqr.HandlerFunc(func(ctx context.Context, p *worqr.Process) error {
					entered <- string(p.Task())
					if string(p.Task()) == "canceled" {
						<-ctx.Done()
						return nil
					}
					if !failed {
						failed = true
						return errors.New("not this time")
					}
					if persistent {
						return worqr.ErrDone
					}
					return nil
				}),
			}}
			run(t, m, cfg)
			add := func(task string) {
				t.Helper()
				if !persistent {
					enqueue(t, m, "q", task)
				} else if _, err := m.Reconcile(t.Context(), "q", raw([]string{task})); err != nil {
					t.Fatal(err)
				}
			}
			add("canceled")
			receive(t, "a run", entered)
			if _, err := m.Cancel(t.Context(), "q", []byte("canceled")); err != nil {
				t.Fatal(err)
			}
			next := func(wanted string) {
				t.Helper()
				if got := receive(t, "what became of it", settled); got != wanted {
					t.Errorf("OnSettle: %s, want %s", got, wanted)
				}
			}
			next("canceled canceled <nil>")
			add("failing")
			next("failing returned <nil>")
			next("failing done <nil>")
			if e := receive(t, "a done event", heard); string(e.Task) != "failing" {
				t.Errorf("heard that %q is done", e.Task)
			}
		})
	}
}
