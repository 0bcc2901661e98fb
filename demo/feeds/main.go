// Feeds is the demo of persistent tasks: a few processes hold forty TCP connections between them,
// each connection held by one process at a time, while one of them is killed, one is added and one
// is drained.
//
//	go run ./demo/feeds
//	go run ./demo/feeds -json
//	REDIS_URL=redis://127.0.0.1:6379 go run ./demo/feeds
//
// What to copy is in feed.go (the handler) and holder.go (the process around it). All else is the
// stage: the parent starts a Redis inside itself unless REDIS_URL names one, a small server of
// feeds, a witness that holders tell what they hold over connections of their own, and the holders,
// out of its own program. It says by Mesh.Reconcile which feeds are to be held, and asks by
// Mesh.Locate who holds them. The exit status is 1 when two held a feed at once, when one was not
// held at the end, or when a line of a feed was missed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/google/uuid"

	"github.com/worqr/worqr-go/internal/local"
	"github.com/worqr/worqr-go/worqr"
)

const holders = 4 // to begin with

var (
	errWrong       = errors.New("not everything is as it should be")
	errInterrupted = errors.New("interrupted")
)

func main() {
	if os.Getenv(envName) != "" {
		if err := serve(); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", os.Getenv(envName), err)
			os.Exit(1)
		}
		return
	}
	count := flag.Int("feeds", 40, "how `many` feeds there are to be held")
	asJSON := flag.Bool("json", false, "print what happens as lines of JSON")
	flag.Parse()
	if flag.NArg() > 0 || *count < 1 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	switch err := perform(ctx, *count, newScreen(os.Stdout, *asJSON)); {
	case errors.Is(err, errInterrupted):
		os.Exit(130)
	case errors.Is(err, errWrong):
		os.Exit(1) // the report has told what
	case err != nil:
		fmt.Fprintln(os.Stderr, "feeds:", err)
		os.Exit(1)
	}
}

// perform sets the stage, has the show played, and clears all of it away.
func perform(ctx context.Context, count int, out *screen) error {
	url, own, closeRedis, err := local.Redis()
	if err != nil {
		return err
	}
	defer closeRedis()
	mesh, err := worqr.Open(ctx, url, worqr.Config{Namespace: namespace})
	if err != nil {
		return err
	}
	defer mesh.Close()
	queue := "feeds"
	if !own {
		queue += "-" + uuid.NewString() // others may run this demo there
	}

	// The server and the witness go on when the show is interrupted, until all holders have ended.
	stage, strike := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	defer running.Wait()
	defer strike()
	server, err := startServer(stage, &running)
	if err != nil {
		return err
	}
	watched, addr, err := startWitness(stage, &running)
	if err != nil {
		return err
	}

	s := &show{
		mesh: mesh, queue: queue, feeds: names(count), server: server, witness: watched, screen: out,
		fleet: fleet{env: []string{"REDIS_URL=" + url, envQueue + "=" + queue, envServer + "=" + server.addr, envWitness + "=" + addr}},
	}
	err = s.play(ctx)
	var v verdict
	if err == nil {
		v, err = s.judge(ctx)
	}
	err = errors.Join(err, s.end(context.WithoutCancel(ctx)))
	if ctx.Err() != nil {
		out.interrupted(s.elapsed())
		return errInterrupted
	}
	if err != nil {
		return err
	}
	return s.conclude(v)
}

// names are the feeds, which are the tasks.
func names(count int) []string {
	var out []string
	for i := range count {
		out = append(out, fmt.Sprintf("feed-%02d", i+1))
	}
	return out
}
