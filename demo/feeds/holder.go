package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/worqr/worqr-go/internal/witness"
	"github.com/worqr/worqr-go/worqr"
)

// The parent gives its holders their orders by the environment; REDIS_URL, which may hold a
// password, is no argument that others could list.
const (
	envName    = "WORQR_FEEDS_NAME"
	envQueue   = "WORQR_FEEDS_QUEUE"
	envServer  = "WORQR_FEEDS_SERVER"
	envWitness = "WORQR_FEEDS_WITNESS"
)

const (
	namespace = "worqr-feeds"
	label     = "holder"
)

// serve is a holder process: it holds its share of the feeds until it is told to stop, and then
// gives them up.
func serve() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	minded(stop)

	mesh, err := worqr.Open(ctx, os.Getenv("REDIS_URL"), worqr.Config{Namespace: namespace})
	if err != nil {
		return err
	}
	defer mesh.Close()
	told, err := witness.Dial(ctx, os.Getenv(envWitness), os.Getenv(envName))
	if err != nil {
		return err
	}
	worker, err := mesh.NewWorker(worqr.WorkerConfig{
		Queues: map[string]worqr.Queue{
			os.Getenv(envQueue): {Handler: witnessed{told, reader{os.Getenv(envServer)}}, Persistent: true},
		},
		Labels: map[string]string{label: os.Getenv(envName)},
		Grace:  5 * time.Second,
		Hooks: worqr.Hooks{
			OnError: func(err error) { fmt.Fprintf(os.Stderr, "%s: %v\n", os.Getenv(envName), err) },
		},
	})
	if err != nil {
		return err
	}
	return errors.Join(worker.Run(ctx), told.Close())
}

// minded has the holder stop when its parent has ended, which the end of its standard input tells.
// ^C reaches all processes of a terminal; the parent says what follows from it.
func minded(stop func()) {
	signal.Ignore(os.Interrupt)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
}

// witnessed reports each hold to the witness, ten times a second for as long as it lasts. It is
// what proves this demo; a program of yours does without.
type witnessed struct {
	witness *witness.Teller
	handler worqr.Handler
}

// Handle implements worqr.Handler.
func (w witnessed) Handle(ctx context.Context, p *worqr.Process) error {
	held := w.witness.Hold(string(p.Task()), p.Token(), string(p.Past().Why), p.Valid)
	defer held.Done()
	return w.handler.Handle(ctx, p)
}
