package redistest

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
)

const soon = 10 * time.Second

func do(t *testing.T, c redis.Conn, cmd string, args ...any) any {
	t.Helper()
	v, err := c.Do(cmd, args...)
	if err != nil {
		t.Fatalf("%s %v: %v", cmd, args, err)
	}
	return v
}

func get(t *testing.T, c redis.Conn, key string) string {
	t.Helper()
	s, err := redis.String(c.Do("GET", key))
	if err != nil {
		t.Fatalf("GET %s: %v", key, err)
	}
	return s
}

func TestShared(t *testing.T) {
	t.Parallel()
	s := Shared(t)
	if Shared(t) != s {
		t.Fatal("a second server")
	}
	if do(t, s.Conn(t), "PING") != "PONG" {
		t.Fatal("no PONG")
	}
	p := s.Pool(t).Get()
	defer p.Close()
	do(t, p, "PING")
}

func TestNamespaceIsRemoved(t *testing.T) {
	t.Parallel()
	c, other := Shared(t).Conn(t), Shared(t).Conn(t)
	do(t, other, "SELECT", 3)
	var ns string
	t.Run("odd name/with: {signs}", func(t *testing.T) {
		ns = Namespace(t)
		if len(ns) > 64 || strings.ContainsAny(ns, "{}:/ ") || Namespace(t) == ns {
			t.Fatalf("namespace %q", ns)
		}
		do(t, c, "SET", "{"+ns+"}:mesh", 1)
		do(t, c, "SET", ns+":{q}:tasks", 1)
		do(t, c, "SET", ns+"x:{q}:tasks", 1)
		do(t, other, "SET", ns+":{q}/a:tasks", 1)
	})
	if do(t, other, "EXISTS", ns+":{q}/a:tasks") != int64(0) {
		t.Error("a key is left in the other database")
	}
	if do(t, c, "EXISTS", "{"+ns+"}:mesh", ns+":{q}:tasks") != int64(0) {
		t.Error("a key is left")
	}
	if do(t, c, "DEL", ns+"x:{q}:tasks") != int64(1) {
		t.Error("a key of another namespace was removed")
	}
}

func TestOwnRestarts(t *testing.T) {
	t.Parallel()
	s := Own(t, "--appendonly", "yes", "--appendfsync", "always")
	restarts(t, s)
	s.Kill(t)
	if probe(s.Addr()) == nil {
		t.Fatal("it replies after a kill")
	}
	s.Start(t)
	if v := get(t, s.Conn(t), "k"); v != "v" {
		t.Fatalf("after the kill: %q", v)
	}
	pauses(t, s)
	s.Pause(t)
	s.Kill(t) // a frozen one too
}

// restarts stops s and starts it again; its data stays.
func restarts(t *testing.T, s *Server) {
	t.Helper()
	do(t, s.Conn(t), "SET", "k", "v")
	s.Stop(t)
	if probe(s.Addr()) == nil {
		t.Fatal("it replies after a stop")
	}
	s.Start(t)
	if v := get(t, s.Conn(t), "k"); v != "v" {
		t.Fatalf("after the stop: %q", v)
	}
}

// pauses shows that a paused server accepts connections and replies to nothing.
func pauses(t *testing.T, s *Server) {
	t.Helper()
	c := s.Conn(t)
	do(t, c, "PING")
	s.Pause(t)
	answered := make(chan error, 1)
	go func() {
		_, err := c.Do("PING")
		answered <- err
	}()
	select {
	case err := <-answered:
		t.Fatalf("answered while paused: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	s.Resume(t)
	select {
	case err := <-answered:
		if err != nil {
			t.Fatalf("after the pause: %v", err)
		}
	case <-time.After(soon):
		t.Fatal("nothing came after the pause")
	}
}

func TestOwnArguments(t *testing.T) {
	t.Parallel()
	s := Own(t, "--maxmemory", "3mb", "--requirepass", "secret")
	c := s.Conn(t)
	do(t, c, "AUTH", "secret")
	v, err := redis.Strings(c.Do("CONFIG", "GET", "maxmemory"))
	if err != nil || v[1] != "3145728" {
		t.Fatalf("maxmemory: %v %v", v, err)
	}
}

func TestOwnThatCannotStart(t *testing.T) {
	t.Parallel()
	bin, err := findBinary()
	if err != nil {
		t.Skip(err)
	}
	if _, err = startProcess(bin, []string{"--no-such-option", "1"}); err == nil || !strings.Contains(err.Error(), "no-such-option") {
		t.Fatalf("the error does not say why: %v", err)
	}
}

// When a test binary is killed, its server is killed too.
func TestServerDiesWithParent(t *testing.T) {
	t.Parallel()
	if _, err := findBinary(); err != nil {
		t.Skip(err)
	}
	c := StartChild(t, "parent")
	pid := strings.TrimPrefix(c.WaitLine(t, "server ", soon), "server ")
	c.Kill(t)
	Eventually(t, soon, "the server is gone", func() bool {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		return err != nil || strings.Contains(string(stat), ") Z ")
	})
}

func TestContainer(t *testing.T) {
	t.Parallel()
	s := Container(t)
	c := s.Conn(t)
	do(t, c, "PING")
	s.Disconnect(t)
	if _, err := c.Do("PING"); err == nil {
		t.Fatal("it replies without a network")
	}
	if probe(s.Addr()) == nil {
		t.Fatal("a new connection works without a network")
	}
	s.Reconnect(t)
	do(t, s.Conn(t), "PING")
	pauses(t, s)
	s.Pause(t)
	s.Kill(t)
	s.Start(t)
	do(t, s.Conn(t), "PING")
	s.Stop(t)
	s.Start(t)
	do(t, s.Conn(t), "PING")
}

func TestURLServer(t *testing.T) {
	t.Parallel()
	for raw, addr := range map[string]string{
		"redis://127.0.0.1:6380/2":  "127.0.0.1:6380",
		"redis://:secret@example":   "example:6379",
		"redis://user:secret@x:1/0": "x:1",
	} {
		s, err := urlServer(raw)
		if err != nil || s.Addr() != addr {
			t.Errorf("%s: %v %v", raw, s, err)
		}
	}
	if _, err := urlServer("redis://:secret@%zz"); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("the error shows the password: %v", err)
	}
}
