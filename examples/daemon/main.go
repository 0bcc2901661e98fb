// Daemon is a program that works on queues until it is told to stop: a handler and a limit for each
// queue, and Run.
//
//	go run ./examples/daemon
//	REDIS_URL=redis://127.0.0.1:6379 go run ./examples/daemon
//
// With REDIS_URL it runs until ^C, and `go run ./examples/producer` gives it work; start several,
// and they share it. Without, it gives itself a few tasks in a Redis inside this program, and stops
// when they are done.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/worqr/worqr-go/internal/local"
	"github.com/worqr/worqr-go/worqr"
)

func main() {
	// Run drains when this context ends: nothing new is taken, and what is in hand may end within
	// Grace.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, stop); err != nil {
		log.Fatal(err)
	}
}

func serve(ctx context.Context, stop func()) error {
	url, own, closeRedis, err := local.Redis()
	if err != nil {
		return err
	}
	defer closeRedis()

	mesh, err := worqr.Open(ctx, url, worqr.Config{Namespace: "examples"})
	if err != nil {
		return err
	}
	defer mesh.Close()

	var finished atomic.Int64
	worker, err := mesh.NewWorker(worqr.WorkerConfig{
		Queues: map[string]worqr.Queue{
			"mail":    {Handler: worqr.HandlerFunc(send), Limit: 4},   // up to four at once
			"reports": {Handler: worqr.HandlerFunc(report), Limit: 1}, // strictly one by one
		},
		Grace: 5 * time.Second,
		Hooks: worqr.Hooks{
			OnSettle: func(_ *worqr.Process, result worqr.Outcome, _ error) {
				if result != worqr.OutcomeDone { // it went back, to be tried again
					return
				}
				if n := finished.Add(1); own && n == int64(len(mails)+len(reports)) {
					stop()
				}
			},
			OnError: func(err error) { log.Print(err) },
		},
	})
	if err != nil {
		return err
	}
	if own {
		if err := mesh.Enqueue(ctx, "mail", mails...); err != nil {
			return err
		}
		if err := mesh.Enqueue(ctx, "reports", reports...); err != nil {
			return err
		}
	}
	if err := worker.Run(ctx); err != nil {
		return err
	}
	fmt.Printf("stopped after %d tasks, nothing left in hand\n", finished.Load())
	return nil
}

var (
	mails   = [][]byte{[]byte("welcome anna"), []byte("invoice bert"), []byte("invoice cleo"), []byte("reminder dora")}
	reports = [][]byte{[]byte("march"), []byte("april")}
)

// send is a handler. Nil finishes the task; an error puts it back at the front of the queue, to be
// tried again. The context ends when the task is canceled, the worker stops, or it cannot be sure
// any more that the task is its own.
func send(ctx context.Context, p *worqr.Process) error {
	if err := work(ctx, 100*time.Millisecond); err != nil {
		return err
	}
	fmt.Printf("sent: %s\n", p.Task())
	return nil
}

func report(ctx context.Context, p *worqr.Process) error {
	if err := work(ctx, 200*time.Millisecond); err != nil {
		return err
	}
	// Whatever lies outside of the mesh can refuse a token that is lower than one it has seen: then
	// no old owner of this task, however late, overwrites what a newer one wrote.
	fmt.Printf("report written: %s, token %d\n", p.Task(), p.Token())
	return nil
}

// work stands for something that takes time, and gives up when its context ends.
func work(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
