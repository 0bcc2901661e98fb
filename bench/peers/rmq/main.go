// Rmq runs adjust/rmq as a peer: as many consumers as are asked for, a prefetch above that, and the
// polling of its own example; in variant 1ms it polls each millisecond. Its cleaner runs each
// second, as in its example.
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/adjust/rmq/v5"
	"github.com/redis/go-redis/v9"

	"github.com/worqr/worqr-go/bench/adapter"
)

func main() {
	adapter.Main(adapter.Peer{
		Module: "github.com/adjust/rmq/v5",
		Config: "prefetch of 1,000 or twice the consumers, polls each 100 ms or 1 ms, a cleaner each second, a pool of up to 84 connections",
		Open:   open,
	})
}

func open(_ context.Context, o adapter.Options) (*adapter.Session, error) {
	client := redis.NewClient(&redis.Options{Addr: o.Redis, PoolSize: min(o.Concurrency, 64) + 20})
	errs := make(chan error, 100)
	connection, err := rmq.OpenConnectionWithRedisClient("bench", client, errs)
	if err != nil {
		return nil, err
	}
	queue, err := connection.OpenQueue("bench")
	if err != nil {
		return nil, err
	}
	return &adapter.Session{
		Enqueue: func(_ context.Context, task []byte) error { return queue.PublishBytes(task) },
		Fill: func(_ context.Context, task []byte, n int) error {
			tasks := make([][]byte, n)
			for i := range tasks {
				tasks[i] = task
			}
			return queue.PublishBytes(tasks...)
		},
		Consume: func(_ context.Context, concurrency int, handle, settled func()) error {
			poll := 100 * time.Millisecond
			if o.Variant == "1ms" {
				poll = time.Millisecond
			}
			if err := queue.StartConsuming(int64(max(1000, 2*concurrency)), poll); err != nil {
				return err
			}
			for i := range concurrency {
				if _, err := queue.AddConsumerFunc(fmt.Sprint(i), func(d rmq.Delivery) {
					handle()
					if d.Ack() == nil {
						settled()
					}
				}); err != nil {
					return err
				}
			}
			go func() {
				cleaner := rmq.NewCleaner(connection)
				for range time.Tick(time.Second) {
					_, _ = cleaner.Clean() // the next round tries again
				}
			}()
			return nil
		},
	}, nil
}
