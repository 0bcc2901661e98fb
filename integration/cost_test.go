package integration

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/redistest"
)

// An enqueue with 1,000 idle workers costs Redis at most 1.5 times one with 1: each finds a parked
// worker, and what counts is the script's usec_per_call, the median of 5 interleaved runs.
//
// The workers are played by the operations themselves. They go by EVAL and only the enqueue by
// EVALSHA: so the server's own count of EVALSHA is that of the enqueues.
func TestEnqueueCostsTheSameWithManyIdleWorkers(t *testing.T) {
	server := redistest.Own(t)
	one, many := newFleet(t, server, 1), newFleet(t, server, 1000)
	const rounds, most = 1000, 1.5
	var low, high []float64
	for len(low) < 5 || len(low) < 15 && slices.Min(high) > most*slices.Min(low) {
		low, high = append(low, one.enqueues(t, rounds)), append(high, many.enqueues(t, rounds))
	}
	a, b := slices.Min(low), slices.Min(high) // the least: what ran beside it only adds
	t.Logf("usec_per_call, the least of %d rounds: with 1 idle worker %.2f, with 1,000 %.2f", len(low), a, b)
	if b > most*a {
		t.Errorf("an enqueue costs %.2f us with 1,000 idle workers and %.2f us with 1", b, a)
	}
}

// fleet is a mesh of idle workers, all subscribed to their wake channels over one connection.
type fleet struct {
	*field
	wakes                 redis.PubSubConn
	enqueue, take, settle operation
	numbers               map[string]int // of the next process, by worker
}

func newFleet(t testing.TB, server *redistest.Server, workers int) *fleet {
	t.Helper()
	conn, err := redis.DialURL(server.URL(), redis.DialReadTimeout(soon))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	l := &fleet{
		field: fieldAt(t, server), wakes: redis.PubSubConn{Conn: conn}, numbers: map[string]int{},
		enqueue: lua(t, "enqueue"), take: lua(t, "take"), settle: lua(t, "settle"),
	}
	l.enqueue.load(t, l.field)
	join, serve, open, newest := lua(t, "join"), lua(t, "serve"), lua(t, "open"), lua(t, "newest")
	for i := range workers {
		w := fmt.Sprintf("worker%04d", i)
		if err := l.wakes.Subscribe(l.channels(t) + ":wake:" + w); err != nil {
			t.Fatal(err)
		}
		l.wakes.Receive()
		join.onMesh(t, l.field, w, time.Hour.Milliseconds(), 1)
		serve.onMesh(t, l.field, w, queue, 1)
		open.on(t, l.field, w+".1", newest.on(t, l.field))
		l.park(t, w)
	}
	l.awaitIdle(t, workers)
	return l
}

// park makes a worker find the queue empty.
func (l *fleet) park(t testing.TB, worker string) {
	t.Helper()
	l.numbers[worker]++
	l.take.on(t, l.field, worker+".1", l.numbers[worker], 1, 1)
}

// enqueues stores n tasks one by one. The worker that an enqueue wakes takes the task, finishes it
// and parks again. It returns what an enqueue took by the server's own count.
func (l *fleet) enqueues(t testing.TB, n int) float64 {
	t.Helper()
	if _, err := l.conn.Do("CONFIG", "RESETSTAT"); err != nil {
		t.Fatal(err)
	}
	for range n {
		if _, err := l.conn.Do("EVALSHA", l.enqueue.sha, 1, l.ns+":{"+queue+"}", l.channels(t), queue, "a task of a few words"); err != nil {
			t.Fatal(err)
		}
		woken, ok := l.wakes.Receive().(redis.Message)
		if !ok {
			t.Fatal("nobody was woken")
		}
		_, worker, _ := strings.Cut(woken.Channel, ":wake:")
		if idle := l.count(t, "SCARD", l.key("idle")); idle != len(l.numbers)-1 {
			t.Fatalf("%d of %d workers are idle after one enqueue: it was to wake one", idle, len(l.numbers))
		}
		l.numbers[worker]++
		reply, err := redis.Strings(l.take.on(t, l.field, worker+".1", l.numbers[worker], 1, 0), nil)
		if err != nil || len(reply) != 4 {
			t.Fatalf("the woken worker took %q, %v", reply, err)
		}
		if told, err := redis.String(l.settle.on(t, l.field, worker+".1", reply[2]+" finish"), nil); err != nil || told != "done" {
			t.Fatalf("the finish of the run %s: %q, %v", reply[2], told, err)
		}
		l.park(t, worker)
	}
	stats, err := redis.String(l.conn.Do("INFO", "commandstats"))
	if err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(stats, "cmdstat_evalsha:")
	line, _, _ = strings.Cut(line, "\r\n")
	calls, _, _ := strings.Cut(strings.TrimPrefix(line, "calls="), ",")
	_, per, _ := strings.Cut(line, "usec_per_call=")
	per, _, _ = strings.Cut(per, ",")
	usec, err := strconv.ParseFloat(per, 64)
	if err != nil || calls != strconv.Itoa(n) {
		t.Fatalf("commandstats: %q", line)
	}
	return usec
}
