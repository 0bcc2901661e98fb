// Command daemon serves two queues, and writes to its standard output what it does. It is built
// against this revision of the library and against one before, so it uses only what both have.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/worqr/worqr-go/worqr"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func serve(ctx context.Context, url, namespace string) error {
	mesh, err := worqr.Open(ctx, url, worqr.Config{Namespace: namespace})
	if err != nil {
		return err
	}
	defer mesh.Close()
	// tell writes one line at once: two handlers' lines do not mix.
	tell := func(words ...any) {
		os.Stdout.WriteString(strings.TrimSpace(fmt.Sprintln(append([]any{time.Now().UnixNano()}, words...)...)) + "\n")
	}
	worker, err := mesh.NewWorker(worqr.WorkerConfig{
		Queues: map[string]worqr.Queue{
			// A task "a 7" makes a task "b 7": both revisions enqueue.
			"jobs": {Limit: 4, Handler: worqr.HandlerFunc(func(ctx context.Context, p *worqr.Process) error {
				tell("run", p.Token(), string(p.Task()))
				if number, first := strings.CutPrefix(string(p.Task()), "a "); first {
					if err := mesh.Enqueue(ctx, "jobs", []byte("b "+number)); err != nil {
						return err
					}
				}
				tell("done", p.Token(), string(p.Task()))
				return nil
			})},
			"feeds": {Persistent: true, Handler: worqr.HandlerFunc(func(ctx context.Context, p *worqr.Process) error {
				tell("hold", p.Token(), string(p.Task()), string(p.Past().Checkpoint))
				err := p.Checkpoint(ctx, fmt.Append(nil, p.Token()))
				<-ctx.Done()
				cause := context.Cause(ctx).Error()
				if err != nil { // it ended at once
					cause = ""
				}
				tell("end", p.Token(), string(p.Task()), strings.ReplaceAll(cause, " ", "_"))
				return ctx.Err()
			})},
		},
		Beat: 200 * time.Millisecond, Lapse: 2 * time.Second, Sweep: 300 * time.Millisecond, Grace: 3 * time.Second,
		Hooks: worqr.Hooks{OnJoin: func(string) { tell("joined") }, OnError: func(err error) { log.Print(err) }},
	})
	if err != nil {
		return err
	}
	return worker.Run(ctx)
}
