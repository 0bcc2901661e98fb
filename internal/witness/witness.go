package witness

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"sync"
	"time"
)

// Config configures a witness. The zero value works.
type Config struct {
	Every time.Duration // how often holders repeat their statements: 100 ms
	Lost  time.Duration // a key without a certain holder for longer counts as lost: never
	Keep  int           // spans kept of every key, besides the open ones: 16
}

// Witness compares what holders state.
type Witness struct {
	cfg   Config
	clock clock

	mu      sync.Mutex
	keys    map[string]*key
	holders map[string]*holder
	tally   tally
	closed  bool // Serve has returned: now is tally.now for ever
}

// New returns a witness that nobody can reach yet.
func New(cfg Config) *Witness { return newWitness(cfg, machine()) }

func newWitness(cfg Config, c clock) *Witness {
	cfg.Every = cmp.Or(cfg.Every, 100*time.Millisecond)
	cfg.Keep = cmp.Or(cfg.Keep, 16)
	return &Witness{cfg: cfg, clock: c, keys: map[string]*key{}, holders: map[string]*holder{},
		tally: tally{zero: c.now(), lost: cfg.Lost, gaps: map[string]*histogram{}}}
}

// Serve listens to holders until ctx ends. It may be called once. It closes ln, and returns when
// every connection has ended. What was still held then stays held in the report.
func (w *Witness) Serve(ctx context.Context, ln net.Listener) error {
	var conns sync.WaitGroup
	defer func() {
		conns.Wait()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.tally.now, w.closed = w.clock.now(), true
	}()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { ln.Close() })()
	for {
		conn, err := ln.Accept()
		if ctx.Err() != nil {
			if err == nil {
				conn.Close()
			}
			return nil
		}
		if err != nil {
			return fmt.Errorf("witness: accept on %s: %w", ln.Addr(), err)
		}
		conns.Go(func() {
			defer conn.Close()
			defer context.AfterFunc(ctx, func() { conn.Close() })()
			w.converse(ctx, conn)
		})
	}
}
