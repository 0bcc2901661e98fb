// Callbacks works verb by verb: On is called when there is work, Take returns a task, Finish ends
// it. This is for programs that decide themselves when to take; the daemon example is shorter.
//
//	go run ./examples/callbacks
//	REDIS_URL=redis://127.0.0.1:6379 go run ./examples/callbacks
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"time"

	"github.com/worqr/worqr-go/events"
	"github.com/worqr/worqr-go/internal/local"
	"github.com/worqr/worqr-go/worqr"
)

const queue = "pictures"

var tasks = [][]byte{[]byte("resize a.png"), []byte("resize b.png"), []byte("resize c.png")}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := work(ctx); err != nil {
		log.Fatal(err)
	}
}

func work(ctx context.Context) error {
	url, _, stop, err := local.Redis()
	if err != nil {
		return err
	}
	defer stop()

	mesh, err := worqr.Open(ctx, url, worqr.Config{Namespace: "examples"})
	if err != nil {
		return err
	}
	defer mesh.Close()

	worker, err := mesh.NewWorker(worqr.WorkerConfig{})
	if err != nil {
		return err
	}
	// Registers the worker and keeps its heartbeat.
	if err := worker.Start(ctx); err != nil {
		return err
	}
	// At once: what is still in hand goes back to the front of its queue, and the worker leaves.
	// (After an error too.)
	defer worker.Fail(context.WithoutCancel(ctx))

	// The callback first, then StartWork: so no event is missed. An event only wakes; Take finds
	// what there is.
	waiting := make(chan struct{}, 1)
	_, err = worker.On(queue, func(e events.Event) {
		switch e.Kind {
		case events.Work: // e.Count tasks came, or some wait
			select {
			case waiting <- struct{}{}:
			default: // woken already
			}
		case events.Cancel:
			fmt.Printf("canceled: %s\n", e.Task) // the context of its process ends as well
		case events.Delete:
			fmt.Println("the queue was deleted") // what is in hand goes on
		case events.Done: // a task was finished, by this worker or another
		}
	})
	if err != nil {
		return err
	}
	if err := worker.StartWork(ctx, queue); err != nil {
		return err
	}
	// Usually another program does this.
	if err := mesh.Enqueue(ctx, queue, tasks...); err != nil {
		return err
	}

	finished := 0
	for working := true; working; {
		select {
		case <-waiting:
			n, err := takeAll(ctx, worker)
			if err != nil {
				return err
			}
			finished += n
		case <-time.After(2 * time.Second): // an example ends when nothing comes; a daemon goes on
			working = false
		case <-ctx.Done():
			working = false
		}
	}
	// What is not finished goes back to the front now; peers go on with the queue.
	if err := worker.StopWork(context.WithoutCancel(ctx), queue); err != nil {
		return err
	}
	fmt.Printf("finished %d tasks\n", finished)
	return nil
}

// takeAll works until the queue is empty, and returns how many tasks it finished.
func takeAll(ctx context.Context, worker *worqr.Worker) (finished int, err error) {
	for {
		process, err := worker.Take(ctx, queue)
		if errors.Is(err, worqr.ErrEmpty) {
			return finished, nil
		}
		if err != nil {
			return finished, err
		}
		fmt.Printf("working on: %s\n", process.Task())
		// ... the work itself; process.Context() ends when it should end. When it fails,
		// process.Stop gives the task back to the front of the queue.
		first, err := process.Finish(ctx)
		if err != nil {
			return finished, err
		}
		if first { // true to exactly one caller for each delivered task
			finished++
		}
	}
}
