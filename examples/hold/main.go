// Hold keeps connections open. Each feed is a persistent task, held by one process at a time of all
// that run this program.
//
//	go run ./examples/hold
//	REDIS_URL=redis://127.0.0.1:6379 go run ./examples/hold alpha beta gamma
//
// With REDIS_URL it runs until ^C, and holds its share of the feeds; start several, and kill one.
// Without, they are in a Redis inside this program, which stops after 30 lines. The lines come from
// upstream.go, which hangs up after three of them.
package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"strconv"
	"sync/atomic"
	"syscall"

	"github.com/worqr/worqr-go/internal/local"
	"github.com/worqr/worqr-go/worqr"
)

func main() {
	// Run gives up what is held when this context ends, and returns after the handlers.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	feeds := []string{"alpha", "beta", "gamma"}
	if len(os.Args) > 1 {
		feeds = os.Args[1:]
	}
	if err := serve(ctx, stop, feeds); err != nil {
		log.Fatal(err)
	}
	fmt.Println("stopped, nothing is held any more")
}

func serve(ctx context.Context, stop func(), feeds []string) error {
	url, own, closeRedis, err := local.Redis()
	if err != nil {
		return err
	}
	defer closeRedis()
	addr, err := upstream(ctx)
	if err != nil {
		return err
	}
	mesh, err := worqr.Open(ctx, url, worqr.Config{Namespace: "examples"})
	if err != nil {
		return err
	}
	defer mesh.Close()

	var desired [][]byte
	for _, feed := range feeds {
		desired = append(desired, []byte(feed))
	}
	// All that is to be held. It may be called again, with another list, from anywhere.
	if _, err := mesh.Reconcile(ctx, "feeds", desired); err != nil {
		return err
	}
	var lines atomic.Int64
	read := func() {
		if lines.Add(1) == 30 && own { // a daemon goes on
			stop()
		}
	}
	worker, err := mesh.NewWorker(worqr.WorkerConfig{
		Queues: map[string]worqr.Queue{"feeds": {Persistent: true, Handler: reader{addr, read}}},
		Hooks:  worqr.Hooks{OnError: func(err error) { log.Print(err) }},
	})
	if err != nil {
		return err
	}
	return worker.Run(ctx)
}

// reader reads feeds from the upstream at addr.
type reader struct {
	addr string
	read func() // is called for each line
}

// Handle implements worqr.Handler. It holds one feed until its context ends. When the connection
// ends before that it returns, and the feed is held again a little later, here or elsewhere.
func (r reader) Handle(ctx context.Context, p *worqr.Process) error {
	last, _ := strconv.Atoi(string(p.Past().Checkpoint)) // the last line that was read; 0: none yet

	conn, err := new(net.Dialer).DialContext(ctx, "tcp", r.addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })() // so that no read outlasts the context

	fmt.Printf("%s: connected, from line %d on\n", p.Task(), last+1)
	if _, err := fmt.Fprintln(conn, last); err != nil {
		return err
	}
	lines := bufio.NewScanner(conn)
	for lines.Scan() && p.Valid() { // false after a freeze: another process may read this line
		last++
		if err := p.Checkpoint(ctx, strconv.AppendInt(nil, int64(last), 10)); err != nil {
			return err
		}
		r.read()
	}
	return cmp.Or(context.Cause(ctx), lines.Err()) // nil: the upstream has hung up
}
