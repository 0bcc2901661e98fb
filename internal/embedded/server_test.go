package embedded

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// pass lets time pass, where that is what a test is about: virtual or real.
func pass(d time.Duration) { <-time.After(d) }

// both runs a test over TCP in real time and in memory in virtual time.
func both(t *testing.T, test func(t *testing.T, s *Server)) {
	t.Run("tcp", func(t *testing.T) {
		s, err := Start()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		test(t, s)
	})
	t.Run("virtual", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := Virtual()
			t.Cleanup(s.Close)
			test(t, s)
		})
	})
}

func dial(t *testing.T, s *Server) redis.Conn {
	t.Helper()
	c, err := s.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// eval compares what a script returns, printed by %v.
func eval(t *testing.T, c redis.Conn, want, script string, args ...any) {
	t.Helper()
	v, err := c.Do("EVAL", append([]any{script, 1, "k"}, args...)...)
	got := fmt.Sprint(show(v))
	if err != nil {
		got = err.Error()
	}
	if got != want {
		t.Errorf("%s\ngot  %s\nwant %s", script, got, want)
	}
}

// show turns byte slices into strings, at any depth.
func show(v any) any {
	switch v := v.(type) {
	case []byte:
		return string(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = show(v[i])
		}
		return out
	}
	return v
}

// What the scripts of this project use.
func TestScripts(t *testing.T) {
	both(t, func(t *testing.T, s *Server) {
		c := dial(t, s)
		sum := sha1.Sum([]byte("a\x00b"))
		eval(t, c, hex.EncodeToString(sum[:]), "return redis.sha1hex(ARGV[1])", "a\x00b")
		eval(t, c, "WORD text", "return {err='WORD text'}")
		eval(t, c, "1790000000000001", "return string.format('%.0f', 1790000000000001)")
		eval(t, c, "<nil>", "return redis.call('SET', KEYS[1], 'v', 'XX', 'PX', 1000)")
		eval(t, c, "OK", "return redis.call('SET', KEYS[1], 'v', 'PX', 1000)")
		eval(t, c, "OK", "return redis.call('SET', KEYS[1], 'v', 'XX', 'PX', '2000')")
		eval(t, c, "1", "return redis.pcall('LPUSH', KEYS[1], 'v').err and 1 or 0")
		eval(t, c, "[0 1]", "redis.call('DEL', KEYS[1]) redis.call('SADD', KEYS[1], 'a') return redis.call('SMISMEMBER', KEYS[1], 'b', 'a')")
		eval(t, c, "[a]", "return redis.call('SPOP', KEYS[1], 2)")
		eval(t, c, "<nil>", "return redis.call('SPOP', KEYS[1])")
		eval(t, c, "[b 1790000000000002 a 1790000000000001]",
			"redis.call('ZADD', KEYS[1], 1790000000000001, 'a', '1790000000000002', 'b') return redis.call('ZREVRANGE', KEYS[1], 0, -1, 'WITHSCORES')")
		eval(t, c, "[0 [f 1]]", "redis.call('DEL', KEYS[1]) redis.call('HSET', KEYS[1], 'f', 1) return redis.call('HSCAN', KEYS[1], 0, 'COUNT', 10)")
		eval(t, c, "[0 [m]]", "redis.call('DEL', KEYS[1]) redis.call('SADD', KEYS[1], 'm') return redis.call('SSCAN', KEYS[1], 0)")
	})
}

func TestClock(t *testing.T) {
	both(t, func(t *testing.T, s *Server) {
		c := dial(t, s)
		clock := func() float64 {
			v, err := redis.Float64(c.Do("EVAL", "local t = redis.call('TIME') return string.format('%.0f', t[1] * 1000000 + t[2])", 0))
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		began := time.Now()
		start := clock()
		c.Do("SET", "k", "v")
		if n, err := redis.Int(c.Do("PEXPIRE", "k", 200)); n != 1 {
			t.Fatalf("PEXPIRE: %d %v", n, err)
		}
		pass(50 * time.Millisecond)
		if n, err := redis.Int(c.Do("PTTL", "k")); n > 150 || n < 1 {
			t.Errorf("PTTL %d %v", n, err)
		}
		if moved := clock() - start; moved < 50_000 || moved > float64(time.Since(began).Microseconds()+1) {
			t.Errorf("TIME moved by %.0f us", moved)
		}
		pass(150 * time.Millisecond)
		if v, err := c.Do("SET", "k", "w", "XX", "PX", 200); v != nil || err != nil {
			t.Errorf("an expired key was renewed: %v %v", v, err)
		}
	})
}

func TestPubSub(t *testing.T) {
	both(t, func(t *testing.T, s *Server) {
		sub, pub := redis.PubSubConn{Conn: dial(t, s)}, dial(t, s)
		sub.Subscribe("c", "d")
		sub.Receive()
		sub.Receive()
		// Nobody reads meanwhile.
		const count = 500
		for i := range count {
			if n, err := redis.Int(pub.Do("EVAL", "return redis.call('PUBLISH', ARGV[1], ARGV[2])", 0, "d", i)); n != 1 {
				t.Fatalf("PUBLISH: %d %v", n, err)
			}
		}
		for i := range count {
			if m, ok := sub.Receive().(redis.Message); !ok || string(m.Data) != fmt.Sprint(i) {
				t.Fatalf("message %d: %v", i, m)
			}
		}
		sub.Unsubscribe()
		for {
			if s, ok := sub.Receive().(redis.Subscription); !ok || s.Count == 0 {
				break
			}
		}
		if n, err := redis.Int(pub.Do("PUBLISH", "d", "x")); n != 0 {
			t.Fatalf("PUBLISH: %d %v", n, err)
		}
	})
}

func TestPipelining(t *testing.T) {
	both(t, func(t *testing.T, s *Server) {
		c := dial(t, s)
		for range 5000 {
			c.Send("INCR", "k")
		}
		if n, err := redis.Ints(c.Do("")); len(n) != 5000 || n[4999] != 5000 {
			t.Fatalf("%d replies, %v", len(n), err)
		}
	})
}

func TestTimeouts(t *testing.T) {
	both(t, func(t *testing.T, s *Server) {
		c, err := redis.Dial("tcp", s.Addr(), redis.DialContextFunc(s.DialNet), redis.DialReadTimeout(30*time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for range 3 {
			if _, err := c.Do("PING"); err != nil {
				t.Fatal(err)
			}
			pass(40 * time.Millisecond) // a deadline that has passed unused
		}
		start := time.Now()
		_, err = c.Do("BLPOP", "nothing", 1)
		if took := time.Since(start); err == nil || took < 30*time.Millisecond || took > time.Second {
			t.Fatalf("%v after %v", err, took)
		}
	})
}

func TestClose(t *testing.T) {
	both(t, func(t *testing.T, s *Server) {
		c := dial(t, s)
		if _, err := c.Do("SET", "k", "v"); err != nil {
			t.Fatal(err)
		}
		// What was sent before the end still arrives.
		late := dial(t, s)
		late.Send("SET", "late", "v")
		late.Flush()
		late.Close()
		redistest.Eventually(t, 10*time.Second, "the late command has run", func() bool {
			n, _ := redis.Int(c.Do("EXISTS", "late"))
			return n == 1
		})
		waiting := dial(t, s)
		done := make(chan error, 1)
		go func() {
			_, err := waiting.Receive()
			done <- err
		}()
		s.Close()
		s.Close()
		if err := <-done; err == nil {
			t.Error("a waiting read goes on")
		}
		if _, err := c.Do("PING"); err == nil {
			t.Error("an open connection goes on")
		}
		if _, err := s.Dial(context.Background()); err == nil {
			t.Error("a dial after Close works")
		}
	})
}

func TestVirtualDial(t *testing.T) {
	s := Virtual()
	if s.URL() != "" || s.Addr() != "" {
		t.Error("a virtual server has no address")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Dial(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("dial with an ended context: %v", err)
	}
	s.Close()
	if _, err := s.Dial(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("dial after Close: %v", err)
	}
}

// A waiting reader must not keep the bubble's time from moving.
func TestVirtualTimeMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := Virtual()
		defer s.Close()
		sub := redis.PubSubConn{Conn: dial(t, s)}
		sub.Subscribe("c")
		sub.Receive()
		got := make(chan any, 1)
		go func() { got <- sub.Receive() }()
		start := time.Now()
		pass(24 * time.Hour)
		synctest.Wait()
		if time.Since(start) != 24*time.Hour {
			t.Errorf("it took %v", time.Since(start))
		}
		dial(t, s).Do("PUBLISH", "c", "x")
		if m, ok := (<-got).(redis.Message); !ok || string(m.Data) != "x" {
			t.Errorf("received %v", m)
		}
	})
}
