package redistest

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
)

const (
	// startLimit bounds a start, stopLimit a stop, also on a busy machine.
	startLimit = 20 * time.Second
	stopLimit  = 20 * time.Second
	// ioLimit bounds one command of the harness and of Conn and Pool.
	ioLimit = 10 * time.Second
)

// Server is one Redis.
type Server struct {
	url  string
	addr string
	// host runs it; nil for a server that somebody else runs.
	host host
	// shared is set when other tests use the server too: then it must not be changed.
	shared bool
}

// host runs one redis-server: a process or a container. Its port and its data
// stay the same over stop and start. No two calls at once.
type host interface {
	start() error
	stop() error // SIGTERM: Redis saves what it is configured to save
	kill() error // SIGKILL
	pause() error
	resume() error
	remove() error // stops it in any state and removes all it had
	kind() string  // "in a process", "in a container"
	log() string   // the last lines of its output
}

// URL returns the URL for redis.DialURL, the password included if there is one.
func (s *Server) URL() string { return s.url }

// Addr returns host:port.
func (s *Server) Addr() string { return s.addr }

// Conn returns a new connection that is closed at the end of the test.
func (s *Server) Conn(t testing.TB) redis.Conn {
	t.Helper()
	c, err := s.dial()
	if err != nil {
		t.Fatalf("redistest: dial %s: %v", s.addr, err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// Pool returns a pool without a limit that is closed at the end of the test.
func (s *Server) Pool(t testing.TB) *redis.Pool {
	p := &redis.Pool{MaxIdle: 16, Dial: s.dial}
	t.Cleanup(func() { p.Close() })
	return p
}

func (s *Server) dial() (redis.Conn, error) {
	return redis.DialURL(s.url, redis.DialConnectTimeout(ioLimit),
		redis.DialReadTimeout(ioLimit), redis.DialWriteTimeout(ioLimit))
}

// Stop ends the server by SIGTERM and waits until it is gone.
func (s *Server) Stop(t testing.TB) { t.Helper(); s.act(t, "stop", host.stop) }

// Kill ends the server by SIGKILL and waits until it is gone.
func (s *Server) Kill(t testing.TB) { t.Helper(); s.act(t, "kill", host.kill) }

// Start starts a stopped or killed server on the same port and in the same folder, and waits until
// it replies.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	s.act(t, "start", host.start)
	s.mustAnswer(t)
}

// Pause freezes the server: connections stay open and nothing gets a reply. It waits until that is
// so.
func (s *Server) Pause(t testing.TB) { t.Helper(); s.act(t, "pause", host.pause) }

// Resume ends a Pause and waits until the server replies.
func (s *Server) Resume(t testing.TB) {
	t.Helper()
	s.act(t, "resume", host.resume)
	s.mustAnswer(t)
}

// Disconnect takes the network from a container: what is under way is lost and nothing new arrives.
// It is only for a server that [Container] started.
func (s *Server) Disconnect(t testing.TB) {
	t.Helper()
	s.act(t, "disconnect", func(h host) error {
		if c, ok := h.(*container); ok {
			return c.disconnect()
		}
		return errors.New("only a container has a network of its own")
	})
}

// Reconnect ends a Disconnect and waits until the server replies.
func (s *Server) Reconnect(t testing.TB) {
	t.Helper()
	s.act(t, "reconnect", func(h host) error {
		if c, ok := h.(*container); ok {
			return c.reconnect()
		}
		return errors.New("only a container has a network of its own")
	})
	s.mustAnswer(t)
}

func (s *Server) act(t testing.TB, verb string, do func(host) error) {
	t.Helper()
	if s.shared || s.host == nil {
		t.Fatalf("redistest: %s: other tests use this server; take Own or Container", verb)
	}
	if err := do(s.host); err != nil {
		t.Fatalf("redistest: %s %s: %v\n%s", verb, s.addr, err, s.host.log())
	}
}

func (s *Server) mustAnswer(t testing.TB) {
	t.Helper()
	if !poll(startLimit, func() bool { return probe(s.addr) == nil }) {
		t.Fatalf("redistest: %s does not answer within %v\n%s", s.addr, startLimit, s.host.log())
	}
}

// version returns the server's name and version, for the line that prints what is in use.
func (s *Server) version() (string, error) {
	c, err := s.dial()
	if err != nil {
		return "", redact(err, s.url)
	}
	defer c.Close()
	info, err := redis.String(c.Do("INFO", "server"))
	if err != nil {
		return "", err
	}
	for _, name := range []string{"valkey", "redis"} {
		if _, rest, ok := strings.Cut(info, name+"_version:"); ok {
			v, _, _ := strings.Cut(rest, "\r\n")
			return name + " " + v, nil
		}
	}
	return "redis of an unknown version", nil
}

// redact drops an error that shows the URL: a URL may hold a password.
func redact(err error, raw string) error {
	if err == nil || !strings.Contains(err.Error(), raw) {
		return err
	}
	return errors.New("the URL is not valid")
}

// urlServer returns the server at a redis URL.
func urlServer(raw string) (*Server, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, errors.New("not a URL") // which may hold a password
	}
	port := u.Port()
	if port == "" {
		port = "6379"
	}
	name := u.Hostname()
	if name == "" {
		name = "localhost"
	}
	return &Server{url: raw, addr: fmt.Sprintf("%s:%s", name, port)}, nil
}
