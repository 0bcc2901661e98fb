package main

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/worqr/worqr-go/internal/witness"
	"github.com/worqr/worqr-go/worqr"
)

const (
	lookEvery = 100 * time.Millisecond
	restFor   = 4 * time.Second  // so long all is shared out before the next act
	patience  = 20 * time.Second // and so long an act may take until it is
)

// show is one run. It belongs to the goroutine of perform.
type show struct {
	mesh    *worqr.Mesh
	queue   string
	feeds   []string
	server  *server
	witness *witness.Witness
	screen  *screen
	fleet   fleet

	seen  witness.Report // at the last look
	told  map[string]int // moves of each feed that were told
	acted time.Time      // the last act
	moved []witness.Move // since then
	calm  time.Time      // since when all is shared out, zero when it is not
}

// startWitness starts a witness that holders reach at addr, until ctx ends.
func startWitness(ctx context.Context, running *sync.WaitGroup) (w *witness.Witness, addr string, err error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", fmt.Errorf("start the witness: %w", err)
	}
	w = witness.New(witness.Config{})
	running.Go(func() { _ = w.Serve(ctx, ln) }) // what goes wrong shows as feeds that nobody holds
	return w, ln.Addr().String(), nil
}

// play starts the holders, says what is to be held, and goes from act to act, each when the mesh
// has come to rest.
func (s *show) play(ctx context.Context) error {
	s.screen.began, s.told = time.Now(), map[string]int{}
	for range holders {
		if err := s.add(); err != nil {
			return err
		}
	}
	if err := s.joined(ctx); err != nil {
		return err
	}
	acts := []func(context.Context) error{s.reconcile, s.kill, s.join, s.drain}
	for _, act := range acts {
		s.acted, s.moved = time.Now(), nil
		if err := act(ctx); err != nil {
			return err
		}
		if err := s.settle(ctx); err != nil {
			return err
		}
	}
	return nil
}

// settle watches until all feeds are held and fairly shared out, and have been for a while.
func (s *show) settle(ctx context.Context) error {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for s.calm = (time.Time{}); ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case now := <-look.C:
			s.look()
			if !s.shared() {
				s.calm = time.Time{}
			} else if s.calm.IsZero() {
				s.calm = now
				s.tellRest(ctx)
			}
			if !s.calm.IsZero() && now.Sub(s.calm) > restFor {
				return nil
			}
			if now.Sub(s.acted) > patience {
				s.screen.say(event{Event: "late"}, "not all feeds are shared out after %v", patience)
				return nil // the report tells what is missing
			}
		}
	}
}

// look hears the witness, shows what has moved, and draws the table.
func (s *show) look() {
	s.seen = s.witness.Report()
	for _, k := range s.seen.Keys {
		for _, m := range k.Moves[min(s.told[k.Key], len(k.Moves)):] {
			s.moved = append(s.moved, m)
			s.screen.say(event{Event: "move", Feed: m.Key, From: m.From, Holder: m.To, Why: m.Reason, Token: m.Token, Gap: (*gap)(&m.Gap)}, "")
		}
		s.told[k.Key] = len(k.Moves)
	}
	s.screen.draw(s.view())
}

// shared reports whether every feed is held by somebody who should hold feeds, and nobody has two
// more than another.
func (s *show) shared() bool {
	counts := map[string]int{}
	for _, m := range s.fleet.serving() {
		counts[m.name] = 0
	}
	for _, k := range s.seen.Keys {
		if _, serves := counts[k.Holder]; !serves || k.State != "held" {
			return false
		}
		counts[k.Holder]++
	}
	var each []int
	for _, n := range counts {
		each = append(each, n)
	}
	return len(s.seen.Keys) == len(s.feeds) && len(each) > 0 && slices.Max(each)-slices.Min(each) <= 1
}

// end lets go of all feeds and ends the holders.
func (s *show) end(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err := s.mesh.Reconcile(ctx, s.queue, nil)
	s.fleet.stop(5 * time.Second)
	if err != nil {
		return err
	}
	_, err = s.mesh.DeleteQueue(ctx, s.queue) // leaves nothing behind in the Redis of REDIS_URL
	return err
}

func (s *show) elapsed() time.Duration { return time.Since(s.screen.began) }
