package redistest

import (
	"sync/atomic"
	"testing"

	"github.com/gomodule/redigo/redis"
)

func TestProxyCutBefore(t *testing.T) {
	p, direct, key := through(t)
	c := dialTo(t, p)
	p.Intercept(on("INCR", CutBefore))
	c.Send("SET", key, 7)
	c.Send("INCR", key)
	c.Send("SET", key, 9)
	c.Flush()
	if v, err := redis.String(c.Receive()); v != "OK" {
		t.Fatalf("the reply before the cut: %v %v", v, err)
	}
	if _, err := c.Receive(); err == nil || isTimeout(err) {
		t.Fatalf("after the cut: %v", err)
	}
	if v := get(t, direct, key); v != "7" {
		t.Fatalf("the server has %s", v)
	}
}

func TestProxyCutAfter(t *testing.T) {
	p, direct, key := through(t)
	c := dialTo(t, p)
	do(t, c, "PING")
	sent := 0
	for _, n := range p.Commands() {
		sent += n
	}
	var conn, number atomic.Int64
	p.Intercept(func(c Command) Action {
		if !c.Is("incr") {
			return Pass
		}
		conn.Store(int64(c.Conn))
		number.Store(int64(c.N))
		return CutAfter
	})
	c.Send("SET", key, 7)
	c.Send("INCR", key)
	c.Send("SET", key, 9)
	c.Flush()
	if v, err := redis.String(c.Receive()); v != "OK" {
		t.Fatalf("the reply before the cut: %v %v", v, err)
	}
	if _, err := c.Receive(); err == nil || isTimeout(err) {
		t.Fatalf("after the cut: %v", err)
	}
	if v := get(t, direct, key); v != "8" {
		t.Fatalf("the server has %s", v)
	}
	if conn.Load() != 1 || number.Load() != int64(sent)+2 {
		t.Fatalf("connection %d, command %d", conn.Load(), number.Load())
	}
}

func TestProxyDropReply(t *testing.T) {
	p, direct, key := through(t)
	c := dialTo(t, p)
	p.Intercept(on("INCR", DropReply))
	do(t, c, "PING")
	c.Send("INCR", key)
	c.Send("SET", key+"2", "x")
	c.Flush()
	Eventually(t, soon, "both have run", func() bool { return do(t, direct, "EXISTS", key, key+"2") == int64(2) })
	if p.Connections() != 1 {
		t.Fatal("the connection is closed")
	}
	silent(t, c)
}

func TestProxyHold(t *testing.T) {
	p, direct, key := through(t)
	c := dialTo(t, p)
	do(t, c, "SELECT", 2)
	p.Intercept(on("INCR", Hold))
	c.Send("INCR", key)
	c.Send("INCR", key)
	c.Flush()
	silent(t, c)
	c.Close()
	do(t, direct, "SELECT", 2)
	if n := do(t, direct, "EXISTS", key); n != int64(0) || p.Kept() != 2 {
		t.Fatalf("%d ran, %d kept", n, p.Kept())
	}
	do(t, dialTo(t, p), "PING") // a new connection is not held
	if n := p.Release(t); n != 2 {
		t.Fatalf("%d released", n)
	}
	if v := get(t, direct, key); v != "2" {
		t.Fatalf("the server has %s", v)
	}
	if p.Release(t) != 0 {
		t.Fatal("released twice")
	}
}

func TestProxyDuplicate(t *testing.T) {
	p, direct, key := through(t)
	c := dialTo(t, p)
	p.Intercept(on("INCR", Duplicate))
	if n := do(t, c, "INCR", key); n != int64(1) {
		t.Fatalf("reply %v", n)
	}
	if n := do(t, c, "INCR", key); n != int64(2) {
		t.Fatalf("reply %v", n)
	}
	p.Intercept(nil)
	if n := p.Release(t); n != 2 {
		t.Fatalf("%d released", n)
	}
	if v := get(t, direct, key); v != "4" {
		t.Fatalf("the server has %s", v)
	}
}
