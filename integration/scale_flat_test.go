package integration

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/redistest"
)

// The scripts of a life cycle cost Redis the same with 1 idle worker as with 1,000.
func TestLifeCycleCostsTheSameWithManyIdleWorkers(t *testing.T) {
	server := redistest.Own(t)
	var sizes []size
	for _, idle := range []int{1, 30, 1000} {
		c := newCrew(t, fieldAt(t, server), idle)
		sizes = append(sizes, size{idle, c.field, c.cycle})
	}
	flat(t, "idle workers", sizes)
}

// The scripts of a life cycle cost Redis the same with 1,000 waiting tasks and one worker as with
// 1,000,000 and 1,000.
func TestLifeCycleCostsTheSameWithManyWaitingTasks(t *testing.T) {
	server := redistest.Own(t)
	var sizes []size
	for _, n := range []struct{ waiting, workers int }{{1000, 1}, {30_000, 30}, {1_000_000, 1000}} {
		c := newCrew(t, fieldAt(t, server), n.workers)
		h := c.hands[0]
		c.fill(t, h.queue, n.waiting)
		sizes = append(sizes, size{n.waiting, c.field, func() {
			h.do("enqueue", "a task")
			h.finish()
		}})
	}
	flat(t, "waiting tasks", sizes)
}

// size is a mesh of some size, and a life cycle in it.
type size struct {
	n     int
	field *field
	cycle func()
}

// flat asserts that no size costs more than 1.5 times what the first does: by the server's own
// count of the time that it spends in EVALSHA, the least of 7 or more interleaved runs: what runs
// beside them only adds.
func flat(t *testing.T, what string, sizes []size) {
	t.Helper()
	const cycles, runs, most = 300, 7, 1.5
	costs := make([]float64, len(sizes))
	for run := 0; run < runs || run < 3*runs && slices.Max(costs) > most*costs[0]; run++ {
		for i, s := range sizes {
			if _, err := s.field.conn.Do("CONFIG", "RESETSTAT"); err != nil {
				t.Fatal(err)
			}
			for range cycles {
				s.cycle()
			}
			var calls, us int
			s.field.info(t, "commandstats", "cmdstat_evalsha:calls=%d,usec=%d", &calls, &us)
			if cost := float64(us) / cycles; run == 0 || cost < costs[i] {
				costs[i] = cost
			}
		}
	}
	for i, s := range sizes {
		t.Logf("%d %s: %.1f us of scripts per life cycle", s.n, what, costs[i])
		if costs[i] > most*costs[0] {
			t.Errorf("%d %s: %.1f us per life cycle, with %d it is %.1f us: want 1.5 times as much at most", s.n, what, costs[i], sizes[0].n, costs[0])
		}
	}
}

// crew is a number of workers that wait for tasks, all subscribed to their wake channels over one
// connection.
type crew struct {
	*field
	wakes redis.PubSubConn
	hands []*hand
}

func newCrew(t testing.TB, f *field, workers int) *crew {
	t.Helper()
	conn, err := redis.DialURL(f.server.URL(), redis.DialReadTimeout(soon))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	c := &crew{field: f, wakes: redis.PubSubConn{Conn: conn}}
	for range workers {
		h := f.play(t, queue, time.Hour.Milliseconds())
		if err := c.wakes.Subscribe(f.channels(t) + ":wake:" + h.worker); err != nil {
			t.Fatal(err)
		}
		c.wakes.Receive()
		h.take(1, true)
		c.hands = append(c.hands, h)
	}
	c.awaitIdle(t, workers)
	return c
}

// cycle stores a task. The one worker that it wakes takes it, finishes it, and waits again.
func (c *crew) cycle() {
	t := c.hands[0].t
	t.Helper()
	c.hands[0].do("enqueue", "a task")
	woken, ok := c.wakes.Receive().(redis.Message)
	if !ok {
		t.Fatal("nobody was woken")
	}
	i := slices.IndexFunc(c.hands, func(h *hand) bool { return strings.HasSuffix(woken.Channel, ":wake:"+h.worker) })
	c.hands[i].finish()
	c.hands[i].take(1, true)
}
