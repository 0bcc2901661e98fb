package integration

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"github.com/worqr/worqr-go/worqr"
)

// setup describes a child process. It is passed as JSON.
type setup struct {
	URL        string
	Namespaces []string
	Workers    int    // in each namespace; 0 means 1
	Queue      string // "": it serves none and only supervises
	Limit      int
	Do         string        // what its handler does: finish, nap, hold, report, freeze
	Nap        time.Duration // how long nap takes
	Timing     timing
	Grace      time.Duration
	Takeover   worqr.Takeover // 0 means Strict: most tests are about the lapse
}

type timing struct{ Beat, Lapse, Margin, Sweep time.Duration }

// beWorker is the child: daemons that print on stdout what happens to them, one line each:
//
//	joined W · lapsed W · left W · ready · reclaimed W Q n
//	run P token stamp task · ended P stamp cause · finished P true|false error
//	hold P token stamp   every 10 ms, by the handler report: its context had not ended then
//	freezes P            by the handler freeze: SIGSTOP follows
//	stopped              Run has returned everywhere
//
// Orders on stdin: `finish P`; `stop P` puts it back to the front. SIGTERM ends Run.
func beWorker(args []string) {
	var s setup
	if err := json.Unmarshal([]byte(args[0]), &s); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	c := &child{setup: s, inHand: map[string]*worqr.Process{}, freezer: freezer{behind: map[string]bool{}}}
	go c.orders() // ends with the process
	var meshes []*worqr.Mesh
	var running sync.WaitGroup
	for _, ns := range s.Namespaces {
		log := zerolog.New(os.Stderr).Level(zerolog.WarnLevel)
		m, err := worqr.Open(ctx, s.URL, worqr.Config{Namespace: ns, WaitForRedis: true, Logger: log})
		if err != nil {
			c.fail(err)
		}
		meshes = append(meshes, m)
		for range max(s.Workers, 1) {
			w, err := m.NewWorker(c.config())
			if err != nil {
				c.fail(err)
			}
			running.Go(func() {
				if err := w.Run(ctx); err != nil {
					fmt.Fprintln(os.Stderr, "run:", err)
				}
			})
		}
	}
	running.Wait()
	for _, m := range meshes {
		if err := m.Close(); err != nil {
			c.fail(err)
		}
	}
	c.say("stopped")
}

type child struct {
	setup   setup
	freezer freezer // of the handler freeze

	mu     sync.Mutex
	inHand map[string]*worqr.Process
}

// say prints a line in one piece, at once.
func (c *child) say(format string, args ...any) {
	_, _ = os.Stdout.WriteString(fmt.Sprintf(format, args...) + "\n") // nobody is left to receive an error
}

func (c *child) fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func (c *child) config() worqr.WorkerConfig {
	cfg := worqr.WorkerConfig{
		Beat: c.setup.Timing.Beat, Lapse: c.setup.Timing.Lapse, Margin: c.setup.Timing.Margin, Sweep: c.setup.Timing.Sweep,
		Grace: c.setup.Grace, Takeover: cmp.Or(c.setup.Takeover, worqr.TakeoverStrict),
		Hooks: worqr.Hooks{
			OnJoin:    func(worker string) { c.say("joined %s", worker) },
			OnLeave:   func(worker string) { c.say("left %s", worker) },
			OnLapse:   func(worker string, _ error) { c.say("lapsed %s", worker) },
			OnReady:   func() { c.say("ready") },
			OnReclaim: func(worker, queue string, n int) { c.say("reclaimed %s %s %d", worker, queue, n) },
			OnError:   func(err error) { fmt.Fprintln(os.Stderr, err) },
		},
	}
	if c.setup.Do == "freeze" {
		cfg.Hooks.OnTake = c.freezer.taken
		cfg.Hooks.OnSettle = func(p *worqr.Process, _ worqr.Outcome, _ error) { c.freezer.gone(p) }
	}
	if c.setup.Queue != "" {
		cfg.Queues = map[string]worqr.Queue{c.setup.Queue: {Handler: worqr.HandlerFunc(c.handle), Limit: c.setup.Limit}}
	}
	return cfg
}

func (c *child) handle(ctx context.Context, p *worqr.Process) error {
	c.mu.Lock()
	c.inHand[p.ID()] = p
	c.mu.Unlock()
	c.say("run %s %d %d %s", p.ID(), p.Token(), stamp(), p.Task())
	switch c.setup.Do {
	case "nap":
		timer := time.NewTimer(c.setup.Nap)
		defer timer.Stop()
		select {
		case <-timer.C:
			c.finish(p)
			return nil
		case <-ctx.Done():
		}
	case "hold":
		<-ctx.Done()
	case "report":
		c.report(ctx, p)
	case "freeze":
		if c.freezer.gone(p); c.freezer.ripe() {
			c.say("freezes %s", p.ID())
			return freeze(c.setup.Timing.Lapse)
		}
		return nil
	default:
		c.finish(p)
		return nil
	}
	c.say("ended %s %d %s", p.ID(), stamp(), cause(ctx))
	if errors.Is(context.Cause(ctx), worqr.ErrSettled) {
		return nil // an order finished it
	}
	return context.Cause(ctx)
}

// report prints every 10 ms that it holds. The instant is read before the context is checked. So at
// that instant the context had not ended, however late the line is printed.
func (c *child) report(ctx context.Context, p *worqr.Process) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		at := stamp()
		if ctx.Err() != nil {
			return
		}
		c.say("hold %s %d %d", p.ID(), p.Token(), at)
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

func cause(ctx context.Context) string {
	for word, err := range map[string]error{
		"lapsed": worqr.ErrLapsed, "fenced": worqr.ErrFenced, "stopping": worqr.ErrStopping, "settled": worqr.ErrSettled,
		"canceled": worqr.ErrCanceled, "gone": worqr.ErrGone,
	} {
		if errors.Is(context.Cause(ctx), err) {
			return word
		}
	}
	return context.Cause(ctx).Error()
}

func (c *child) finish(p *worqr.Process) {
	ok, err := p.Finish(context.Background())
	c.say("finished %s %t %v", p.ID(), ok, err)
}

func (c *child) orders() {
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		verb, id, _ := strings.Cut(in.Text(), " ")
		c.mu.Lock()
		p := c.inHand[id]
		c.mu.Unlock()
		switch {
		case p == nil:
			c.say("unknown %s", in.Text())
		case verb == "finish":
			c.finish(p)
		case verb == "stop":
			c.say("put %s %v", id, p.Stop(context.Background()))
		}
	}
}
