package subscribe

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"go.uber.org/goleak"

	"github.com/worqr/worqr-go/events"
)

// Not parallel: it looks at all goroutines of the process.
func TestRunLeavesNothingBehind(t *testing.T) {
	s := shared(t)
	before := goleak.IgnoreCurrent()
	r := listen(t, s)
	entered, release := make(chan struct{}), make(chan struct{})
	calls := make(chan int, 10)
	r.On("q", func(e events.Event) {
		calls <- e.Count
		if e.Count == 1 {
			close(entered)
			<-release
		}
	}, events.Work)
	hint := make(chan int, 10)
	r.OnHint("q", events.Work, func(e events.Event) { hint <- e.Count })
	r.awaitReady()
	for _, n := range []string{"1", "2", "3"} {
		r.publish("q:work", n)
		await(t, "the hint", hint)
	}
	await(t, "the callback to begin", entered)
	brief, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := r.Run(brief); err != ErrRunning {
		t.Errorf("a second Run returned %v, want ErrRunning", err)
	}

	stopped := make(chan struct{})
	go func() { r.stop(); close(stopped) }()
	until(t, "the connection to be closed", func() bool { return !r.connected() && !r.Ready() })
	select {
	case <-stopped:
		t.Error("Run returned before its callback")
	default:
	}
	if err := r.Run(brief); err != ErrRunning {
		t.Errorf("Run before the first has returned gives %v, want ErrRunning", err)
	}
	close(release)
	await(t, "Run to return", stopped)
	if len(calls) != 1 {
		t.Errorf("%d calls, want 1: none begins once the context has ended", len(calls))
	}
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}

	r.run() // what was registered is still wanted
	r.awaitReady()
	r.publish("q:work", "4")
	await(t, "the event of the second Run as a hint", hint)
	for _, want := range []int{1, 4} {
		if n := await(t, "the event of the second Run", calls); n != want {
			t.Errorf("got %d, want %d", n, want)
		}
	}
	r.stop()
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
}

func TestRunWithEndedContext(t *testing.T) {
	t.Parallel()
	r := listen(t, shared(t))
	r.stop()
	r.On("q", func(events.Event) {})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := r.Run(ctx); err != nil || r.dials.Load() != 0 {
		t.Errorf("got %v after %d dials", err, r.dials.Load())
	}
}

// Run ends at once wherever it is: dialling, asking, pausing, or with a connection that has gone
// silent.
func TestRunEndsWhereverItIs(t *testing.T) {
	t.Parallel()
	s := shared(t)
	hang := make(chan struct{}, 10)
	for name, adjust := range map[string]func(*Config){
		"dialling": func(c *Config) {
			c.Dial = func(ctx context.Context) (redis.Conn, error) {
				if end, bounded := ctx.Deadline(); !bounded || time.Until(end) > 2*c.Ping {
					t.Errorf("a dial may take until %v", end)
				}
				hang <- struct{}{}
				<-ctx.Done()
				return nil, ctx.Err()
			}
		},
		"asking": func(c *Config) {
			c.Database = func(ctx context.Context) (int, error) {
				hang <- struct{}{}
				<-ctx.Done()
				return 0, ctx.Err()
			}
		},
		"too late": func(c *Config) { // a dial that succeeds after the end
			dial := c.Dial
			c.Dial = func(ctx context.Context) (redis.Conn, error) {
				hang <- struct{}{}
				<-ctx.Done()
				return dial(context.Background())
			}
		},
		"silent": func(c *Config) {
			relay := newRelay(t, s.addr())
			c.Dial = func(ctx context.Context) (redis.Conn, error) {
				conn, err := redis.DialContext(ctx, "tcp", relay.Addr().String())
				relay.freeze()
				hang <- struct{}{}
				return conn, err
			}
		},
	} {
		r := listen(t, s, adjust)
		r.On("q", func(events.Event) {})
		await(t, name, hang)
		r.stop()
		if strings.Contains(r.logs.text(), "context canceled") {
			t.Errorf("%s: the log makes an error of a wanted end: %s", name, r.logs.text())
		}
		if name == "too late" {
			until(t, "the late connection to be closed", func() bool { return !r.connected() })
		}
	}
	r := listen(t, s, func(c *Config) {
		c.Dial = func(context.Context) (redis.Conn, error) { return nil, errors.New("no route") }
	})
	r.On("q", func(events.Event) {})
	until(t, "a long pause", func() bool {
		lines := r.logs.lines(t, "not connected")
		return len(lines) > 2
	})
	r.stop()
}

// A user without the right to the channels: told what to do, asked again at a growing pace, and
// ready once the right is there.
func TestRefusedChannels(t *testing.T) {
	t.Parallel()
	s := private(t)
	r := listen(t, s, func(c *Config) {
		c.Dial = func(ctx context.Context) (redis.Conn, error) {
			return redis.DialContext(ctx, "tcp", s.addr(), redis.DialUsername("w"), redis.DialPassword("hunter2"))
		}
	})
	r.do("ACL", "SETUSER", "w", "on", ">hunter2", "resetchannels", "+@all")
	ready, got := watch(r)
	until(t, "three refusals", func() bool { return len(r.logs.lines(t, "not connected")) >= 3 })
	lines := r.logs.lines(t, "not connected")
	for i, line := range lines {
		least := float64(minPause.Milliseconds()) * float64(int(1)<<i)
		if pause := line["retry_in"].(float64); pause < min(least, 2500) {
			t.Errorf("the pause after refusal %d is %v ms, want at least %v", i, pause, least)
		}
		if e, a := line["error"].(string), line["advice"].(string); !strings.Contains(e, "NOPERM") || !strings.Contains(a, "&"+r.cfg.Namespace+"@0:*") {
			t.Errorf("the log says %q, %q", e, a)
		}
	}
	if r.Ready() || len(ready) > 0 {
		t.Error("ready although refused")
	}
	r.do("ACL", "SETUSER", "w", "&"+r.cfg.Namespace+"@0:*")
	works(r, ready, got, 1)
	if strings.Contains(r.logs.text(), "hunter2") {
		t.Error("the log holds the password")
	}
}

func TestManyChannels(t *testing.T) {
	t.Parallel()
	const queues = 1201
	r := listen(t, shared(t))
	r.stop() // so that the connection begins with all of them
	ready := make(chan struct{}, 10)
	r.OnReady(func() { ready <- struct{}{} })
	got := make(chan events.Event, 1)
	var stops []func()
	for i := range queues {
		stops = append(stops, r.On(strings.Repeat("x", i%7)+string(rune('A'+i)), func(e events.Event) { got <- e }, events.Done))
	}
	keep := r.On("last", func(e events.Event) { got <- e }, events.Work)
	defer keep()
	r.run()
	await(t, "OnReady", ready)
	if !r.Ready() || len(ready) > 0 {
		t.Errorf("Ready is %v, OnReady was called %d times too often", r.Ready(), len(ready))
	}
	r.publish("last:work", "1")
	await(t, "the event", got)
	for _, stop := range stops {
		stop()
	}
	until(t, "UNSUBSCRIBE of all others", func() bool {
		v, err := redis.Values(r.do("PUBSUB", "CHANNELS", r.channel("*")), nil)
		return err == nil && len(v) == 1
	})
}
