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
	// ErrLate is the error of Try when its patience has ended.
	ErrLate = errors.New("no answer yet")
)

// Request is one command. Its methods are called by the pipe, from goroutines that serve all
// callers, so they must not block.
type Request interface {
	// Command is called once, just before the command is written, so it can gather what has come
	// until then. callers is the number of callers that wait for the reply. If it is zero, nothing
	// is sent and Answered is not called.
	Command() (name string, args []any, callers int)
	// Answered is called once: with a reply, with a redis.Error (the server's refusal), or with the
	// connection's error. sent reports whether the server may have run the command.
	Answered(reply any, sent bool, err error)
}

// Config configures a Pipe.
type Config struct {
	// Dial makes a connection. One goroutine sends on it and one receives.
	Dial func(context.Context) (redis.Conn, error)
	// Timeout is how long a reply may take before its connection is given up. Default 5 s.
	Timeout time.Duration
	// Patience is how long Try waits for a reply. Default Timeout/4.
	Patience time.Duration
	// Wrong reports whether a refusal means that this server is the wrong one. Then what is flying
	// on the connection is still completed, and what follows goes over a new connection. It is
	// called once for each connection that is given up for this reason, and must not block. Nil
	// means that no refusal does.
	Wrong func(refusal error) bool
	// Connections is the most connections at a time. Default 2: the second is used while a reply on
	// the first is slow.
	Connections int
}

// Pipe shares a few connections among any number of goroutines.
type Pipe struct {
	cfg    Config
	ctx    context.Context
	cancel context.CancelFunc
	wires  []*wire
	wait   sync.WaitGroup
	calls  sync.Pool // of this pipe: a channel of one synctest bubble cannot be used in another
}

// New returns a Pipe. It dials nothing and starts nothing until the first request.
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

// pick returns the first wire whose replies come in time: few callers on one connection make larger
// batches than on two. If there is none, it returns the wire that has kept others waiting the
// least. So a dead connection is not chosen because the other one is slow for a moment.
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

// Renew retires the present connections. What is flying on them is still completed, and what
// follows goes over new ones.
func (p *Pipe) Renew() {
	for _, w := range p.wires {
		w.retire()
	}
}

// Close ends the connections. What is queued or flying is completed with ErrClosed.
func (p *Pipe) Close() {
	for _, w := range p.wires {
		w.close()
	}
	p.cancel() // last: a writer that ends answers all that came before its wire was closed
	p.wait.Wait()
}
