package redistest

import (
	"errors"
	"net"
	"net/url"
	"syscall"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
)

// silence is how long a test watches that nothing arrives.
const silence = 30 * time.Millisecond

// through returns a proxy in front of the shared server, a direct connection and a key for this
// test alone.
func through(t *testing.T) (p *Proxy, direct redis.Conn, key string) {
	t.Helper()
	t.Parallel()
	s := Shared(t)
	ns := Namespace(t)
	return NewProxy(t, s.URL()), s.Conn(t), ns + ":{q}:n"
}

func dialTo(t *testing.T, p *Proxy) redis.Conn {
	t.Helper()
	c, err := redis.DialURL(p.URL(), redis.DialReadTimeout(soon))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// on returns an intercept that applies a to the commands of one name.
func on(name string, a Action) func(Command) Action {
	return func(c Command) Action {
		if c.Is(name) {
			return a
		}
		return Pass
	}
}

func silent(t *testing.T, c redis.Conn) {
	t.Helper()
	if v, err := redis.ReceiveWithTimeout(c, silence); err == nil || !isTimeout(err) {
		t.Fatalf("expected silence, got %v %v", v, err)
	}
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}

func TestProxyPasses(t *testing.T) {
	p, _, key := through(t)
	c := dialTo(t, p)
	for i := range 1000 { // more than redigo buffers
		c.Send("INCR", key)
		if i%10 == 0 {
			c.Send("EVAL", "return {1, {'a', false, {}}, redis.status_reply('OK'), {err='ODD x'}}", 0)
		}
	}
	big := string(make([]byte, 3<<20))
	c.Send("SET", key+"big", big)
	c.Send("GET", key+"big")
	c.Flush()
	for i := range 1000 {
		if n, err := redis.Int(c.Receive()); err != nil || n != i+1 {
			t.Fatalf("reply %d: %d %v", i, n, err)
		}
		if i%10 == 0 {
			if v, err := redis.Values(c.Receive()); err != nil || len(v) != 4 {
				t.Fatalf("nested reply: %v %v", v, err)
			}
		}
	}
	c.Receive()
	if v, err := redis.String(c.Receive()); err != nil || v != big {
		t.Fatalf("%d bytes: %v", len(v), err)
	}
	if n := p.Commands(); n["INCR"] != 1000 || n["EVAL"] != 100 || n["KEYS"] != 0 {
		t.Errorf("commands %v", n)
	}
}

func TestProxyPubSub(t *testing.T) {
	p, direct, key := through(t)
	c := redis.PubSubConn{Conn: dialTo(t, p)}
	c.Subscribe(key, key+"2")
	for range 2 {
		if _, ok := c.Receive().(redis.Subscription); !ok {
			t.Fatal("no confirmation")
		}
	}
	for range 3 {
		do(t, direct, "PUBLISH", key, "hello")
		if m, ok := c.Receive().(redis.Message); !ok || string(m.Data) != "hello" {
			t.Fatalf("message %v", m)
		}
	}
	c.Ping("x")
	if m, ok := c.Receive().(redis.Pong); !ok || m.Data != "x" {
		t.Fatalf("pong %v", m)
	}
	p.Freeze(ToClient)
	if n := do(t, direct, "PUBLISH", key, "held"); n != int64(1) {
		t.Fatalf("%v subscribers", n)
	}
	p.Thaw()
	if m, ok := c.Receive().(redis.Message); !ok || string(m.Data) != "held" {
		t.Fatalf("message %v", m)
	}
	p.Cut()
	if err, ok := c.Receive().(error); !ok {
		t.Fatalf("received %v after the cut", err)
	}
}

func TestProxyCut(t *testing.T) {
	p, _, _ := through(t)
	c := dialTo(t, p)
	do(t, c, "PING")
	p.Cut()
	if _, err := c.Do("PING"); err == nil || isTimeout(err) {
		t.Fatalf("after the cut: %v", err)
	}
	do(t, dialTo(t, p), "PING")
}

func TestProxyRedirect(t *testing.T) {
	p, _, key := through(t)
	before := dialTo(t, p)
	do(t, before, "SET", key, "first")
	other := Own(t)
	p.Redirect(other)
	after := dialTo(t, p)
	if v := do(t, after, "GET", key); v != nil {
		t.Fatalf("a new connection reads %q at the other server", v)
	}
	if got := get(t, before, key); got != "first" {
		t.Fatalf("the connection of before reads %q", got)
	}
}

func TestProxyRefuse(t *testing.T) {
	p, _, _ := through(t)
	c := dialTo(t, p)
	do(t, c, "PING")
	p.Refuse(true)
	if _, err := c.Do("PING"); err == nil {
		t.Fatal("an old connection goes on")
	}
	if _, err := redis.DialURL(p.URL()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Fatalf("a new connection: %v", err)
	}
	p.Refuse(false)
	do(t, dialTo(t, p), "PING")
}

func TestProxyFreezeToServer(t *testing.T) {
	p, direct, key := through(t)
	c := dialTo(t, p)
	do(t, c, "PING")
	p.Freeze(ToServer)
	c.Send("INCR", key)
	c.Flush()
	Eventually(t, soon, "the command is at the proxy", func() bool { return p.Commands()["INCR"] == 1 })
	if n := do(t, direct, "EXISTS", key); n != int64(0) {
		t.Fatal("it reached the server")
	}
	// A client that dies by a reset: what it sent is still under way.
	raw, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	dying := redis.NewConn(raw, soon, soon)
	if u, _ := url.Parse(p.URL()); u.User != nil {
		password, _ := u.User.Password()
		dying.Send("AUTH", password)
	}
	dying.Send("SELECT", 0)
	dying.Send("INCR", key)
	dying.Flush()
	Eventually(t, soon, "the second connection is at the proxy", func() bool { return p.Connections() == 2 })
	raw.(*net.TCPConn).SetLinger(0)
	raw.Close()
	p.Thaw()
	if n, err := redis.Int(c.Receive()); err != nil || n < 1 {
		t.Fatalf("after the thaw: %d %v", n, err)
	}
	Eventually(t, soon, "both have run", func() bool { return get(t, direct, key) == "2" })
}

func TestProxyFreezeToClient(t *testing.T) {
	p, direct, key := through(t)
	c, c2 := dialTo(t, p), dialTo(t, p)
	do(t, c, "PING")
	do(t, c2, "PING")
	p.Freeze(ToClient)
	c.Send("INCR", key)
	c.Flush()
	Eventually(t, soon, "the command has run", func() bool { return do(t, direct, "EXISTS", key) == int64(1) })
	c2.Send("PING")
	c2.Flush()
	silent(t, c2)
	p.Thaw()
	if n, err := redis.Int(c.Receive()); err != nil || n != 1 {
		t.Fatalf("after the thaw: %d %v", n, err)
	}
}

func TestProxyLatency(t *testing.T) {
	p, _, _ := through(t)
	c := dialTo(t, p)
	const d = 20 * time.Millisecond
	p.Latency(func() time.Duration { return d })
	start := time.Now()
	do(t, c, "PING")
	if took := time.Since(start); took < d {
		t.Fatalf("took %v", took)
	}
	start = time.Now()
	for range 100 {
		c.Send("PING")
	}
	c.Flush()
	for range 100 {
		if _, err := c.Receive(); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(start); took < d || took > 50*d {
		t.Fatalf("100 in one piece took %v", took)
	}
	p.Latency(nil)
}

func TestProxyServerGone(t *testing.T) {
	t.Parallel()
	s := Own(t)
	p := NewProxy(t, s.URL())
	c := dialTo(t, p)
	do(t, c, "PING")
	s.Kill(t)
	if _, err := c.Do("PING"); err == nil || isTimeout(err) {
		t.Fatalf("after the server's death: %v", err)
	}
	Eventually(t, soon, "no connection is left", func() bool { return p.Connections() == 0 })
	s.Start(t)
	do(t, dialTo(t, p), "PING")
}

func TestProxyGoesToAnotherServer(t *testing.T) {
	t.Parallel()
	before, after := Own(t), Own(t)
	p := NewProxy(t, before.URL())
	old := dialTo(t, p)
	if _, err := old.Do("SET", "who", "before"); err != nil {
		t.Fatal(err)
	}
	p.Retarget(after)
	if _, err := old.Do("PING"); err == nil {
		t.Error("a connection to the server before is still open")
	}
	if who, err := dialTo(t, p).Do("GET", "who"); err != nil || who != nil {
		t.Errorf("%v, %v; want the other server, which has nothing", who, err)
	}
}
