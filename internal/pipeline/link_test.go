package pipeline_test

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/pipeline"
	"github.com/worqr/worqr-go/internal/redistest"
)

// bubble runs a test in virtual time. At its end the pipe is closed and every goroutine of it has
// to end.
func bubble(t *testing.T, cfg pipeline.Config, play play, test func(t *testing.T, p *pipeline.Pipe, l *line)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := &line{to: inMemory(play)}
		cfg.Dial = l.dial
		p := pipeline.New(cfg)
		defer p.Close()
		test(t, p, l)
	})
}

// A reply that nobody asked for breaks the connection, and no caller gets it.
func TestUnaskedReply(t *testing.T) {
	for _, extra := range []string{"$5\r\nextra\r\n", "-ODD extra\r\n", "*1\r\n:1\r\n"} {
		bubble(t, pipeline.Config{}, func(n int, c net.Conn) {
			for r := range requests(c) {
				io.WriteString(c, bulk(r[1]))
				if n == 1 {
					io.WriteString(c, extra)
				}
			}
		}, func(t *testing.T, p *pipeline.Pipe, l *line) {
			echoes(t, p, "first")
			synctest.Wait()
			for range 3 {
				echoes(t, p, "next")
			}
			if n := l.dialled.Load(); n != 2 {
				t.Fatalf("%d connections were dialled", n)
			}
		})
	}
}

// A reply that is not RESP breaks it too.
func TestNoReply(t *testing.T) {
	bubble(t, pipeline.Config{}, func(n int, c net.Conn) {
		if n > 1 {
			served(n, c)
		}
		for range requests(c) {
			io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
		}
	}, func(t *testing.T, p *pipeline.Pipe, _ *line) {
		if reply, sent, err := p.Do(t.Context(), "ECHO", "x"); err == nil || !sent || reply != nil {
			t.Fatalf("%v, sent %v, %v", reply, sent, err)
		}
		echoes(t, p, "next")
	})
}

// Without a reply within Timeout the connection breaks, for all that waits on it. What counts is
// the oldest request that is flying.
func TestTimeout(t *testing.T) {
	bubble(t, pipeline.Config{Timeout: 3 * time.Second, Connections: 1}, served, func(t *testing.T, p *pipeline.Pipe, l *line) {
		for range 3 { // two seconds each, one after the other
			if _, _, err := p.Do(t.Context(), "SLEEP", "2s"); err != nil {
				t.Fatal(err)
			}
		}
		pass(time.Hour) // nothing is flying, so nothing is late
		echoes(t, p, "after the quiet")
		pass(2 * time.Second) // a timer may be armed from before
		start := time.Now()
		late := do(p, t.Context(), "SILENCE")
		pass(time.Second)
		behind := do(p, t.Context(), "ECHO", "behind it")
		for _, r := range []*request{late, behind} {
			a := <-r.answers
			if a.err == nil || !strings.Contains(a.err.Error(), "3s") || !a.sent || time.Since(start) != 3*time.Second {
				t.Fatalf("%s: %v, sent %v, after %v", r.name, a.err, a.sent, time.Since(start))
			}
		}
		echoes(t, p, "next")
		if n := l.dialled.Load(); n != 2 {
			t.Fatalf("%d connections were dialled", n)
		}
	})
}

// A reply to an older request does not restart the clock of a younger one.
func TestTimeoutOfTheOldest(t *testing.T) {
	bubble(t, pipeline.Config{Timeout: 3 * time.Second, Connections: 1}, served, func(t *testing.T, p *pipeline.Pipe, l *line) {
		start := time.Now()
		one := do(p, t.Context(), "SLEEP", "2s")
		pass(time.Second)
		two := do(p, t.Context(), "SILENCE") // written at 1 s, begun at 2 s
		pass(500 * time.Millisecond)
		three := do(p, t.Context(), "ECHO", "x")
		if a := <-one.answers; a.err != nil || time.Since(start) != 2*time.Second {
			t.Fatalf("the first: %v after %v", a.err, time.Since(start))
		}
		for _, r := range []*request{two, three} {
			if a := <-r.answers; a.err == nil || !a.sent || time.Since(start) != 4*time.Second {
				t.Fatalf("%s: %v, sent %v, after %v", r.name, a.err, a.sent, time.Since(start))
			}
		}
		echoes(t, p, "next")
		if n := l.dialled.Load(); n != 2 {
			t.Fatalf("%d connections were dialled", n)
		}
	})
}

// A connection survives any idle time, also one without ConnWithTimeout, whose own read time-out is
// a second here.
func TestIdle(t *testing.T) {
	for _, wrap := range []func(dialler) dialler{func(d dialler) dialler { return d }, hide} {
		synctest.Test(t, func(t *testing.T) {
			l := &line{to: wrap(inMemory(served))}
			p := pipeline.New(pipeline.Config{Dial: l.dial})
			defer p.Close()
			for range 3 {
				echoes(t, p, "x")
				pass(time.Hour)
			}
			if n := l.dialled.Load(); n != 1 {
				t.Fatalf("%d connections were dialled", n)
			}
		})
	}
}

// A connection without ConnWithTimeout works under load and breaks like any other; its own time-out
// breaks it.
func TestHidden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &line{to: hide(inMemory(served))}
		p := pipeline.New(pipeline.Config{Dial: l.dial, Timeout: time.Minute, Connections: 1})
		defer p.Close()
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				for range 20 {
					echoes(t, p, "x")
				}
			})
		}
		all.Wait()
		start := time.Now()
		if _, sent, err := p.Do(t.Context(), "SILENCE"); err == nil || !sent || time.Since(start) != time.Second {
			t.Fatalf("sent %v, %v, after %v", sent, err, time.Since(start))
		}
		echoes(t, p, "next")
		if n := l.dialled.Load(); n != 2 {
			t.Fatalf("%d connections were dialled", n)
		}
	})
}

// ending signals when its connection is given up.
type ending struct {
	redis.ConnWithTimeout
	ended chan struct{}
	once  sync.Once
}

func (e *ending) Close() error {
	e.once.Do(func() { close(e.ended) })
	return e.ConnWithTimeout.Close()
}

// A connection that the server closes while it is idle is known before the next request, which
// succeeds at once.
func TestClosedWhileIdle(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	ended := make(chan struct{}, 10)
	dial := byURL(s.URL())
	p := open(t, pipeline.Config{Dial: func(ctx context.Context) (redis.Conn, error) {
		c, err := dial(ctx)
		if err != nil {
			return nil, err
		}
		e := &ending{ConnWithTimeout: c.(redis.ConnWithTimeout), ended: make(chan struct{})}
		go func() { <-e.ended; ended <- struct{}{} }()
		return e, nil
	}})
	direct := s.Conn(t)
	for range 5 {
		id, err := redis.Int64(first(p.Do(t.Context(), "CLIENT", "ID")))
		if err != nil {
			t.Fatalf("the first attempt after a loss: %v", err)
		}
		if n, err := redis.Int(direct.Do("CLIENT", "KILL", "ID", id)); n != 1 {
			t.Fatalf("CLIENT KILL: %d, %v", n, err)
		}
		select {
		case <-ended:
		case <-time.After(soon):
			t.Fatal("the loss was not noticed")
		}
	}
}

// lingering is a connection whose Close takes its time, as TLS does when the other side is gone.
type lingering struct {
	redis.ConnWithTimeout
	closing, let chan struct{}
}

func (l lingering) Close() error {
	close(l.closing)
	<-l.let
	return l.ConnWithTimeout.Close()
}

// While a broken connection is being closed, the other requests are sent over a new one.
func TestSendDoesNotWaitForAClose(t *testing.T) {
	t.Parallel()
	dial, stop := listen(t, served)
	defer stop()
	closing, let := make(chan struct{}), make(chan struct{})
	l := &line{}
	l.to = func(ctx context.Context) (redis.Conn, error) {
		c, err := dial(ctx)
		if err != nil || l.dialled.Load() > 1 {
			return c, err
		}
		return lingering{c.(redis.ConnWithTimeout), closing, let}, nil
	}
	p := pipeline.New(pipeline.Config{Dial: l.dial, Timeout: 50 * time.Millisecond, Connections: 1})
	defer p.Close()
	lost := do(p, t.Context(), "SILENCE")
	<-closing
	next := do(p, t.Context(), "ECHO", "next")
	if a := next.answer(t); a.err != nil {
		t.Errorf("%+v", a)
	}
	close(let)
	if a := lost.answer(t); a.err == nil || !a.sent {
		t.Errorf("%+v", a)
	}
}
