package subscribe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/events"
)

func TestBackoff(t *testing.T) {
	t.Parallel()
	low := minPause
	for failures := range 100 {
		for range 50 {
			if d := backoff(failures); d < low || d >= 2*low || d > maxPause {
				t.Fatalf("after %d failures the pause is %v, want %v to %v", failures, d, low, min(2*low, maxPause))
			}
		}
		low = min(2*low, maxPause/2)
	}
}

// A connection that was ready for as long as Ping begins the pauses anew; one that was not does
// not.
func TestBackoffStartsOver(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ping time.Duration
		low  float64 // of the last pause, in ms
		high float64
	}{{time.Second, 50, 100}, {time.Hour, 400, 800}} {
		s := shared(t)
		refuse := make(chan struct{}, 3)
		for range 3 {
			refuse <- struct{}{}
		}
		r := listen(t, s, func(cfg *Config) {
			dial := cfg.Dial
			cfg.Ping = c.ping
			cfg.Dial = func(ctx context.Context) (redis.Conn, error) {
				select {
				case <-refuse:
					return nil, errors.New("no route")
				default:
					return dial(ctx)
				}
			}
		})
		r.On("q", func(events.Event) {})
		r.awaitReady()
		since := time.Now()
		until(t, "more than the shorter Ping", func() bool { return time.Since(since) > 1050*time.Millisecond })
		r.do("CLIENT", "KILL", "ID", r.id())
		until(t, "the fourth pause", func() bool { return len(r.logs.lines(t, "not connected")) == 4 })
		if p := r.logs.lines(t, "not connected")[3]["retry_in"].(float64); p < c.low || p > c.high {
			t.Errorf("Ping %v: the pause is %v ms, want %v to %v", c.ping, p, c.low, c.high)
		}
	}
}

func TestCause(t *testing.T) {
	t.Parallel()
	why, closed := errors.New("nothing arrived"), fmt.Errorf("send: %w", net.ErrClosed)
	for _, c := range []struct{ first, second, want error }{
		{why, closed, why}, {closed, why, why}, {why, nil, why}, {nil, why, why},
		{errIdle, closed, errIdle}, {closed, nil, closed}, {nil, nil, nil},
	} {
		if got := cause(c.first, c.second); got != c.want {
			t.Errorf("cause(%v, %v) is %v", c.first, c.second, got)
		}
	}
}

// The errors of redigo and net/url hold the URL that they cannot read.
func TestLogHoldsNoURL(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"redis://:hunter2@host:port/0", "redis:hunter2@host", "hunter2\x7f", "%zz://:hunter2@host", "http://:hunter2@host", "redis://:hunter2@host:1/x"} {
		r := listen(t, shared(t), func(c *Config) {
			c.Dial = func(ctx context.Context) (redis.Conn, error) { return redis.DialURLContext(ctx, url) }
		})
		r.On("q", func(events.Event) {})
		until(t, "a failed dial", func() bool { return len(r.logs.lines(t, "not connected")) > 0 })
		if strings.Contains(r.logs.text(), "hunter2") {
			t.Errorf("%s: the log says %s", url, r.logs.text())
		}
	}
	err := errors.New("dial tcp 127.0.0.1:6379: connect: connection refused")
	if got := loggable(err); got != err.Error() {
		t.Errorf("withheld %q", got)
	}
}
