// Gocraft runs gocraft/work as a peer: a worker pool with the concurrency that is asked for, an
// enqueuer, and a pool with the number of connections at which it was fastest. Everything else is
// the default.
package main

import (
	"context"
	"io"
	"log"

	"github.com/gocraft/work"
	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/bench/adapter"
)

func main() {
	log.SetOutput(io.Discard)
	adapter.Main(adapter.Peer{
		Module: "github.com/gocraft/work",
		Config: "defaults; concurrency as asked, a pool of up to 84 connections",
		Open:   open,
	})
}

func open(_ context.Context, o adapter.Options) (*adapter.Session, error) {
	most := min(2*o.Concurrency, 64) + 20 // more make it slower
	pool := &redis.Pool{
		MaxActive: most, MaxIdle: most, Wait: true,
		Dial: func() (redis.Conn, error) { return redis.Dial("tcp", o.Redis) },
	}
	enqueuer := work.NewEnqueuer("bench", pool)
	return &adapter.Session{
		Enqueue: func(_ context.Context, task []byte) error {
			_, err := enqueuer.Enqueue("job", work.Q{"task": string(task)})
			return err
		},
		Consume: func(_ context.Context, concurrency int, handle, settled func()) error {
			workers := work.NewWorkerPool(struct{}{}, uint(concurrency), "bench", pool)
			workers.Job("job", func(*work.Job) error {
				handle()
				settled()
				return nil
			})
			workers.Start()
			return nil
		},
	}, nil
}
