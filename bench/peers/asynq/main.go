// Asynq runs hibiken/asynq as a peer: a server with one queue and the concurrency that is asked
// for, a client, and pools with the number of connections at which it was fastest. Everything else
// is the default.
package main

import (
	"context"

	"github.com/hibiken/asynq"

	"github.com/worqr/worqr-go/bench/adapter"
)

func main() {
	adapter.Main(adapter.Peer{
		Module: "github.com/hibiken/asynq",
		Config: "defaults; Concurrency as asked, a pool of up to 84 connections",
		Open:   open,
	})
}

func open(_ context.Context, o adapter.Options) (*adapter.Session, error) {
	redis := asynq.RedisClientOpt{Addr: o.Redis, PoolSize: min(o.Concurrency, 64) + 20}
	client := asynq.NewClient(redis)
	return &adapter.Session{
		Enqueue: func(ctx context.Context, task []byte) error {
			_, err := client.EnqueueContext(ctx, asynq.NewTask("bench", task))
			return err
		},
		Consume: func(_ context.Context, concurrency int, handle, settled func()) error {
			server := asynq.NewServer(redis, asynq.Config{Concurrency: concurrency, LogLevel: asynq.FatalLevel})
			return server.Start(asynq.HandlerFunc(func(context.Context, *asynq.Task) error {
				handle()
				settled()
				return nil
			}))
		},
	}, nil
}
