package pipeline_test

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/pipeline"
	"github.com/worqr/worqr-go/internal/redistest"
)

var errLeft = errors.New("the caller has left")

// An ended context frees its caller. The others on the connection get their replies, and the
// connection stays.
func TestEndedContextFreesTheCallerOnly(t *testing.T) {
	t.Parallel()
	proxy := redistest.NewProxy(t, redistest.Shared(t).URL())
	l := &line{to: byURL(proxy.URL())}
	p := open(t, pipeline.Config{Dial: l.dial, Connections: 1})
	echoes(t, p, "first")

	proxy.Freeze(redistest.ToClient)
	ctx, leave := context.WithCancelCause(t.Context())
	before, left, after := do(p, t.Context(), "ECHO", "before"), do(p, ctx, "ECHO", "left"), do(p, t.Context(), "ECHO", "after")
	redistest.Eventually(t, soon, "all are on their way", func() bool { return proxy.Commands()["ECHO"] == 4 })
	leave(errLeft)
	if a := left.answer(t); a.err != errLeft || !a.sent || a.reply != nil {
		t.Fatalf("the one who left: %+v", a)
	}
	proxy.Thaw()
	for _, r := range []*request{before, after} {
		if a := r.answer(t); a.err != nil || string(a.reply.([]byte)) != r.args[0] {
			t.Fatalf("%v: %+v", r.args, a)
		}
	}
	echoes(t, p, "last")
	if n := l.dialled.Load(); n != 1 {
		t.Fatalf("%d connections were dialled", n)
	}
}

// A request that is withdrawn before it was written is never sent: here while the connection is
// dialled.
func TestWithdrawnIsNeverSent(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	key := redistest.Namespace(t) + ":{q}:n"
	proxy := redistest.NewProxy(t, s.URL())
	l := &line{to: byURL(proxy.URL()), gate: make(chan struct{})}
	p := open(t, pipeline.Config{Dial: l.dial})

	ctx, leave := context.WithCancelCause(t.Context())
	left := do(p, ctx, "INCR", key)
	redistest.Eventually(t, soon, "it dials", func() bool { return l.dialled.Load() == 1 })
	leave(errLeft)
	if a := left.answer(t); a.err != errLeft || a.sent {
		t.Fatalf("the one who left: %+v", a)
	}
	close(l.gate)
	echoes(t, p, "next")
	if n := proxy.Commands()["INCR"]; n != 0 {
		t.Fatalf("%d were sent", n)
	}
	if v, err := s.Conn(t).Do("GET", key); v != nil || err != nil {
		t.Fatalf("the key holds %v, %v", v, err)
	}
}

// large is a request that signals when it is about to be written.
type large struct {
	*request
	writing chan struct{}
}

func (l large) Command() (string, []any, int) {
	close(l.writing)
	return l.request.Command()
}

// The same while the writer is stuck because the server does not read. The caller that leaves is
// not stuck.
func TestWithdrawnBehindAStuckWriter(t *testing.T) {
	t.Parallel()
	reads, seen := make(chan struct{}), make(chan []string, 10)
	dial, stop := listen(t, func(_ int, c net.Conn) {
		<-reads
		for r := range requests(c) {
			seen <- r
			io.WriteString(c, bulk("done"))
		}
	})
	defer stop()
	p := pipeline.New(pipeline.Config{Dial: dial, Timeout: soon, Connections: 1})
	defer p.Close()
	big := large{ask("ECHO", strings.Repeat("x", 32<<20)), make(chan struct{})}
	p.Send(big)
	<-big.writing // from here on the writer has it, and the next ones wait
	ctx, leave := context.WithCancelCause(t.Context())
	left, stays := do(p, ctx, "ECHO", "left"), do(p, t.Context(), "ECHO", "stays")
	leave(errLeft)
	if a := left.answer(t); a.err != errLeft || a.sent {
		t.Fatalf("the one who left: %+v", a)
	}
	close(reads)
	for _, r := range []*request{big.request, stays} {
		if a := r.answer(t); a.err != nil {
			t.Fatalf("one who stays: %v", a.err)
		}
	}
	if len(<-seen) != 2 || !slices.Equal(<-seen, []string{"ECHO", "stays"}) || len(seen) != 0 {
		t.Fatal("the server was sent something else")
	}
}

// A batch of which every request is withdrawn sends nothing. With one more request it sends that.
func TestAllWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen atomic.Int32
		l := &line{gate: make(chan struct{}), to: inMemory(func(n int, c net.Conn) {
			for r := range requests(c) {
				seen.Add(1)
				io.WriteString(c, bulk(r[1]))
			}
		})}
		p := pipeline.New(pipeline.Config{Dial: l.dial})
		defer p.Close()
		ended, end := context.WithCancelCause(t.Context())
		end(errLeft)
		_, sent, err := p.Do(ended, "ECHO", "left")
		synctest.Wait()
		if err != errLeft || sent || l.dialled.Load() != 0 {
			t.Fatalf("with an ended context: sent %v, %v, %d dials", sent, err, l.dialled.Load())
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var all []*request
		for range 100 {
			all = append(all, do(p, ctx, "ECHO", "left"))
		}
		for _, r := range all {
			if a := <-r.answers; !errors.Is(a.err, context.DeadlineExceeded) || a.sent {
				t.Fatalf("%+v", a)
			}
		}
		close(l.gate)
		synctest.Wait()
		echoes(t, p, "one more")
		if n := seen.Load(); n != 1 || l.dialled.Load() != 1 {
			t.Fatalf("%d requests arrived on %d connections", n, l.dialled.Load())
		}
	})
}

// When the reply is lost, the caller learns that the command may have run. It ran once or not at
// all, never twice.
func TestLostReply(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		action redistest.Action
		ran    int
	}{
		{"cut before", redistest.CutBefore, 0},
		{"cut after", redistest.CutAfter, 1},
		{"silence", redistest.DropReply, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			key := redistest.Namespace(t) + ":{q}:n"
			proxy := redistest.NewProxy(t, redistest.Shared(t).URL())
			p := open(t, pipeline.Config{Dial: byURL(proxy.URL()), Timeout: time.Second})
			echoes(t, p, "first")
			proxy.Intercept(func(cmd redistest.Command) redistest.Action {
				if cmd.Is("INCR") {
					return c.action
				}
				return redistest.Pass
			})
			reply, sent, err := p.Do(t.Context(), "INCR", key)
			var refusal redis.Error
			if err == nil || errors.As(err, &refusal) || !sent || reply != nil {
				t.Fatalf("%v, sent %v, %v", reply, sent, err)
			}
			proxy.Intercept(nil)
			if n, err := redis.Int(first(p.Do(t.Context(), "INCR", key))); err != nil || n != c.ran+1 {
				t.Fatalf("it had run %d times, want %d: %v", n-1, c.ran, err)
			}
			if n := proxy.Commands()["INCR"]; n != 2 {
				t.Fatalf("%d were sent, want 2", n)
			}
		})
	}
}
