// Producer is a program that only gives work to others. It starts no worker, so it is not listed as
// one.
//
//	go run ./examples/producer
//	REDIS_URL=redis://127.0.0.1:6379 go run ./examples/producer
//
// With REDIS_URL the tasks wait for `go run ./examples/daemon`. Without, they wait in a Redis
// inside this program, where nobody takes them.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/worqr/worqr-go/internal/local"
	"github.com/worqr/worqr-go/worqr"
)

func main() {
	if err := produce(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func produce(ctx context.Context) error {
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

	// One task: any bytes, stored as they are.
	if err := mesh.Enqueue(ctx, "mail", []byte("welcome anna")); err != nil {
		return err
	}
	// Many in one call: they keep their order, and up to 500 are stored in one step, all or none.
	many := [][]byte{[]byte("invoice bert"), []byte("invoice cleo"), []byte("reminder dora")}
	if err := mesh.Enqueue(ctx, "mail", many...); err != nil {
		return err
	}

	waiting, err := mesh.Tasks(ctx, "mail", 0, 100)
	if err != nil {
		return err
	}
	for i, task := range waiting {
		fmt.Printf("%d. %s\n", i+1, task)
	}
	count, err := mesh.Len(ctx, "mail")
	if err != nil {
		return err
	}
	fmt.Printf("%d tasks wait in queue mail\n", count)
	return nil
}
