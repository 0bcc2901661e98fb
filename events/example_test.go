package events_test

import (
	"context"
	"fmt"
	"log"

	"github.com/worqr/worqr-go/events"
	"github.com/worqr/worqr-go/worqrtest"
)

// A queue is watched: first the registration, then, each time that OnReady calls, a look at what
// the mesh holds. So nothing is missed: what came before the call is found, what comes later is an
// event.
func ExampleListener() {
	mesh, end := worqrtest.Open() // a program: worqr.Open(ctx, "redis://localhost:6379/0", worqr.Config{})
	defer end()
	ctx := context.Background()

	ready := make(chan struct{}, 1)
	defer mesh.Listener().OnReady(func() {
		select {
		case ready <- struct{}{}:
		default: // a look is due already
		}
	})()
	came := make(chan events.Event)
	defer mesh.Listener().On("orders", func(e events.Event) { came <- e }, events.Work, events.Delete)()

	enqueue := func(tasks ...[]byte) {
		if err := mesh.Enqueue(ctx, "orders", tasks...); err != nil {
			log.Fatal(err)
		}
	}
	<-ready
	waiting, err := mesh.Len(ctx, "orders")
	fmt.Println("waiting:", waiting, err)

	enqueue([]byte("order 1"), []byte("order 2"))
	e := <-came
	fmt.Println(e.Kind, e.Queue, e.Count)

	if _, err := mesh.DeleteQueue(ctx, "orders"); err != nil {
		log.Fatal(err)
	}
	e = <-came
	fmt.Println(e.Kind, e.Queue)
	// Output:
	// waiting: 0 <nil>
	// work orders 2
	// delete orders
}
