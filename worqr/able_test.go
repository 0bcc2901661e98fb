package worqr_test

import (
	"context"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// Connections that were wrapped without all that redigo's can do.
type (
	plainConn   struct{ redis.Conn }
	timeoutConn struct{ redis.ConnWithTimeout }
	contextConn struct{ redis.ConnWithContext }
)

// A connection on which a beat could not be given up in time, or nothing be awaited, is refused by
// name, and closed: without that its worker would lapse for ever.
func TestConnectionsThatCanDoTooLittleAreRefused(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	for name, c := range map[string]struct {
		wrap    func(redis.Conn) redis.Conn
		missing string
	}{
		"neither": {func(c redis.Conn) redis.Conn { return plainConn{c} }, "redis.ConnWithContext"},
		"timeout": {func(c redis.Conn) redis.Conn { return timeoutConn{c.(redis.ConnWithTimeout)} }, "redis.ConnWithContext"},
		"context": {func(c redis.Conn) redis.Conn { return contextConn{c.(redis.ConnWithContext)} }, "redis.ConnWithTimeout"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var made []redis.Conn
			m, err := worqr.New(&redis.Pool{DialContext: func(ctx context.Context) (redis.Conn, error) {
				conn, err := redis.DialURLContext(ctx, server.URL())
				if err != nil {
					return nil, err
				}
				made = append(made, conn)
				return c.wrap(conn), nil
			}}, worqr.Config{Namespace: redistest.Namespace(t), WaitForRedis: true})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), soon)
			defer cancel()
			says(t, "Check", m.Check(ctx), worqr.ErrConfig, "check", "dial", c.missing)
			w, err := m.NewWorker(worqr.WorkerConfig{})
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			says(t, "Start", w.Start(ctx), worqr.ErrConfig, "start worker", c.missing)
			if ctx.Err() != nil {
				t.Errorf("it took %v", time.Since(began))
			}
			if err := m.Close(); err != nil {
				t.Error(err)
			}
			for _, conn := range made {
				if conn.Err() == nil {
					t.Error("a connection was left open")
				}
			}
		})
	}
}
