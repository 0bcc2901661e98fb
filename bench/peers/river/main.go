// River runs River as a peer, over PostgreSQL: its own migrations, one queue with as many workers
// as are asked for, the fetching that its own benchmark has (with its defaults each worker gets at
// most ten tasks a second), and a pool with the number of connections at which it was fastest.
package main

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/worqr/worqr-go/bench/adapter"
)

func main() {
	adapter.Main(adapter.Peer{
		Module:  "github.com/riverqueue/river",
		Config:  "fetches as its own benchmark does (FetchCooldown 2 ms, FetchPollInterval 20 ms), MaxWorkers as asked, a pool of 10 connections; PostgreSQL without fsync",
		NoRedis: true,
		Open:    open,
	})
}

type task struct {
	Task string `json:"task"`
}

func (task) Kind() string { return "bench" }

func open(ctx context.Context, o adapter.Options) (*adapter.Session, error) {
	config, err := pgxpool.ParseConfig(o.Postgres)
	if err != nil {
		return nil, err
	}
	config.MaxConns = 10 // on two cores it is slower with more
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	driver := riverpgxv5.New(pool)
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	if o.Mode != "rescue" { // the second program finds the tables
		migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: quiet})
		if err == nil {
			_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
		}
		if err != nil {
			return nil, err
		}
	}
	producer, err := river.NewClient(driver, &river.Config{Logger: quiet})
	if err != nil {
		return nil, err
	}
	return &adapter.Session{
		Enqueue: func(ctx context.Context, t []byte) error {
			_, err := producer.Insert(ctx, task{string(t)}, nil)
			return err
		},
		Fill: func(ctx context.Context, t []byte, n int) error {
			batch := make([]river.InsertManyParams, n)
			for i := range batch {
				batch[i] = river.InsertManyParams{Args: task{string(t)}}
			}
			_, err := producer.InsertManyFast(ctx, batch)
			return err
		},
		Consume: func(ctx context.Context, concurrency int, handle, settled func()) error {
			return consume(ctx, driver, quiet, concurrency, handle, settled)
		},
	}, nil
}

func consume(ctx context.Context, driver *riverpgxv5.Driver, quiet *slog.Logger, concurrency int, handle, settled func()) error {
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(func(context.Context, *river.Job[task]) error {
		handle()
		settled()
		return nil
	}))
	client, err := river.NewClient[pgx.Tx](driver, &river.Config{
		FetchCooldown: 2 * time.Millisecond, FetchPollInterval: 20 * time.Millisecond,
		Logger: quiet, Workers: workers, Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: concurrency}},
	})
	if err != nil {
		return err
	}
	return client.Start(ctx)
}
