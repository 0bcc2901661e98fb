// Taylorchu runs taylorchu/work as a peer: as many goroutines as are asked for, a look each second
// when there is nothing, and a minute for a job.
package main

import (
	"context"
	"time"

	"github.com/go-redis/redis/v8"
	"github.com/taylorchu/work"

	"github.com/worqr/worqr-go/bench/adapter"
)

func main() {
	adapter.Main(adapter.Peer{
		Module: "github.com/taylorchu/work",
		Config: "NumGoroutines as asked, IdleWait 1 s, MaxExecutionTime 1 min, a pool of up to 84 connections",
		Open:   open,
	})
}

func open(_ context.Context, o adapter.Options) (*adapter.Session, error) {
	client := redis.NewClient(&redis.Options{Addr: o.Redis, PoolSize: min(2*o.Concurrency, 64) + 20})
	queue := work.NewRedisQueue(client)
	to := &work.EnqueueOptions{Namespace: "{bench}", QueueID: "q"}
	job := func(task []byte) (*work.Job, error) {
		j := work.NewJob()
		return j, j.MarshalPayload(task)
	}
	return &adapter.Session{
		Enqueue: func(_ context.Context, task []byte) error {
			j, err := job(task)
			if err != nil {
				return err
			}
			return queue.Enqueue(j, to)
		},
		Fill: func(_ context.Context, task []byte, n int) error {
			for n > 0 {
				var jobs []*work.Job
				for range min(n, 500) {
					j, err := job(task)
					if err != nil {
						return err
					}
					jobs = append(jobs, j)
				}
				if err := queue.BulkEnqueue(jobs, to); err != nil {
					return err
				}
				n -= len(jobs)
			}
			return nil
		},
		Consume: func(_ context.Context, concurrency int, handle, settled func()) error {
			worker := work.NewWorker(&work.WorkerOptions{Namespace: "{bench}", Queue: queue})
			err := worker.RegisterWithContext("q", func(context.Context, *work.Job, *work.DequeueOptions) error {
				handle()
				settled()
				return nil
			}, &work.JobOptions{MaxExecutionTime: time.Minute, IdleWait: time.Second, NumGoroutines: int64(concurrency)})
			worker.Start()
			return err
		},
	}, nil
}
