package worqr_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/wire"
)

// Whoever listens at a replica hears of every process that is finished: the server that runs the
// script counts none of its listeners.
func TestDoneIsHeardAtAReplica(t *testing.T) {
	t.Parallel()
	servers := newPair(t)
	c, listener := servers.one, redis.PubSubConn{Conn: servers.second.Conn(t)}
	if err := listener.Subscribe("ns@0:q:done"); err != nil {
		t.Fatal(err)
	}
	if confirmed, ok := listener.Receive().(redis.Subscription); !ok {
		t.Fatalf("got %v", confirmed)
	}
	eval := func(script string, args ...any) any {
		t.Helper()
		words := redis.Args{wire.Named(script).Source, 1, "ns:{q}", "ns@0", "q"}.Add(args...)
		reply, err := c.Do("EVAL", words...)
		if err != nil {
			t.Fatalf("%s: %v", script, err)
		}
		return reply
	}
	eval("open", "w.1", 0, 0)
	eval("enqueue", "a", "b", "c")
	answer, err := redis.Values(eval("take", "w.1", 1, 3, 0), nil)
	if err != nil {
		t.Fatal(err)
	}
	var number, token, count int64
	if _, err := fmt.Sscan(string(answer[2].([]byte)), &number, &token, &count); err != nil || count != 3 {
		t.Fatalf("took %s, %v", answer[2], err)
	}
	eval("settle", "w.1", fmt.Sprintf("1 %d 3 finish", token))
	for i, task := range []string{"a", "b", "c"} {
		m, ok := listener.ReceiveWithTimeout(20 * time.Second).(redis.Message)
		if want := fmt.Sprintf("w w.1.%d %d\n%s", i+1, token+int64(i), task); !ok || string(m.Data) != want {
			t.Fatalf("heard %q, want %q", m.Data, want)
		}
	}
}
