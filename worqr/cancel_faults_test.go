package worqr_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// deaf opens a mesh whose notifications, and nothing else, come by way of a proxy.
func deaf(t testing.TB, ns string) (*worqr.Mesh, *redistest.Proxy) {
	t.Helper()
	url := redistest.Shared(t).URL()
	proxy := redistest.NewProxy(t, url)
	return openAt(t, url, worqr.Config{
		Namespace: ns,
		Subscribe: func(ctx context.Context) (redis.Conn, error) { return redis.DialURLContext(ctx, proxy.URL()) },
	}), proxy
}

// scenario 66a. It measures time: no other test runs beside its faults.
func TestCancelReachesAHolderWithoutSubscription(t *testing.T) {
	for name, fault := range map[string]func(*redistest.Proxy){
		"refused":             func(p *redistest.Proxy) { p.Refuse(true) },
		"silent":              func(p *redistest.Proxy) { p.Freeze(redistest.ToClient) },
		"silent towards both": func(p *redistest.Proxy) { p.Freeze(redistest.Both) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := redistest.Namespace(t)
			m, proxy := deaf(t, ns)
			const beats = 2 * time.Second // two of the default
			causes, entered := make(chan error, 2), make(chan struct{}, 2)
			run(t, m, handling(worqr.WorkerConfig{}, "q", 2, func(ctx context.Context, _ *worqr.Process) error {
				entered <- struct{}{}
				<-ctx.Done()
				causes <- context.Cause(ctx)
				return nil
			}))
			enqueue(t, m, "q", "u", "u")
			receive(t, "a run", entered)
			receive(t, "a run", entered)
			redistest.Eventually(t, soon, "the subscription", m.Listener().Ready)
			fault(proxy)
			if _, err := m.Cancel(t.Context(), "q", []byte("u")); err != nil {
				t.Fatal(err)
			}
			canceled := time.Now()
			for range 2 {
				if cause := receive(t, "the end of the context", causes); !errors.Is(cause, worqr.ErrCanceled) {
					t.Errorf("its context ended with %v, want ErrCanceled", cause)
				}
			}
			if took := time.Since(canceled); took > beats {
				t.Errorf("it took %v, want %v at most", took, beats)
			} else {
				t.Logf("it took %v", took)
			}
			proxy.Thaw()
		})
	}
}

// scenario 66a: what is heard of while a take is under way concerns what the take brings
func TestCancelReachesWhatATakeIsAboutToBring(t *testing.T) {
	t.Parallel()
	ns := redistest.Namespace(t)
	watcher := openAt(t, redistest.Shared(t).URL(), worqr.Config{Namespace: ns})
	m, proxy := mortal(t, ns)
	w := start(t, m, patient(), "q")
	redistest.Eventually(t, soon, "the subscription", m.Listener().Ready)
	enqueue(t, watcher, "q", "u")
	// The take has run and its answer waits while the cancel is told.
	proxy.Intercept(func(c redistest.Command) redistest.Action {
		if scriptOf(c) == "take" {
			return redistest.DropReply // it is asked for again when its time is up
		}
		return redistest.Pass
	})
	taken := make(chan *worqr.Process, 1)
	go func() {
		p, err := w.Take(t.Context(), "q")
		if err != nil {
			t.Error(err)
		}
		taken <- p
	}()
	redistest.Eventually(t, soon, "the take has run", func() bool { return len(held(t, watcher, "q")) == 1 })
	if c, err := watcher.Cancel(t.Context(), "q", []byte("u")); err != nil || len(c.Running) != 1 {
		t.Fatalf("Cancel: %+v, %v; want one running", c, err)
	}
	proxy.Intercept(nil)
	p := receive(t, "the take", taken)
	if p == nil {
		t.FailNow()
	}
	if cause := ended(t, p.Context()); !errors.Is(cause, worqr.ErrCanceled) {
		t.Errorf("its context ended with %v, want ErrCanceled", cause)
	}
	if err := p.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	want(t, "tasks", waiting(t, watcher, "q"), nil)
}

// scenario 66b, scenario 105: the holder dies before it hears of the cancel, or of the delete
func TestDeadHoldersCancelledTaskIsDropped(t *testing.T) {
	t.Parallel()
	for name, cancel := range map[string]func(m *worqr.Mesh) error{
		"canceled": func(m *worqr.Mesh) error {
			c, err := m.Cancel(context.Background(), "q", []byte("u"))
			if err == nil && len(c.Running) != 2 {
				err = errors.New("the copies in hand were not found")
			}
			return err
		},
		"deleted": func(m *worqr.Mesh) error {
			_, err := m.DeleteQueue(context.Background(), "q")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := redistest.Namespace(t)
			watcher := openAt(t, redistest.Shared(t).URL(), worqr.Config{Namespace: ns})
			m, proxy := mortal(t, ns)
			doomed := start(t, m, steady(), "q")
			enqueue(t, watcher, "q", "u", "v", "u")
			for range 3 {
				take(t, doomed, "q")
			}
			id := doomed.ID()
			proxy.Refuse(true)
			if err := cancel(watcher); err != nil {
				t.Fatal(err)
			}
			enqueue(t, watcher, "q", "u") // a new one
			returned := make(chan int, 10)
			cfg := steady()
			cfg.Hooks.OnReclaim = func(worker, _ string, n int) {
				if worker == id {
					returned <- n
				}
			}
			ran := make(chan string, 10)
			run(t, watcher, handling(cfg, "q2", 1, gather(ran)))
			n := receive(t, "the reclaim", returned)
			wanted := []string{"v", "u"}
			if name == "deleted" {
				wanted = wanted[1:]
			}
			want(t, "tasks", waiting(t, watcher, "q"), wanted)
			if n != len(wanted)-1 {
				t.Errorf("OnReclaim was told that %d came back, want %d", n, len(wanted)-1)
			}
			want(t, "in hand", held(t, watcher, "q"), nil)
		})
	}
}
