package pipeline

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"
)

var (
	// ErrClosed is the error of a request after Close.
	ErrClosed = errors.New("the pipeline is closed")
	// ErrLate is the error of a call that asked not to be kept waiting.
	ErrLate = errors.New("no answer yet")
)

// Request is one command. Its methods are called by the pipe, from goroutines that serve all
// callers, so they must not block.
type Request interface {
	// Command is called once, just before the command is written, so it can gather what has come
	// until then. callers is how many wait for this answer; none: there is nothing to send any
	// more, and nothing is answered.
	Command() (name string, args []any, callers int)
	// Answered is called once: with a reply; with a redis.Error, the server's refusal; or with the
	// connection's error. sent tells that the server may have run the command.
	Answered(reply any, sent bool, err error)
}

// Config of a Pipe.
type Config struct {
	// Dial makes a connection. It is used by one goroutine that sends and one that receives.
	Dial func(context.Context) (redis.Conn, error)
	// Timeout is how long an answer may take before its connection is given up. Default 5 s.
	Timeout time.Duration
	// Patience is how long Try waits for an answer. Default Timeout/4.
	Patience time.Duration
	// Wrong reports whether a refusal means that the server is the wrong one: what is flying on the
	// connection is still answered, and what follows goes over a new one. It is asked once for each
	// connection that is given up for it, and must not block. Nil: no refusal does.
	Wrong func(refusal error) bool
	// Connections is how many there may be. Default 2: the second is used while an answer on the
	// first is slow.
	Connections int
}

// Pipe is a few connections that any number of goroutines share.
type Pipe struct {
	cfg    Config
	ctx    context.Context
	cancel context.CancelFunc
	wires  []*wire
	wait   sync.WaitGroup
	calls  sync.Pool // of this pipe: a channel of one synctest bubble is no use in another
}

// New makes a Pipe. It dials nothing and starts nothing until the first request.
func New(cfg Config) *Pipe {
	if cfg.Timeout <= 0 {
		cfg.Timeout = 5 * time.Second
	}
	if cfg.Patience <= 0 {
		cfg.Patience = cfg.Timeout / 4
	}
	if cfg.Connections <= 0 {
		cfg.Connections = 2
	}
	if cfg.Wrong == nil {
		cfg.Wrong = func(error) bool { return false }
	}
	p := &Pipe{cfg: cfg, calls: sync.Pool{New: newCall}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	for range cfg.Connections {
		p.wires = append(p.wires, newWire(p))
	}
	return p
}

// Send queues a request. It does not block.
func (p *Pipe) Send(r Request) {
	if !p.pick().add(r) {
		r.Answered(nil, false, ErrClosed)
	}
}

// pick answers the first wire whose answers come in time: few callers on one connection make larger
// batches than on two. When none does, it is the one that has kept others waiting the least: one
// that is dead without a word is not chosen because the other one is slow for a moment.
func (p *Pipe) pick() *wire {
	now := time.Now()
	best, least := p.wires[0], time.Duration(math.MaxInt64)
	for _, w := range p.wires {
		age := w.age(now)
		if age <= slowAnswer {
			return w
		}
		if age < least {
			best, least = w, age
		}
	}
	return best
}

// Renew retires the present connections: what is flying on them is answered, and what follows goes
// over new ones.
func (p *Pipe) Renew() {
	for _, w := range p.wires {
		w.retire()
	}
}

// Close ends the connections. What waits or is flying is answered with ErrClosed.
func (p *Pipe) Close() {
	for _, w := range p.wires {
		w.close()
	}
	p.cancel() // last: a writer that ends answers all that has come until its wire was closed
	p.wait.Wait()
}
