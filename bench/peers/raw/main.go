// Raw is the ceiling: this library's own scripts, sent by loops that one would write by hand,
// without a library around them, leases, contexts, or a handler. It settles what it takes, at most
// 64 tasks a batch.
package main

import (
	"context"
	"fmt"

	"github.com/worqr/worqr-go/bench/adapter"
)

const (
	queue   = "bench"
	prefix  = "worqr:{bench}"
	root    = "worqr@0"
	worker  = "raw"
	member  = worker + ".1"
	largest = 64 // tasks in a batch
)

func main() {
	adapter.Main(adapter.Peer{
		Module: "none",
		Config: "the scripts of this tree on one pipelined connection, batches of up to 64 tasks",
		Open:   open,
	})
}

// raw is a connection with the scripts loaded, and one membership in one queue.
type raw struct {
	conn *conn
	sha  map[string]string
	next int64 // number of the next process
}

func open(_ context.Context, o adapter.Options) (*adapter.Session, error) {
	conn, err := dial(o.Redis)
	if err != nil {
		return nil, err
	}
	r := &raw{conn: conn, sha: map[string]string{}, next: 1}
	for _, name := range []string{"newest", "open", "enqueue", "take", "settle"} {
		source, err := script(o.Scripts, name)
		if err == nil {
			r.sha[name], err = text(conn.do("SCRIPT", "LOAD", source))
		}
		if err != nil {
			return nil, fmt.Errorf("script %s: %w", name, err)
		}
	}
	ticket, err := text(conn.do(r.words("newest")...))
	if err == nil {
		_, err = conn.do(r.words("open", member, ticket)...)
	}
	if err != nil {
		return nil, fmt.Errorf("open the membership: %w", err)
	}
	return &adapter.Session{Own: map[string]func(context.Context, *adapter.Run) error{
		"mixed": r.mixed, "drain": r.drain, "wake": r.wake, "enqueue": r.enqueue,
	}}, nil
}

// words returns the command that runs a script.
func (r *raw) words(name string, args ...any) []any {
	return append([]any{"EVALSHA", r.sha[name], "1", prefix, root, queue}, args...)
}

func text(reply any, err error) (string, error) {
	b, ok := reply.([]byte)
	if err == nil && !ok {
		err = fmt.Errorf("the answer is %v", reply)
	}
	return string(b), err
}

// tasks returns n copies of a task, as arguments of enqueue.
func tasks(task []byte, n int) []any {
	args := make([]any, n)
	for i := range args {
		args[i] = task
	}
	return args
}
