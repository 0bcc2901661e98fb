package worqr_test

import (
	"bytes"
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// unheard dials so that the end of the last presence connection is not heard of, as when it has
// ended on the server alone.
type unheard struct {
	url      string
	presence atomic.Pointer[quiet]
	refuses  atomic.Bool // any further presence connection
}

func (u *unheard) dial(ctx context.Context) (redis.Conn, error) {
	return redis.DialURLContext(ctx, u.url, redis.DialContextFunc(func(ctx context.Context, network, address string) (net.Conn, error) {
		var d net.Dialer
		c, err := d.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &quiet{Conn: c, of: u, closed: make(chan struct{})}, nil
	}))
}

// quiet is a connection that tells nothing of its end.
type quiet struct {
	net.Conn
	of     *unheard
	hushed atomic.Bool
	once   sync.Once
	closed chan struct{}
}

func (q *quiet) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("SUBSCRIBE")) && bytes.Contains(b, []byte(":here:")) {
		if q.of.refuses.Load() {
			_ = q.Close()
			return 0, net.ErrClosed
		}
		q.of.presence.Store(q)
	}
	return q.Conn.Write(b)
}

func (q *quiet) Read(b []byte) (int, error) {
	n, err := q.Conn.Read(b)
	if err != nil && q.hushed.Load() {
		<-q.closed
	}
	return n, err
}

func (q *quiet) Close() error {
	q.once.Do(func() { close(q.closed) })
	return q.Conn.Close()
}

// A worker whose presence connection has ended on the server alone makes a new one as soon as it
// hears of that: from the answer that others have taken over, or because it watches and does not
// see itself. The next ping is a minute away.
func TestAWorkerThatIsNotSeenAnyMoreIsSeenAgain(t *testing.T) {
	for name, watches := range map[string]bool{"it is taken over": false, "it watches": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns, url := redistest.Namespace(t), redistest.Shared(t).URL()
			c := redistest.Shared(t).Conn(t)
			seen := func(id string) func() bool {
				return func() bool {
					names, err := redis.Strings(c.Do("PUBSUB", "CHANNELS", ns+"*:here:"+id))
					if err != nil || len(names) != 1 {
						return false
					}
					watched, err := redis.Bool(c.Do("SISMEMBER", "{"+ns+"}:present", id))
					return err == nil && watched
				}
			}
			w := &waiters{told: make(chan *delivery, 10)}
			dials := map[string]*unheard{}
			for range 2 {
				u := &unheard{url: url}
				pool := &redis.Pool{DialContext: u.dial}
				t.Cleanup(func() { pool.Close() })
				m, err := worqr.New(pool, worqr.Config{Namespace: ns})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { m.Close() })
				one, _ := run(t, m, w.serve("any", 1, 0))
				redistest.Eventually(t, soon, "it is in the mesh", func() bool { return one.ID() != "" })
				redistest.Eventually(t, soon, "it is seen", seen(one.ID()))
				dials[one.ID()] = u
			}
			var id string
			redistest.Eventually(t, soon, "one watches, and one is the deputy", func() bool {
				watcher, _ := redis.String(c.Do("GET", "{"+ns+"}:watch"))
				deputy, _ := redis.String(c.Do("GET", "{"+ns+"}:deputy"))
				if id = deputy; watches {
					id = watcher
				}
				return watcher != "" && deputy != "" && watcher != deputy
			})
			q := dials[id].presence.Load()
			q.hushed.Store(true)
			if n, err := redis.Int(c.Do("CLIENT", "KILL", "ADDR", q.LocalAddr().String())); err != nil || n != 1 {
				t.Fatalf("%d connections were killed, %v", n, err)
			}
			redistest.Eventually(t, soon, "it has a new presence connection", func() bool { return dials[id].presence.Load() != q })
			redistest.Eventually(t, soon, "it is seen again", seen(id))
		})
	}
}
