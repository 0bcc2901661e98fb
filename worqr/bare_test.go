package worqr_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/internal/wire"
)

// bare is a queue with one membership, W.1, that only scripts touch: no worker stands behind it.
type bare struct {
	testing.TB
	c    redis.Conn
	ns   string
	next int // number behind the last block
}

func bareAt(t testing.TB, c redis.Conn) *bare {
	t.Helper()
	b := &bare{t, c, redistest.Namespace(t), 1}
	b.run("open", "W.1", "0")
	return b
}

func (b *bare) key(rest string) string { return queuePrefix(b.ns, "q") + ":" + rest }

func (b *bare) channel() string { return b.ns + "@0:q:done" }

// do sends a command that has to succeed.
func (b *bare) do(command string, args ...any) any {
	b.Helper()
	reply, err := b.c.Do(command, args...)
	if err != nil {
		b.Fatalf("%s %v: %v", command, args, err)
	}
	return reply
}

// run runs a script of the queue.
func (b *bare) run(script string, args ...any) any {
	b.Helper()
	words := append([]any{wire.Named(script).Source, 1, queuePrefix(b.ns, "q"), b.ns + "@0", "q"}, args...)
	reply, err := b.c.Do("EVAL", words...)
	if err != nil {
		b.Fatalf("%s %v: %v", script, args, err)
	}
	return reply
}

func (b *bare) enqueue(tasks ...string) {
	b.Helper()
	b.run("enqueue", redis.Args{}.AddFlat(tasks)...)
}

// waiting returns the tasks, the front first.
func (b *bare) waiting() []string {
	b.Helper()
	list, err := redis.Strings(b.do("LRANGE", b.key("tasks"), 0, -1), nil)
	if err != nil {
		b.Fatal(err)
	}
	slices.Reverse(list)
	return list
}

// drawn is a process as take answers it.
type drawn struct {
	number, token int64
	task          string
}

// take asks for a block of numbers, and answers its state, how it packed its runs, and what they
// say.
func (b *bare) take(first, count int) (state, runs string, list []drawn) {
	b.Helper()
	reply, err := redis.Strings(b.run("take", "W.1", first, count, 0), nil)
	if err != nil || len(reply) < 3 {
		b.Fatalf("take answered %q, %v", reply, err)
	}
	b.next = max(b.next, first+count)
	state, runs = reply[1], reply[2]
	tasks := reply[3:]
	for run := range slices.Chunk(strings.Fields(runs), 3) {
		number, token, count := b.integer(run[0]), b.integer(run[1]), b.integer(run[2])
		for i := range count {
			list = append(list, drawn{number + i, token + i, tasks[i]})
		}
		tasks = tasks[count:]
	}
	if len(tasks) > 0 {
		b.Fatalf("runs %q leave %q over", runs, tasks)
	}
	return state, runs, list
}

func (b *bare) integer(s string) int64 {
	b.Helper()
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// settle sends one packed argument, and returns the words.
func (b *bare) settle(named ...string) []string {
	b.Helper()
	words, err := redis.String(b.run("settle", "W.1", strings.Join(named, " ")), nil)
	if err != nil {
		b.Fatal(err)
	}
	return strings.Split(words, " ")
}

// to is a run of one.
func (d drawn) to(outcome string) string { return d.run(1, outcome) }

// run is a run of so many processes, of which d is the first.
func (d drawn) run(count int, outcome string) string {
	return fmt.Sprintf("%d %d %d %s", d.number, d.token, count, outcome)
}

// agrees checks that Redis lists these processes, under these tokens and with these tasks, and no
// others.
func (b *bare) agrees(list []drawn) {
	b.Helper()
	rows, err := redis.Strings(b.do("ZRANGE", b.key("processes:W.1"), 0, -1, "WITHSCORES"), nil)
	if err != nil {
		b.Fatal(err)
	}
	var listed []drawn
	for row := range slices.Chunk(rows, 2) {
		task, err := redis.String(b.do("LINDEX", b.key("process:W.1."+row[0]), 0), nil)
		if err != nil {
			b.Fatalf("process %s: %v", row[0], err)
		}
		listed = append(listed, drawn{b.integer(row[0]), b.integer(row[1]), task})
	}
	want(b, "in hand", listed, list)
}

func numbers(list []drawn) (numbers []int64) {
	for _, d := range list {
		numbers = append(numbers, d.number)
	}
	return numbers
}

func tasksOf(list []drawn) (tasks []string) {
	for _, d := range list {
		tasks = append(tasks, d.task)
	}
	return tasks
}

// told is what a listener hears when the process is finished.
func (b *bare) told(d drawn) string { return fmt.Sprintf("W W.1.%d %d\n%s", d.number, d.token, d.task) }

// ear is a subscription of its own.
type ear struct {
	sub      redis.PubSubConn
	messages chan redis.Message
}

// listen subscribes to a name or a pattern. It returns when that is confirmed.
func listen(t testing.TB, server *redistest.Server, subscribe func(redis.PubSubConn, ...any) error, name string) *ear {
	t.Helper()
	e := &ear{redis.PubSubConn{Conn: server.Conn(t)}, make(chan redis.Message, 10_000)}
	if err := subscribe(e.sub, name); err != nil {
		t.Fatal(err)
	}
	if _, confirmed := e.sub.Receive().(redis.Subscription); !confirmed {
		t.Fatalf("the subscription to %s is not confirmed", name)
	}
	go func() {
		defer close(e.messages)
		for {
			switch m := e.sub.Receive().(type) {
			case redis.Message:
				e.messages <- m
			case error:
				return
			}
		}
	}()
	return e
}

// heard returns all that was told of finished processes until now.
func (e *ear) heard(b *bare) (told []string) {
	b.Helper()
	b.do("PUBLISH", b.channel(), "marker")
	for {
		m := receive(b, "a message", e.messages)
		if m.Channel != b.channel() {
			continue
		}
		if string(m.Data) == "marker" {
			return told
		}
		told = append(told, string(m.Data))
	}
}

// leave ends the subscription.
func (e *ear) leave() {
	_ = e.sub.Close() // its reader ends with an error
	for range e.messages {
	}
}
