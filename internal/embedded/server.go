package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/alicebob/miniredis/v2"
	"github.com/gomodule/redigo/redis"
)

// ErrClosed is returned by a dial after Close.
var ErrClosed = errors.New("embedded: closed")

// Server is an in-process Redis.
type Server struct {
	mini *miniredis.Miniredis
	addr string // "" for a virtual one

	mu     sync.Mutex
	closed bool
}

// Start starts a server on a free port of 127.0.0.1.
func Start() (*Server, error) {
	s := &Server{mini: newMini()}
	if err := s.mini.Start(); err != nil {
		return nil, fmt.Errorf("embedded: %w", err)
	}
	s.addr = s.mini.Addr()
	return s, nil
}

// Virtual returns a server without a socket, for a testing/synctest bubble. When it is made and
// closed inside the bubble, it lives in the bubble's time. Its connections come from Dial or
// DialNet.
func Virtual() *Server { return &Server{mini: newMini()} }

func newMini() *miniredis.Miniredis {
	m := miniredis.NewMiniRedis()
	m.ClockTTL(true) // else no key ever expires
	return m
}

// URL returns the URL for redis.DialURL, or "" for a virtual server.
func (s *Server) URL() string {
	if s.addr == "" {
		return ""
	}
	return "redis://" + s.addr + "/0"
}

// Addr returns host:port, or "" for a virtual server.
func (s *Server) Addr() string { return s.addr }

// Dial returns a new connection. It fits redis.Pool's DialContext.
func (s *Server) Dial(ctx context.Context) (redis.Conn, error) {
	return redis.DialContext(ctx, "tcp", s.addr, redis.DialContextFunc(s.DialNet))
}

// DialNet returns the bare connection under a redis.Conn, for dial options such as timeouts. It
// fits redis.DialContextFunc, and ignores network and address.
func (s *Server) DialNet(ctx context.Context, _, _ string) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.addr != "" {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", s.addr)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	if s.mini.Server() == nil {
		// The first dial makes its server, without a listener. The connection itself is not used,
		// because it is not buffered.
		c, err := s.mini.Dial()
		if err != nil {
			return nil, fmt.Errorf("embedded: %w", err)
		}
		c.Close()
	}
	client, server := pipe()
	s.mini.Server().ServeConn(server)
	return client, nil
}

// Close ends the server and its connections, and waits for its goroutines. A second Close does
// nothing.
func (s *Server) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		s.mini.Close()
	}
}
