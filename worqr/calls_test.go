package worqr_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/worqr/worqr-go/events"
	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// acts is what is done from within a hook, a callback or a handler. p is a process where there is
// one.
var acts = map[string]func(m *worqr.Mesh, w *worqr.Worker, p *worqr.Process) error{
	"Worker.Fail": func(_ *worqr.Mesh, w *worqr.Worker, _ *worqr.Process) error { return bounded(w.Fail) },
	"StopWork": func(_ *worqr.Mesh, w *worqr.Worker, _ *worqr.Process) error {
		return bounded(func(ctx context.Context) error { return errors.Join(w.StopWork(ctx, "q"), w.StartWork(ctx, "q")) })
	},
	"Drain": func(_ *worqr.Mesh, w *worqr.Worker, _ *worqr.Process) error { return bounded(w.Drain) },
	"Take": func(_ *worqr.Mesh, w *worqr.Worker, _ *worqr.Process) error {
		return bounded(func(ctx context.Context) error {
			p, err := w.Take(ctx, "q")
			if err == nil {
				err = p.Stop(ctx)
			}
			return err
		})
	},
	"Finish": func(_ *worqr.Mesh, _ *worqr.Worker, p *worqr.Process) error {
		return bounded(func(ctx context.Context) error {
			if p == nil {
				return nil
			}
			_, err := p.Finish(ctx)
			return err
		})
	},
	"Stop": func(_ *worqr.Mesh, _ *worqr.Worker, p *worqr.Process) error {
		return bounded(func(ctx context.Context) error {
			if p == nil {
				return nil
			}
			return p.Stop(ctx)
		})
	},
	"Close":  func(m *worqr.Mesh, _ *worqr.Worker, _ *worqr.Process) error { return m.Close() },
	"panic":  func(*worqr.Mesh, *worqr.Worker, *worqr.Process) error { panic("burst pipe") },
	"Goexit": func(*worqr.Mesh, *worqr.Worker, *worqr.Process) error { runtime.Goexit(); return nil },
}

func bounded(do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	return do(ctx)
}

// places is from where it is done: each has the first call of a hook, a callback or a handler do
// it.
var places = map[string]func(cfg *worqr.WorkerConfig, w *worqr.Worker, m *worqr.Mesh, do func(*worqr.Process)){
	"OnJoin": func(cfg *worqr.WorkerConfig, _ *worqr.Worker, _ *worqr.Mesh, do func(*worqr.Process)) {
		cfg.Hooks.OnJoin = func(string) { do(nil) }
	},
	"OnLeave": func(cfg *worqr.WorkerConfig, _ *worqr.Worker, _ *worqr.Mesh, do func(*worqr.Process)) {
		cfg.Hooks.OnLeave = func(string) { do(nil) }
	},
	"OnLapse": func(cfg *worqr.WorkerConfig, _ *worqr.Worker, _ *worqr.Mesh, do func(*worqr.Process)) {
		cfg.Hooks.OnLapse = func(string, error) { do(nil) }
	},
	"OnTake": func(cfg *worqr.WorkerConfig, _ *worqr.Worker, _ *worqr.Mesh, do func(*worqr.Process)) {
		cfg.Hooks.OnTake = do
	},
	"OnSettle": func(cfg *worqr.WorkerConfig, _ *worqr.Worker, _ *worqr.Mesh, do func(*worqr.Process)) {
		cfg.Hooks.OnSettle = func(p *worqr.Process, _ worqr.Outcome, _ error) { do(p) }
	},
	"OnReclaim": func(cfg *worqr.WorkerConfig, _ *worqr.Worker, _ *worqr.Mesh, do func(*worqr.Process)) {
		cfg.Hooks.OnReclaim = func(string, string, int) { do(nil) }
	},
	"OnReady": func(cfg *worqr.WorkerConfig, _ *worqr.Worker, _ *worqr.Mesh, do func(*worqr.Process)) {
		cfg.Hooks.OnReady = func() { do(nil) }
	},
	"OnError": func(cfg *worqr.WorkerConfig, _ *worqr.Worker, _ *worqr.Mesh, do func(*worqr.Process)) {
		cfg.Hooks.OnError = func(error) { do(nil) }
	},
	"Worker.On": func(_ *worqr.WorkerConfig, w *worqr.Worker, _ *worqr.Mesh, do func(*worqr.Process)) {
		if w != nil {
			_, _ = w.On("q", func(events.Event) { do(nil) })
		}
	},
	"Listener.On": func(_ *worqr.WorkerConfig, w *worqr.Worker, m *worqr.Mesh, do func(*worqr.Process)) {
		if w != nil {
			m.Listener().On("q", func(events.Event) { do(nil) })
		}
	},
	"Listener.OnMesh": func(_ *worqr.WorkerConfig, w *worqr.Worker, m *worqr.Mesh, do func(*worqr.Process)) {
		if w != nil {
			m.Listener().OnMesh(func(events.Event) { do(nil) })
		}
	},
	"the handler": func(cfg *worqr.WorkerConfig, _ *worqr.Worker, _ *worqr.Mesh, do func(*worqr.Process)) {
		q := cfg.Queues["q"]
		handler := q.Handler
		q.Handler = worqr.HandlerFunc(func(ctx context.Context, p *worqr.Process) error {
			do(p)
			return handler.Handle(ctx, p)
		})
		cfg.Queues["q"] = q
	},
}

// scenario 121: Fail, Stop, Close and their like from within each hook and callback, and a panic
// and Goexit in each: nothing hangs longer than its context, and the dispatcher goes on.
func TestWithinHooks(t *testing.T) {
	t.Parallel()
	for place, put := range places {
		for act, do := range acts {
			t.Run(place+" calls "+act, func(t *testing.T) {
				t.Parallel()
				withinHook(t, place, put, do, act == "Worker.Fail" || act == "Close")
			})
		}
	}
}

func withinHook(t *testing.T, place string, put func(*worqr.WorkerConfig, *worqr.Worker, *worqr.Mesh, func(*worqr.Process)),
	act func(*worqr.Mesh, *worqr.Worker, *worqr.Process) error, ends bool) {
	ns := redistest.Namespace(t)
	m := openAt(t, redistest.Shared(t).URL(), worqr.Config{Namespace: ns})
	bystander := openAt(t, redistest.Shared(t).URL(), worqr.Config{Namespace: ns})
	var w *worqr.Worker
	var once sync.Once
	returned, ran := make(chan error, 1), make(chan string, 1000)
	do := func(p *worqr.Process) {
		once.Do(func() {
			err := errors.New("it did not return")
			defer func() { returned <- err }()
			err = act(m, w, p)
		})
	}
	failed := false
	cfg := handling(steady(), "q", 1, func(_ context.Context, p *worqr.Process) error {
		ran <- string(p.Task())
		if !failed { // for OnError
			failed = true
			return errors.New("not this time")
		}
		return nil
	})
	cfg.Grace = 500 * time.Millisecond
	put(&cfg, nil, m, do)
	w, err := m.NewWorker(cfg)
	if err != nil {
		t.Fatal(err)
	}
	put(&cfg, w, m, do)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	enqueue(t, bystander, "q", "t")
	switch {
	case place == "OnReclaim":
		dead, proxy := mortal(t, ns)
		start(t, dead, steady(), "other")
		kill(proxy)
		defer revive(proxy)
	case place == "Listener.OnMesh":
		redistest.Eventually(t, soon, "it listens, or has heard of its own worker", func() bool {
			return m.Listener().Ready() || len(returned) > 0
		})
		start(t, bystander, steady())
	case place == "OnLapse":
		redistest.Eventually(t, soon, "it has joined", func() bool { return w.ID() != "" })
		if err := bystander.Fail(t.Context(), w.ID()); err != nil {
			t.Fatal(err)
		}
	case place == "OnLeave":
		receive(t, "a run", ran)
		cancel()
	}
	_ = receive(t, "the return of what was called", returned)
	if !ends && place != "OnLeave" { // then all of it goes on
		enqueue(t, bystander, "q", "marker")
		for receive(t, "a run", ran) != "marker" {
		}
	}
	cancel()
	_ = receive(t, "the end of Run", ended)
}

// scenario 123: Run returns after the last hook has returned.
func TestRunOutlastsItsHooks(t *testing.T) {
	t.Parallel()
	for _, hook := range []string{"OnLapse", "OnSettle", "OnReady"} {
		t.Run(hook, func(t *testing.T) {
			t.Parallel()
			m := open(t)
			var returned atomic.Bool
			entered, leave := make(chan struct{}), make(chan struct{})
			var once sync.Once
			block := func() {
				once.Do(func() {
					close(entered)
					<-leave
					returned.Store(true)
				})
			}
			ran := make(chan string, 10)
			cfg := handling(steady(), "q", 1, gather(ran))
			switch hook {
			case "OnLapse":
				cfg.Hooks.OnLapse = func(string, error) { block() }
			case "OnSettle":
				cfg.Hooks.OnSettle = func(*worqr.Process, worqr.Outcome, error) { block() }
			case "OnReady":
				cfg.Hooks.OnReady = block
			}
			w, err := m.NewWorker(cfg)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan bool, 1)
			go func() {
				_ = w.Run(ctx)
				ended <- returned.Load()
			}()
			enqueue(t, m, "q", "t")
			receive(t, "a run", ran)
			if hook == "OnLapse" {
				if err := m.Fail(t.Context(), w.ID()); err != nil {
					t.Fatal(err)
				}
			}
			receive(t, "the hook", entered)
			cancel()
			// It is given the time to return too soon: all that it does besides takes less.
			select {
			case <-ended:
				t.Error("Run has returned, and the hook has not")
			case <-time.After(time.Second):
			}
			close(leave)
			if !receive(t, "the end of Run", ended) {
				t.Error("Run returned before the hook")
			}
		})
	}
}
