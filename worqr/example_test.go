package worqr_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/worqr/worqr-go/events"
	"github.com/worqr/worqr-go/worqr"
	"github.com/worqr/worqr-go/worqrtest"
)

// The examples open their mesh by worqrtest.Open, which needs no Redis. A program calls worqr.Open
// with the URL of its Redis, and Close at the end.

// One call for each verb: a producer enqueues, a worker takes, works and finishes.
func Example() {
	mesh, end := worqrtest.Open() // a program: worqr.Open(ctx, "redis://localhost:6379/0", worqr.Config{})
	defer end()
	ctx := context.Background()

	if err := mesh.Enqueue(ctx, "orders", []byte("order 1"), []byte("order 2")); err != nil {
		log.Fatal(err)
	}

	worker, err := mesh.NewWorker(worqr.WorkerConfig{})
	if err != nil {
		log.Fatal(err)
	}
	if err := errors.Join(worker.Start(ctx), worker.StartWork(ctx, "orders")); err != nil {
		log.Fatal(err)
	}
	for {
		process, err := worker.Take(ctx, "orders")
		if errors.Is(err, worqr.ErrEmpty) {
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("working on %s\n", process.Task())
		mine, err := process.Finish(ctx) // true to exactly one caller
		fmt.Println("finished:", mine, err)
	}
	// Output:
	// working on order 1
	// finished: true <nil>
	// working on order 2
	// finished: true <nil>
}

// A task is any bytes. Those of one call keep their order.
func ExampleMesh_Enqueue() {
	mesh, end := worqrtest.Open()
	defer end()
	ctx := context.Background()

	err := mesh.Enqueue(ctx, "orders", []byte("17"), []byte("18"))
	if errors.Is(err, worqr.ErrUnknown) {
		// It was sent and no reply came, so it may be stored. Enqueue it again where twice is
		// better than never.
		err = mesh.Enqueue(ctx, "orders", []byte("17"), []byte("18"))
	}
	if err != nil {
		log.Fatal(err)
	}
	waiting, err := mesh.Len(ctx, "orders")
	fmt.Println("waiting:", waiting, err)
	// Output: waiting: 2 <nil>
}

// A daemon has a handler for each queue, and makes one blocking call.
func ExampleWorker_Run() {
	mesh, end := worqrtest.Open()
	defer end()
	ctx, stop := context.WithCancel(context.Background()) // a daemon: signal.NotifyContext
	defer stop()
	if err := mesh.Enqueue(ctx, "mails", []byte("to ann"), []byte("to bob"), []byte("to eve")); err != nil {
		log.Fatal(err)
	}

	sent := 0
	worker, err := mesh.NewWorker(worqr.WorkerConfig{
		Queues: map[string]worqr.Queue{
			"mails": {Limit: 1, Handler: worqr.HandlerFunc(func(ctx context.Context, p *worqr.Process) error {
				fmt.Printf("sent %s\n", p.Task())
				if sent++; sent == 3 {
					stop()
				}
				return nil // finishes the task; an error puts it back
			})},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("ended:", worker.Run(ctx)) // it returns after the handlers
	// Output:
	// sent to ann
	// sent to bob
	// sent to eve
	// ended: <nil>
}

// A callback is called when a queue has work. It takes until nothing is left.
func ExampleWorker_On() {
	mesh, end := worqrtest.Open()
	defer end()
	ctx := context.Background()
	worker, err := mesh.NewWorker(worqr.WorkerConfig{})
	if err != nil {
		log.Fatal(err)
	}
	if err := worker.Start(ctx); err != nil {
		log.Fatal(err)
	}

	done := make(chan struct{})
	_, err = worker.On("photos", func(e events.Event) {
		if e.Kind != events.Work {
			return
		}
		for { // one event may stand for many tasks
			process, err := worker.Take(ctx, "photos")
			if err != nil {
				return // worqr.ErrEmpty: all is taken
			}
			fmt.Printf("developed %s\n", process.Task())
			if mine, err := process.Finish(ctx); mine && err == nil && string(process.Task()) == "b.jpg" {
				close(done)
			}
		}
	})
	if err != nil {
		log.Fatal(err)
	}
	err = errors.Join(
		mesh.Enqueue(ctx, "photos", []byte("a.jpg")), // it waits already when the worker serves the queue
		worker.StartWork(ctx, "photos"),
		mesh.Enqueue(ctx, "photos", []byte("b.jpg")),
	)
	if err != nil {
		log.Fatal(err)
	}
	<-done
	// Output:
	// developed a.jpg
	// developed b.jpg
}

// Cancel ends a task wherever it is: copies that wait are removed, and the context of those in hand
// ends.
func ExampleMesh_Cancel() {
	mesh, end := worqrtest.Open()
	defer end()
	ctx := context.Background()
	worker, err := mesh.NewWorker(worqr.WorkerConfig{})
	if err != nil {
		log.Fatal(err)
	}
	err = errors.Join(
		worker.Start(ctx), worker.StartWork(ctx, "reports"),
		mesh.Enqueue(ctx, "reports", []byte("yearly"), []byte("weekly"), []byte("yearly")),
	)
	if err != nil {
		log.Fatal(err)
	}
	running, err := worker.Take(ctx, "reports")
	if err != nil {
		log.Fatal(err)
	}

	found, err := mesh.Cancel(ctx, "reports", []byte("yearly"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("removed:", found.Waiting)
	fmt.Println("in hand:", len(found.Running))

	<-running.Context().Done()
	fmt.Println("canceled:", errors.Is(context.Cause(running.Context()), worqr.ErrCanceled))
	if err := running.Stop(ctx); err != nil { // a canceled task does not come back
		log.Fatal(err)
	}
	left, err := mesh.Len(ctx, "reports")
	fmt.Println("left:", left, err)
	// Output:
	// removed: 1
	// in hand: 1
	// canceled: true
	// left: 1 <nil>
}

// Hooks are called with what a worker does, for logs and metrics. A hook must not block.
func ExampleHooks() {
	mesh, end := worqrtest.Open()
	defer end()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	if err := mesh.Enqueue(ctx, "orders", []byte("17")); err != nil {
		log.Fatal(err)
	}

	worker, err := mesh.NewWorker(worqr.WorkerConfig{
		Queues: map[string]worqr.Queue{
			"orders": {Handler: worqr.HandlerFunc(func(context.Context, *worqr.Process) error { return nil })},
		},
		Hooks: worqr.Hooks{
			OnJoin: func(worker string) { fmt.Println("joined") },
			OnTake: func(p *worqr.Process) { fmt.Printf("took %s of %s\n", p.Task(), p.Queue()) },
			OnSettle: func(p *worqr.Process, result worqr.Outcome, err error) {
				fmt.Println("settled:", result, err)
				stop()
			},
			OnLeave: func(worker string) { fmt.Println("left") },
			OnError: func(err error) { log.Print(err) }, // the worker goes on
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("ended:", worker.Run(ctx))
	// Output:
	// joined
	// took 17 of orders
	// settled: done <nil>
	// left
	// ended: <nil>
}
