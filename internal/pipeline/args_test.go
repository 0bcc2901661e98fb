package pipeline_test

import (
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/pipeline"
	"github.com/worqr/worqr-go/internal/redistest"
)

// sending counts the writes in progress, each of which reads arguments. Its writes go on for a
// while after the end of a connection.
type sending struct {
	redis.ConnWithTimeout
	now *atomic.Int32
}

func (s sending) Send(name string, args ...any) error {
	s.now.Add(1)
	defer s.now.Add(-1)
	err := s.ConnWithTimeout.Send(name, args...)
	if err != nil {
		pass(50 * time.Millisecond)
	}
	return err
}

// Once Do has returned, its arguments belong to the caller again, however it ended; the only
// exception is a context that ended. Here the connection breaks in the middle of a request that is
// larger than all buffers.
func TestArgumentsAreNotReadLate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		play func(c net.Conn, returned <-chan struct{})
	}{
		{"cut", func(c net.Conn, _ <-chan struct{}) { io.CopyN(io.Discard, c, 1<<20) }},
		{"no answer", func(_ net.Conn, returned <-chan struct{}) { <-returned }},
		// As Redis does with an argument that is too long. Do may wait for the end of the write.
		{"refused at its beginning", func(c net.Conn, returned <-chan struct{}) {
			early(c, "-ERR Protocol error: invalid bulk length\r\n", returned, 200*time.Millisecond)
		}},
		{"answered at its beginning", func(c net.Conn, returned <-chan struct{}) {
			early(c, "+OK\r\n", returned, 200*time.Millisecond)
		}},
		// The server neither reads on nor ends the connection: the time-out has to end it.
		{"refused, and silence", func(c net.Conn, returned <-chan struct{}) {
			early(c, "-ERR Protocol error: invalid bulk length\r\n", returned, soon)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			returned := make(chan struct{})
			dial, stop := listen(t, func(n int, conn net.Conn) {
				if n > 1 {
					served(n, conn)
					return
				}
				c.play(conn, returned)
			})
			defer stop()
			var now atomic.Int32
			p := pipeline.New(pipeline.Config{Timeout: time.Second, Connections: 1, Dial: func(ctx context.Context) (redis.Conn, error) {
				conn, err := dial(ctx)
				if err != nil {
					return nil, err
				}
				return sending{conn.(redis.ConnWithTimeout), &now}, nil
			}})
			defer p.Close()
			text := make([]byte, 32<<20)
			start := time.Now()
			reply, sent, err := p.Do(context.Background(), "ECHO", text)
			if d := time.Since(start); d > soon/2 {
				t.Errorf("the time-out is a second, and it took %v", d)
			}
			if n := now.Load(); n != 0 {
				t.Error("the argument is still being read")
			}
			clear(text) // the race detector sees a reader
			close(returned)
			if !sent || err == nil && reply != "OK" {
				t.Errorf("%v, sent %v, %v", reply, sent, err)
			}
			redistest.Eventually(t, soon, "it goes on", func() bool {
				_, _, err := p.Do(context.Background(), "ECHO", "next") // the loss may not be known yet
				return err == nil
			})
		})
	}
}

// early replies before it has read the request.
func early(c net.Conn, reply string, returned <-chan struct{}, limit time.Duration) {
	io.CopyN(io.Discard, c, 100)
	io.WriteString(c, reply)
	select {
	case <-returned:
	case <-time.After(limit):
	}
}

// A real Redis refuses what is too long at its beginning, and ends the connection.
func TestTooLargeForRedis(t *testing.T) {
	t.Parallel()
	p := open(t, pipeline.Config{Dial: byURL(redistest.Own(t, "--proto-max-bulk-len", "1mb").URL()), Timeout: soon, Connections: 1})
	text := make([]byte, 32<<20)
	for range 5 {
		if _, sent, err := p.Do(context.Background(), "ECHO", text); err == nil || !sent {
			t.Fatalf("sent %v, %v", sent, err)
		}
		clear(text)
		// The loss may not be known yet: another attempt may be needed.
		redistest.Eventually(t, soon, "it goes on", func() bool {
			_, _, err := p.Do(context.Background(), "ECHO", "next")
			return err == nil
		})
	}
}
