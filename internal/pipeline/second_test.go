package pipeline_test

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/pipeline"
)

// numbered works like served, but replies to WHERE with the number of its connection.
func numbered(n int, c net.Conn) {
	for r := range requests(c) {
		switch r[0] {
		case "WHERE":
			io.WriteString(c, bulk(strings.Repeat("I", n)))
		case "SLEEP":
			d, _ := time.ParseDuration(r[1])
			pass(d)
			io.WriteString(c, "+OK\r\n")
		}
	}
}

// While a reply is slow, the next requests go over the second connection, and only then.
func TestSecondConnection(t *testing.T) {
	bubble(t, pipeline.Config{}, numbered, func(t *testing.T, p *pipeline.Pipe, l *line) {
		where := func(want string) {
			t.Helper()
			start := time.Now()
			if v, err := redis.String(first(p.Do(t.Context(), "WHERE"))); err != nil || v != want {
				t.Fatalf("answered by %s, %v, want %s", v, err, want)
			}
			if d := time.Since(start); d != 0 {
				t.Fatalf("waited for %v", d)
			}
		}
		where("I")
		slow := do(p, t.Context(), "SLEEP", "1s")
		pass(5 * time.Millisecond)
		behind := do(p, t.Context(), "WHERE") // not slow yet: it waits behind it
		pass(95 * time.Millisecond)
		where("II")
		// The second connection is slow too, but for a shorter time.
		other := do(p, t.Context(), "SLEEP", "2s")
		pass(100 * time.Millisecond)
		both := do(p, t.Context(), "WHERE")
		for want, r := range map[string]*request{"I": behind, "II": both} {
			if v, err := redis.String(first((<-r.answers).parts())); err != nil || v != want {
				t.Fatalf("answered by %s, %v, want %s", v, err, want)
			}
		}
		if a := <-slow.answers; a.err != nil {
			t.Fatal(a.err)
		}
		where("I") // the first has caught up
		if a := <-other.answers; a.err != nil {
			t.Fatal(a.err)
		}
		pass(time.Hour)
		where("I")
		if n := l.dialled.Load(); n != 2 {
			t.Fatalf("%d connections were dialled", n)
		}
	})
}

func (a answer) parts() (any, bool, error) { return a.reply, a.sent, a.err }

// As long as the replies come in time, one connection serves all callers.
func TestOneConnectionWhileFast(t *testing.T) {
	bubble(t, pipeline.Config{}, served, func(t *testing.T, p *pipeline.Pipe, l *line) {
		var all sync.WaitGroup
		for range 200 {
			all.Go(func() {
				for range 20 {
					echoes(t, p, "x")
				}
			})
		}
		all.Wait()
		for range 20 {
			if _, _, err := p.Do(t.Context(), "SLEEP", "15ms"); err != nil {
				t.Fatal(err)
			}
			echoes(t, p, "x")
		}
		if n := l.dialled.Load(); n != 1 {
			t.Fatalf("%d connections were dialled", n)
		}
	})
}

// With one connection, all callers wait.
func TestOnlyOneConnection(t *testing.T) {
	bubble(t, pipeline.Config{Connections: 1}, numbered, func(t *testing.T, p *pipeline.Pipe, l *line) {
		slow := do(p, t.Context(), "SLEEP", "1s")
		pass(100 * time.Millisecond)
		if v, err := redis.String(first(p.Do(t.Context(), "WHERE"))); err != nil || v != "I" {
			t.Fatalf("answered by %s, %v", v, err)
		}
		if a := <-slow.answers; a.err != nil || l.dialled.Load() != 1 {
			t.Fatalf("%v, %d dials", a.err, l.dialled.Load())
		}
	})
}

// A first connection that is silently dead gets no more requests, also not while the second is slow
// for a moment.
func TestSecondSlowBesideADeadOne(t *testing.T) {
	bubble(t, pipeline.Config{Timeout: 5 * time.Second}, served, func(t *testing.T, p *pipeline.Pipe, l *line) {
		lost := do(p, t.Context(), "SILENCE")
		pass(100 * time.Millisecond)
		slow := do(p, t.Context(), "SLEEP", "50ms")
		pass(30 * time.Millisecond)
		echoes(t, p, "behind the slow one")
		if a := <-slow.answers; a.err != nil {
			t.Fatal(a.err)
		}
		if a := <-lost.answers; a.err == nil || !a.sent {
			t.Fatalf("%+v", a)
		}
	})
}

// After the first connection was lost while it was slow, the second serves alone.
func TestLossOfTheSlowOne(t *testing.T) {
	bubble(t, pipeline.Config{Timeout: time.Second}, func(n int, c net.Conn) {
		served(n, c)
	}, func(t *testing.T, p *pipeline.Pipe, l *line) {
		lost := do(p, t.Context(), "SILENCE")
		pass(100 * time.Millisecond)
		echoes(t, p, "over the second")
		if a := <-lost.answers; a.err == nil || !a.sent {
			t.Fatalf("%+v", a)
		}
		echoes(t, p, "over a new first")
		if n := l.dialled.Load(); n != 3 {
			t.Fatalf("%d connections were dialled", n)
		}
	})
}
