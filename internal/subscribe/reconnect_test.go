package subscribe

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/events"
)

// works proves that the listener is ready for the nth time and gets events.
func works(r *rig, ready <-chan struct{}, got <-chan int, n int) {
	r.t.Helper()
	await(r.t, "OnReady number "+strconv.Itoa(n), ready)
	r.publish("q:work", strconv.Itoa(n))
	if e := await(r.t, "an event", got); e != n {
		r.t.Errorf("got %d, want %d", e, n)
	}
	if !r.Ready() || len(ready) > 0 {
		r.t.Errorf("Ready is %v, OnReady was called %d times too often", r.Ready(), len(ready))
	}
}

func watch(r *rig) (ready chan struct{}, got chan int) {
	ready, got = make(chan struct{}, 100), make(chan int, 100)
	r.OnReady(func() { ready <- struct{}{} })
	r.On("q", func(e events.Event) { got <- e.Count }, events.Work)
	return ready, got
}

func TestReconnectsWhenTheServerKillsIt(t *testing.T) {
	t.Parallel()
	r := listen(t, private(t))
	ready, got := watch(r)
	for n := 1; n <= 3; n++ {
		works(r, ready, got, n)
		if n, err := redis.Int(r.do("CLIENT", "KILL", "TYPE", "pubsub"), nil); n != 1 || err != nil {
			t.Fatalf("killed %d, %v", n, err)
		}
	}
	works(r, ready, got, 4)
	if n := len(r.logs.lines(t, "not connected")); n != 3 {
		t.Errorf("%d lines about 3 lost connections", n)
	}
}

// Renew replaces the connection that there is, once, and it costs the next one nothing.
func TestRenewReplacesTheConnection(t *testing.T) {
	t.Parallel()
	r := listen(t, shared(t))
	r.Renew() // there is none
	ready, got := watch(r)
	works(r, ready, got, 1)
	for n := 2; n <= 3; n++ {
		first := r.id()
		r.Renew()
		works(r, ready, got, n)
		if r.id() == first {
			t.Error("the connection is the same")
		}
	}
	if r.Connections() != 3 || r.dials.Load() != 3 {
		t.Errorf("%d connections by %d dials, want 3", r.Connections(), r.dials.Load())
	}
	lines := r.logs.lines(t, "not connected")
	if len(lines) != 2 {
		t.Errorf("%d lines about 2 replaced connections", len(lines))
	}
	for _, line := range lines {
		if line["error"] != errRenew.Error() || !strings.Contains(line["advice"].(string), "this follows") {
			t.Errorf("the log has %v", line)
		}
	}
}

func TestReconnectsAfterRestart(t *testing.T) {
	t.Parallel()
	s := private(t)
	r := listen(t, s)
	ready, got := watch(r)
	works(r, ready, got, 1)
	s.stop()
	until(t, "the loss to be noticed", func() bool { return !r.Ready() })
	until(t, "attempts in vain", func() bool { return r.dials.Load() >= 3 })
	again, err := start(s.port)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(again.stop)
	if r.admin, err = redis.Dial("tcp", s.addr()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.admin.Close() })
	works(r, ready, got, 2)
}

// A quiet connection is kept, a dead one is not: it goes silent without being closed, and is
// replaced within 2*Ping and the first pause.
func TestNoticesHalfOpenConnection(t *testing.T) {
	t.Parallel()
	const ping = time.Second // a busy machine stalls a process for longer than one thinks
	s := private(t)
	relay := newRelay(t, s.addr())
	r := listen(t, s, func(c *Config) {
		c.Ping = ping
		c.Dial = func(ctx context.Context) (redis.Conn, error) {
			return redis.DialContext(ctx, "tcp", relay.Addr().String())
		}
	})
	ready, got := watch(r)
	works(r, ready, got, 1)
	heard := relay.arrived.Load()
	until(t, "three answered pings", func() bool { return relay.arrived.Load() >= heard+3 || r.dials.Load() > 1 })
	if r.dials.Load() > 1 {
		t.Fatalf("a quiet connection was dropped: %s", r.logs.text())
	}
	relay.freeze()
	began := time.Now()
	until(t, "the loss to be noticed", func() bool { return len(r.logs.lines(t, "not connected")) > 0 })
	noticed := time.Since(began)
	works(r, ready, got, 2)
	t.Logf("noticed after %v, working again after %v, with pings every %v", noticed, time.Since(began), ping)
	if slack := 2 * time.Second; noticed > 2*ping+slack {
		t.Errorf("noticed after %v, want at most %v and %v", noticed, 2*ping, slack)
	}
	if lines := r.logs.lines(t, "not connected"); len(lines) != 1 || !strings.Contains(lines[0]["error"].(string), "nothing arrived for 2s") {
		t.Errorf("the log says %v", lines)
	}
}

// A server that reads nothing more makes writes hang; the reader ends that.
func TestHangingWriteIsFreed(t *testing.T) {
	t.Parallel()
	s := private(t) // what is sent holds a server up
	relay := newRelay(t, s.addr())
	r := listen(t, s, func(c *Config) {
		c.Ping = 500 * time.Millisecond
		c.Dial = func(ctx context.Context) (redis.Conn, error) {
			return redis.DialContext(ctx, "tcp", relay.Addr().String()) // no timeouts
		}
	})
	ready, got := watch(r)
	works(r, ready, got, 1)
	relay.mu.Lock()
	stuck := relay.gate
	relay.gate = &gate{shut: stuck.shut}
	relay.mu.Unlock()
	stuck.stuck.Store(true)
	long := strings.Repeat("x", 1<<20) // more than the sockets hold
	var stops []func()
	for i := range 16 {
		stops = append(stops, r.On(long+strconv.Itoa(i), func(events.Event) {}, events.Work))
	}
	until(t, "another connection", func() bool { return r.dials.Load() >= 2 })
	for _, stop := range stops { // a busy machine may not get these through within 2*Ping
		stop()
	}
	r.awaitReady()
}

func TestNoDialWhileNothingIsWanted(t *testing.T) {
	t.Parallel()
	r := listen(t, shared(t))
	until(t, "Run to run", r.running.Load)
	stop := r.OnReady(func() { t.Error("ready for nothing") })
	never(t, "a dial", func() bool { return r.dials.Load() > 0 })
	stop()
	stop = r.On("q", func(events.Event) {})
	r.awaitReady()
	stop()
	until(t, "the connection to be closed", func() bool { return !r.connected() })
	never(t, "another dial", func() bool { return r.dials.Load() > 1 })
	if r.logs.text() != "" {
		t.Errorf("the log says %s", r.logs.text())
	}
}

// never watches for a short while that something does not happen.
func never(t *testing.T, what string, fact func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for range 50 {
		if fact() {
			t.Fatalf("there was %s", what)
		}
		<-tick.C
	}
}

// The database's number is a part of the name, and is asked before dialling until it is known.
func TestDatabaseIsAskedUntilItAnswers(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 10)
	var dials func() int64
	r := listen(t, shared(t), func(c *Config) {
		c.Database = func(context.Context) (int, error) {
			asked <- struct{}{}
			switch {
			case dials() > 0:
				t.Error("dialled before the number was known")
			case len(asked) < 3:
				return 0, redis.Error("LOADING still")
			}
			return 5, nil
		}
	})
	dials = r.dials.Load
	got := make(chan events.Event, 1)
	r.On("q", func(e events.Event) { got <- e })
	r.awaitReady()
	r.publish("q:work", "1")
	r.do("PUBLISH", r.cfg.Namespace+"@5:q:work", "2")
	if e := await(t, "an event", got); e.Count != 2 {
		t.Errorf("got %+v from another database", e)
	}
	r.do("CLIENT", "KILL", "ID", r.id())
	until(t, "another connection", func() bool { return r.dials.Load() == 2 && r.Ready() })
	if len(asked) != 3 {
		t.Errorf("asked %d times, want 3", len(asked))
	}
}

// id is the server's number for the listener's connection.
func (r *rig) id() string {
	r.t.Helper()
	list, err := redis.String(r.do("CLIENT", "LIST"), nil)
	if err != nil {
		r.t.Fatal(err)
	}
	for line := range strings.Lines(list) {
		if strings.Contains(line, "name="+r.name+" ") {
			id, _, _ := strings.Cut(strings.TrimPrefix(line, "id="), " ")
			return id
		}
	}
	r.t.Fatal("not connected")
	return ""
}
