// Mesh is the demo: four worker processes hash every file below a directory, and lose nothing while
// one of them is killed and another frozen.
//
//	go run ./demo/mesh
//	go run ./demo/mesh -dir /usr/share/doc
//	REDIS_URL=redis://127.0.0.1:6379 go run ./demo/mesh
//
// The parent starts a Redis inside itself unless REDIS_URL names one, starts the workers out of its
// own program, and enqueues a task for each file. Half-way it kills one worker (SIGKILL) and
// freezes another (SIGSTOP) until peers have taken its work over; then it lets it go on (SIGCONT),
// and it joins again as a new worker. At the end the parent hashes all files itself and compares.
// The exit status is 1 when anything was lost, wrong, finished twice or out of order.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/worqr/worqr-go/events"
	"github.com/worqr/worqr-go/internal/local"
	"github.com/worqr/worqr-go/worqr"
)

const (
	workers = 4
	lapse   = 3 * time.Second // the default of WorkerConfig
)

var (
	errWrong       = errors.New("not everything is as it should be")
	errInterrupted = errors.New("interrupted")
)

func main() {
	if os.Getenv(envQueue) != "" {
		if err := work(); err != nil {
			fmt.Fprintln(os.Stderr, "worker:", err)
			os.Exit(1)
		}
		return
	}
	dir := flag.String("dir", "", "hash the files below this `directory` (default $DIR, or else Go's source tree)")
	pace := flag.Duration("pace", 0, "the least `time` for a file, so that there is something to watch (default: half-way comes after about 4s)")
	flag.Parse()
	if flag.NArg() > 0 || *pace < 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	switch err := perform(ctx, *dir, *pace); {
	case errors.Is(err, errInterrupted):
		os.Exit(130)
	case errors.Is(err, errWrong):
		os.Exit(1) // the result has told what
	case err != nil:
		fmt.Fprintln(os.Stderr, "mesh:", err)
		os.Exit(1)
	}
}

func perform(ctx context.Context, flag string, pace time.Duration) error {
	dir, err := directory(flag)
	if err != nil {
		return err
	}
	files, unreadable, err := list(dir)
	if err != nil {
		return err
	}
	if pace == 0 {
		pace = comfortable(len(files))
	}
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

	screen := newScreen(os.Stdout)
	defer screen.close()
	screen.say("%d files below %s", len(files), dir)
	if unreadable > 0 {
		screen.say("%d more cannot be read and are left out", unreadable)
	}
	screen.say("%d workers with %d handlers each, on %s", workers, limit, map[bool]string{true: "a Redis inside this program", false: "the Redis of REDIS_URL"}[own])
	screen.say("each file is given %v at least (-pace), so that there is something to watch", pace)

	d := &demo{mesh: mesh, queue: "files-" + uuid.NewString(), books: newBooks(files, workers), screen: screen, began: time.Now()}
	// Registered before the first task is enqueued, so that every finish is witnessed.
	mesh.Listener().On(d.queue, func(e events.Event) { d.books.witness(e.Task, e.Process) }, events.Done)
	d.fleet, err = startFleet(workers, url, d.queue, pace, d.books.enter)
	defer d.fleet.stop(5 * time.Second)
	if err != nil {
		return err
	}
	err = d.play(ctx, files)
	d.fleet.stop(5 * time.Second)
	screen.close()
	if err == nil {
		err = d.conclude(ctx)
	}
	if ctx.Err() != nil {
		done, _ := d.books.progress()
		screen.say("interrupted: %d of %d files were done", done, len(files))
		err = errInterrupted
	}
	_, left := mesh.DeleteQueue(context.WithoutCancel(ctx), d.queue) // leaves nothing behind in the Redis of REDIS_URL
	return errors.Join(err, left)
}

// comfortable returns a pace by which half of the files take the fleet about four seconds.
func comfortable(files int) time.Duration {
	pace := 4 * time.Second * workers * limit / time.Duration(max(1, files/2))
	return min(max(pace, time.Millisecond), 250*time.Millisecond).Round(time.Millisecond)
}
