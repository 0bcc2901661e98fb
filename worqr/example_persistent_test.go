package worqr_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strconv"

	"github.com/worqr/worqr-go/worqr"
	"github.com/worqr/worqr-go/worqrtest"
)

// The handler of a persistent queue holds its task until the context ends: here it stands for a
// connection that is kept open.
func ExampleQueue_persistent() {
	mesh, end := worqrtest.Open()
	defer end()
	ctx, stop := context.WithCancel(context.Background()) // a daemon: signal.NotifyContext
	defer stop()

	worker, err := mesh.NewWorker(worqr.WorkerConfig{
		Queues: map[string]worqr.Queue{
			"feeds": {Persistent: true, Handler: worqr.HandlerFunc(func(ctx context.Context, p *worqr.Process) error {
				fmt.Printf("holds %s\n", p.Task())
				stop()
				<-ctx.Done() // on a stop, a move to another worker, a lapse or a cancel
				fmt.Println("ends as the worker stops:", errors.Is(context.Cause(ctx), worqr.ErrStopping))
				return nil // the task goes back, for another worker to hold
			})},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := mesh.Reconcile(ctx, "feeds", [][]byte{[]byte("camera 1")}); err != nil {
		log.Fatal(err)
	}
	fmt.Println("ended:", worker.Run(ctx))
	// Output:
	// holds camera 1
	// ends as the worker stops: true
	// ended: <nil>
}

// Reconcile is called with all that is to be held. What stays is left alone.
func ExampleMesh_Reconcile() {
	mesh, end := worqrtest.Open()
	defer end()
	ctx := context.Background()

	for _, desired := range [][][]byte{
		{[]byte("camera 1"), []byte("camera 2")},
		{[]byte("camera 2"), []byte("camera 3"), []byte("camera 4")}, // camera 1 is canceled
	} {
		done, err := mesh.Reconcile(ctx, "feeds", desired)
		if err != nil {
			log.Fatal(err) // to call it again is always right
		}
		fmt.Println("added:", done.Added, "kept:", done.Kept)
	}
	waiting, err := mesh.Tasks(ctx, "feeds", 0, 10)
	fmt.Printf("%s %v\n", waiting, err)
	// Output:
	// added: 2 kept: 0
	// added: 2 kept: 1
	// [camera 2 camera 3 camera 4] <nil>
}

// Locate returns who holds a task.
func ExampleMesh_Locate() {
	mesh, end := worqrtest.Open()
	defer end()
	ctx := context.Background()
	held := make(chan struct{})
	worker, err := mesh.NewWorker(worqr.WorkerConfig{
		Queues: map[string]worqr.Queue{
			"feeds": {Persistent: true, Handler: worqr.HandlerFunc(func(ctx context.Context, p *worqr.Process) error {
				close(held)
				<-ctx.Done()
				return nil
			})},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	task := []byte("camera 1")
	if _, err := mesh.Reconcile(ctx, "feeds", [][]byte{task}); err != nil {
		log.Fatal(err)
	}
	before, err := mesh.Locate(ctx, "feeds", task)
	fmt.Println(before.State, err)

	if err := errors.Join(worker.Start(ctx), worker.StartWork(ctx, "feeds")); err != nil {
		log.Fatal(err)
	}
	<-held
	now, err := mesh.Locate(ctx, "feeds", task)
	fmt.Println(now.State, err)
	fmt.Println("by this worker:", now.Worker == worker.ID())

	_, err = mesh.Locate(ctx, "feeds", []byte("camera 2"))
	fmt.Println("camera 2 is not there:", errors.Is(err, worqr.ErrGone))
	// Output:
	// waiting <nil>
	// held <nil>
	// by this worker: true
	// camera 2 is not there: true
}

// Drain hands back what a worker holds, so that others can hold it before the worker ends.
func ExampleWorker_Drain() {
	mesh, end := worqrtest.Open()
	defer end()
	ctx := context.Background()
	held := make(chan struct{})
	worker, err := mesh.NewWorker(worqr.WorkerConfig{
		Queues: map[string]worqr.Queue{
			"feeds": {Persistent: true, Handler: worqr.HandlerFunc(func(ctx context.Context, p *worqr.Process) error {
				close(held)
				<-ctx.Done()
				fmt.Printf("lets go of %s\n", p.Task())
				return nil
			})},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := mesh.Reconcile(ctx, "feeds", [][]byte{[]byte("camera 1")}); err != nil {
		log.Fatal(err)
	}
	if err := errors.Join(worker.Start(ctx), worker.StartWork(ctx, "feeds")); err != nil {
		log.Fatal(err)
	}
	<-held

	if err := worker.Drain(ctx); err != nil { // it returns after the handlers
		log.Fatal(err)
	}
	now, err := mesh.Locate(ctx, "feeds", []byte("camera 1"))
	fmt.Println(now.State, err)
	fmt.Println("still a worker:", worker.Alive())
	// Output:
	// lets go of camera 1
	// waiting <nil>
	// still a worker: true
}

// A checkpoint goes along with a task: the next holder begins where the one before left off.
func ExampleProcess_Checkpoint() {
	mesh, end := worqrtest.Open()
	defer end()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()

	worker, err := mesh.NewWorker(worqr.WorkerConfig{
		Queues: map[string]worqr.Queue{
			"feeds": {Persistent: true, Handler: worqr.HandlerFunc(func(ctx context.Context, p *worqr.Process) error {
				last, _ := strconv.Atoi(string(p.Past().Checkpoint)) // 0 for the first holder
				fmt.Println("reads from line", last+1)
				if last > 0 {
					return worqr.ErrDone // the example ends; a feed never does
				}
				if err := p.Checkpoint(ctx, []byte("3")); err != nil {
					return err
				}
				return errors.New("the connection broke") // held again after 100 ms
			})},
		},
		Hooks: worqr.Hooks{OnSettle: func(_ *worqr.Process, result worqr.Outcome, _ error) {
			if fmt.Println(result); result == worqr.OutcomeDone {
				stop()
			}
		}},
	})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := mesh.Reconcile(ctx, "feeds", [][]byte{[]byte("camera 1")}); err != nil {
		log.Fatal(err)
	}
	fmt.Println("ended:", worker.Run(ctx))
	// Output:
	// reads from line 1
	// returned
	// reads from line 4
	// done
	// ended: <nil>
}
