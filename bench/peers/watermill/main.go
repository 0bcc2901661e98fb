// Watermill runs Watermill over Redis streams as a peer: one consumer group, and a subscriber for
// each handler, because one subscriber handles its messages one after the other.
package main

import (
	"context"
	"fmt"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-redisstream/pkg/redisstream"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/redis/go-redis/v9"

	"github.com/worqr/worqr-go/bench/adapter"
)

func main() {
	adapter.Main(adapter.Peer{
		Module: "github.com/ThreeDotsLabs/watermill-redisstream",
		Config: "one consumer group, a subscriber for each handler, a pooled connection for each of them and each caller, else defaults",
		Open:   open,
	})
}

func open(_ context.Context, o adapter.Options) (*adapter.Session, error) {
	client := redis.NewClient(&redis.Options{Addr: o.Redis, PoolSize: 2*o.Concurrency + 20})
	publisher, err := redisstream.NewPublisher(redisstream.PublisherConfig{Client: client}, watermill.NopLogger{})
	if err != nil {
		return nil, err
	}
	subscribe := func(ctx context.Context, handle, settled func()) error {
		subscriber, err := redisstream.NewSubscriber(redisstream.SubscriberConfig{Client: client, ConsumerGroup: "bench"}, watermill.NopLogger{})
		if err != nil {
			return err
		}
		messages, err := subscriber.Subscribe(ctx, "bench")
		if err != nil {
			return err
		}
		go func() {
			for m := range messages {
				handle()
				m.Ack()
				settled()
			}
		}()
		return nil
	}
	return &adapter.Session{
		Enqueue: func(_ context.Context, task []byte) error {
			return publisher.Publish("bench", message.NewMessage(watermill.NewULID(), task))
		},
		Consume: func(ctx context.Context, concurrency int, handle, settled func()) error {
			if concurrency > 2000 {
				return fmt.Errorf("%w: %d subscribers, each with a connection", adapter.ErrUnsupported, concurrency)
			}
			errs := make(chan error, concurrency)
			for range concurrency {
				go func() { errs <- subscribe(ctx, handle, settled) }()
			}
			for range concurrency {
				if err := <-errs; err != nil {
					return err
				}
			}
			return nil
		},
	}, nil
}
