package presence

import (
	"context"
	"net"
	"sync"
	"syscall"
)

// Through wraps a dialler so that the line that asked for a connection gets to know its socket. For
// all others it dials as before. It is for redis.DialContextFunc, which is called below TLS. The
// line also finds its own way through a tls.Conn.
func Through(dial func(ctx context.Context, network, address string) (net.Conn, error)) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if c, ok := ctx.Value(captureKey{}).(*capture); ok && err == nil {
			c.set(conn)
		}
		return conn, err
	}
}

type captureKey struct{}

// capture is where a dialler leaves the connection for the line that asked for it.
type capture struct {
	mu   sync.Mutex
	conn net.Conn
}

func (c *capture) set(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conn = conn
}

// raw returns the TCP socket, or nil when there is none.
func (c *capture) raw() syscall.RawConn {
	c.mu.Lock()
	defer c.mu.Unlock()
	conn := c.conn
	for {
		wrapped, ok := conn.(interface{ NetConn() net.Conn }) // as tls.Conn is
		if !ok {
			break
		}
		conn = wrapped.NetConn()
	}
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}
