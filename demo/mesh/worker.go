package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/worqr/worqr-go/worqr"
)

// The parent gives its workers their orders by the environment; REDIS_URL, which may hold a
// password, is no argument that others could list.
const (
	envQueue = "WORQR_MESH_QUEUE"
	envPace  = "WORQR_MESH_PACE"
)

const (
	namespace = "worqr-demo"
	limit     = 4 // handlers at once in each worker
)

// work is a worker process: it hashes the files that it takes from the queue until the parent is
// gone or wants it to stop, which it learns by the end of its standard input.
func work() error {
	signal.Ignore(os.Interrupt) // ^C reaches all processes of a terminal; the parent says what follows from it
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	pace, err := time.ParseDuration(os.Getenv(envPace))
	if err != nil {
		return err
	}
	mesh, err := worqr.Open(ctx, os.Getenv("REDIS_URL"), worqr.Config{Namespace: namespace})
	if err != nil {
		return err
	}
	out := newReporter(os.Stdout)
	worker, err := mesh.NewWorker(worqr.WorkerConfig{
		Queues: map[string]worqr.Queue{
			os.Getenv(envQueue): {Handler: hasher{out, pace}, Limit: limit},
		},
		Hooks: worqr.Hooks{
			OnJoin:    func(id string) { out.tell(report{Kind: joined, Worker: id}) },
			OnLapse:   func(id string, _ error) { out.tell(report{Kind: lapsed, Worker: id}) },
			OnReclaim: func(id, _ string, _ int) { out.tell(report{Kind: reclaimed, Worker: id}) },
			OnTake: func(p *worqr.Process) {
				out.tell(report{Kind: took, Process: p.ID(), Token: p.Token(), Task: p.Task()})
			},
			OnError: func(err error) { out.tell(report{Kind: trouble, Note: err.Error()}) },
		},
	})
	if err != nil {
		return errors.Join(err, mesh.Close())
	}
	return errors.Join(worker.Run(ctx), mesh.Close())
}

// hasher handles a task, which is the path of a file. It finishes the process itself, rather than
// by returning nil, to learn whether it was the one to do so.
type hasher struct {
	out  *reporter
	pace time.Duration
}

// Handle implements worqr.Handler.
func (h hasher) Handle(ctx context.Context, p *worqr.Process) error {
	least := time.After(h.pace)
	sum, _ := sumOf(ctx, string(p.Task())) // "" for what cannot be read: another try would not help, and the parent sees it
	select {
	case <-least:
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return context.Cause(ctx) // not this worker's any more, or it stops: a peer does it
	}
	h.out.tell(report{Kind: hashed, Process: p.ID(), Task: p.Task(), Sum: sum})
	won, err := p.Finish(ctx)
	told := report{Kind: finished, Process: p.ID(), Task: p.Task(), Won: won}
	if err != nil {
		told.Note = err.Error()
	}
	h.out.tell(told)
	return nil
}
