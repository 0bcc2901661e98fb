package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"github.com/worqr/worqr-go/internal/redistest"
	outside "github.com/worqr/worqr-go/internal/witness"
	"github.com/worqr/worqr-go/worqr"
)

func init() { redistest.RegisterChild("holder", beHolder) }

// burden is the queue of one-shot tasks that a holder works on besides.
const burden = "burden"

// poison begins the tasks that end the process that holds them.
const poison = "poison"

// keeper describes a process that holds persistent tasks. It is passed as JSON.
type keeper struct {
	URL, Namespace string
	Name, Witness  string // how it calls itself to the witness, and where that is
	Timing         timing
	Grace          time.Duration
	Takeover       worqr.Takeover
	Burdened       bool
	Unwind         time.Duration // a handler takes up to this long to return after its end
}

// beHolder is the child: a daemon that states to the witness what it holds. On stdout it prints
// what beWorker does, and
//
//	poisoned P   at once before it ends itself, with exit code 3
func beHolder(args []string) {
	var k keeper
	if err := json.Unmarshal([]byte(args[0]), &k); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	c := &child{setup: setup{Timing: k.Timing, Grace: k.Grace}}
	teller, err := outside.Dial(ctx, k.Witness, k.Name)
	if err != nil {
		c.fail(err)
	}
	log := zerolog.New(os.Stderr).Level(zerolog.WarnLevel)
	m, err := worqr.Open(ctx, k.URL, worqr.Config{Namespace: k.Namespace, WaitForRedis: true, Logger: log})
	if err != nil {
		c.fail(err)
	}
	cfg := c.config()
	cfg.Queues = map[string]worqr.Queue{queue: {
		Persistent: true, Takeover: k.Takeover,
		Handler: worqr.HandlerFunc(func(ctx context.Context, p *worqr.Process) error { return k.hold(ctx, c, p, teller) }),
	}}
	if k.Burdened {
		cfg.Queues[burden] = worqr.Queue{Limit: 4, Handler: worqr.HandlerFunc(func(context.Context, *worqr.Process) error { return nil })}
	}
	w, err := m.NewWorker(cfg)
	if err != nil {
		c.fail(err)
	}
	if err := w.Run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "run:", err)
	}
	if err := m.Close(); err != nil {
		c.fail(err)
	}
	if err := teller.Close(); err != nil {
		c.fail(err)
	}
	c.say("stopped")
}

// hold holds a task until its context ends, and states that to the witness.
func (k keeper) hold(ctx context.Context, c *child, p *worqr.Process, teller *outside.Teller) error {
	if strings.HasPrefix(string(p.Task()), poison) {
		c.say("poisoned %s", p.ID())
		os.Exit(3)
	}
	valid := p.Valid
	if k.Takeover == worqr.TakeoverFast { // else valid may be true again after false
		valid = func() bool { return p.Context().Err() == nil }
	}
	h := teller.Hold(string(p.Task()), p.Token(), string(p.Past().Why), valid)
	defer h.Done()
	<-ctx.Done()
	if k.Unwind > 0 {
		pass(rand.N(k.Unwind))
	}
	return context.Cause(ctx)
}
