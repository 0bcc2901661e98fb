package worqr_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/embedded"
	"github.com/worqr/worqr-go/worqr"
)

// inVirtualTime runs a test with a fleet on the embedded server, in the time of a synctest bubble:
// minutes cost nothing.
func inVirtualTime(t *testing.T, test func(t *testing.T, f *fleet, s *embedded.Server)) {
	synctest.Test(t, func(t *testing.T) {
		server := embedded.Virtual()
		t.Cleanup(server.Close)
		f := fleetOf(t, "worqr", cuttable(t, server).mesh)
		c, err := server.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		f.redis, f.base = c, worqr.WorkerConfig{} // at the default pace
		test(t, f, server)
	})
}

// line is a mesh on a virtual server whose connections can be taken away.
type line struct {
	mesh   *worqr.Mesh
	mu     sync.Mutex
	dead   bool
	opened []redis.Conn
}

func cuttable(t *testing.T, server *embedded.Server) *line {
	l := &line{}
	pool := &redis.Pool{MaxIdle: 8, DialContext: func(ctx context.Context) (redis.Conn, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.dead {
			return nil, embedded.ErrClosed
		}
		c, err := server.Dial(ctx)
		if err == nil {
			l.opened = append(l.opened, c)
		}
		return c, err
	}}
	m, err := worqr.New(pool, worqr.Config{})
	if err != nil {
		t.Fatal(err)
	}
	l.mesh = m
	t.Cleanup(func() {
		l.cut(false)
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		_ = pool.Close()
	})
	return l
}

// cut takes all connections away and refuses new ones, or ends that.
func (l *line) cut(dead bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dead = dead
	if dead {
		for _, c := range l.opened {
			_ = c.Close()
		}
		l.opened = nil
	}
}
