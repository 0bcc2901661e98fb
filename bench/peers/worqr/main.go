// Worqr runs this library as a peer, with its defaults: one mesh, one worker, one queue with the
// limit that is asked for. A task counts as finished when Redis has confirmed it. Mode pipeline is
// its transport alone.
package main

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/bench/adapter"
	"github.com/worqr/worqr-go/internal/pipeline"
	"github.com/worqr/worqr-go/worqr"
)

const queue = "bench"

func main() {
	adapter.Main(adapter.Peer{
		Module: "github.com/worqr/worqr-go",
		Config: "defaults; Limit as asked; a task counts when it is settled",
		Open:   open,
	})
}

func open(ctx context.Context, o adapter.Options) (*adapter.Session, error) {
	if o.Mode == "pipeline" {
		return openPipeline(ctx, o)
	}
	mesh, err := worqr.Open(ctx, "redis://"+o.Redis, worqr.Config{})
	if err != nil {
		return nil, err
	}
	return &adapter.Session{
		Enqueue: func(ctx context.Context, task []byte) error { return mesh.Enqueue(ctx, queue, task) },
		Fill: func(ctx context.Context, task []byte, n int) error {
			tasks := make([][]byte, n)
			for i := range tasks {
				tasks[i] = task
			}
			return mesh.Enqueue(ctx, queue, tasks...)
		},
		Consume: func(ctx context.Context, concurrency int, handle, settled func()) error {
			return consume(ctx, mesh, concurrency, handle, settled)
		},
	}, nil
}

// consume starts a worker and waits until its notifications are subscribed.
func consume(ctx context.Context, mesh *worqr.Mesh, concurrency int, handle, settled func()) error {
	ready := make(chan struct{}, 1)
	worker, err := mesh.NewWorker(worqr.WorkerConfig{
		Queues: map[string]worqr.Queue{queue: {
			Limit: concurrency,
			Handler: worqr.HandlerFunc(func(context.Context, *worqr.Process) error {
				handle()
				return nil
			}),
		}},
		Hooks: worqr.Hooks{
			OnReady: func() {
				select {
				case ready <- struct{}{}:
				default:
				}
			},
			OnSettle: func(_ *worqr.Process, result worqr.Outcome, err error) {
				if err == nil && result == "done" {
					settled()
				}
			},
		},
	})
	if err != nil {
		return err
	}
	failed := make(chan error, 1)
	go func() { failed <- worker.Run(ctx) }()
	select {
	case <-ready:
		return nil
	case err := <-failed:
		return errors.Join(errors.New("the worker ended"), err)
	}
}

// openPipeline sends one trivial script over the transport.
func openPipeline(ctx context.Context, o adapter.Options) (*adapter.Session, error) {
	const script = "return ARGV[1]"
	pipe := pipeline.New(pipeline.Config{Dial: func(ctx context.Context) (redis.Conn, error) {
		return redis.DialContext(ctx, "tcp", o.Redis)
	}})
	if _, _, err := pipe.Do(ctx, "SCRIPT", "LOAD", script); err != nil {
		return nil, err
	}
	sum := sha1.Sum([]byte(script))
	sha := hex.EncodeToString(sum[:])
	return &adapter.Session{Call: func(ctx context.Context) error {
		_, _, err := pipe.Do(ctx, "EVALSHA", sha, 1, "key", "0123456789abcdef0123456789abcdef")
		return err
	}}, nil
}
