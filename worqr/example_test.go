package worqr_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/worqr/worqr-go/events"
	"github.com/worqr/worqr-go/internal/embedded"
	"github.com/worqr/worqr-go/worqr"
)

// One call for each verb: a producer enqueues, a worker takes, works and finishes.
func Example() {
	server, err := embedded.Start() // or any Redis
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	ctx := context.Background()
	mesh, err := worqr.Open(ctx, server.URL(), worqr.Config{Namespace: "shop"})
	if err != nil {
		log.Fatal(err)
	}
	defer mesh.Close()

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

// The daemon's way: a handler for each queue, and one blocking call.
func ExampleWorker_Run() {
	server, err := embedded.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	ctx, cancel := context.WithCancel(context.Background()) // in a daemon: signal.NotifyContext
	defer cancel()
	mesh, err := worqr.Open(ctx, server.URL(), worqr.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer mesh.Close()
	if err := mesh.Enqueue(ctx, "mails", []byte("to ann"), []byte("to bob"), []byte("to eve")); err != nil {
		log.Fatal(err)
	}

	sent := 0
	worker, err := mesh.NewWorker(worqr.WorkerConfig{
		Queues: map[string]worqr.Queue{
			"mails": {Limit: 1, Handler: worqr.HandlerFunc(func(ctx context.Context, p *worqr.Process) error {
				fmt.Printf("sent %s\n", p.Task())
				if sent++; sent == 3 {
					cancel()
				}
				return nil // finishes the process; an error puts the task back
			})},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("ended:", worker.Run(ctx)) // after its handlers have returned
	// Output:
	// sent to ann
	// sent to bob
	// sent to eve
	// ended: <nil>
}

// A callback is told of what happens in a queue, and takes the work that it is told of.
func ExampleWorker_On() {
	server, err := embedded.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	ctx := context.Background()
	mesh, err := worqr.Open(ctx, server.URL(), worqr.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer mesh.Close()
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
		for { // the event is a hint, so it takes until there is nothing left
			process, err := worker.Take(ctx, "photos")
			if err != nil {
				return
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
		mesh.Enqueue(ctx, "photos", []byte("a.jpg")), // before it serves the queue: it is told of what waits
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

// Cancel ends a task wherever it is: what waits is removed, and the context of what runs ends.
func ExampleMesh_Cancel() {
	server, err := embedded.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	ctx := context.Background()
	mesh, err := worqr.Open(ctx, server.URL(), worqr.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer mesh.Close()
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
	fmt.Println("waiting copies removed:", found.Waiting)
	fmt.Println("running copies told:", len(found.Running))

	<-running.Context().Done()
	fmt.Println(context.Cause(running.Context()))
	if err := running.Stop(ctx); err != nil { // a cancelled task does not come back
		log.Fatal(err)
	}
	left, err := mesh.Len(ctx, "reports")
	fmt.Println("left:", left, err)
	// Output:
	// waiting copies removed: 1
	// running copies told: 1
	// worqr: the task was cancelled
	// left: 1 <nil>
}
