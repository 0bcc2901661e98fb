package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/worqr/worqr-go/bench/adapter"
)

// cell is what all peers measure before the next cell.
type cell struct {
	Figure      string // its name in the results; mostly the mode
	Mode        string
	Concurrency int
	Seconds     float64
	Rounds      int
	Tasks       int     // 0: as many as the peer's rate needs
	Pause       float64 // milliseconds
	Only        []string
}

// limit returns the time after which a run is given up.
func (c cell) limit() time.Duration {
	return time.Minute + time.Duration(12*c.Seconds*float64(time.Second))
}

func (c cell) wants(p peer) bool {
	for _, dir := range c.Only {
		if dir == p.Dir {
			return true
		}
	}
	return len(c.Only) == 0 && p.Kind == library
}

var concurrencies = []int{1, 10, 64, 256}

// fullPlan returns all cells: the ratios need the ceiling and the transport beside the libraries.
func fullPlan(rounds int, seconds float64, dirs []string) (plan []cell) {
	withRaw := append([]string{"raw"}, dirs...)
	for _, c := range concurrencies {
		plan = append(plan,
			cell{Figure: "mixed", Mode: "mixed", Concurrency: c, Seconds: seconds, Rounds: rounds, Only: withRaw},
			cell{Figure: "enqueue", Mode: "enqueue", Concurrency: c, Seconds: seconds, Rounds: rounds, Only: withRaw},
			cell{Figure: "drain", Mode: "drain", Concurrency: c, Seconds: seconds, Rounds: rounds, Only: withRaw},
			cell{Figure: "pipeline", Mode: "pipeline", Concurrency: c, Seconds: seconds, Rounds: rounds, Only: []string{"worqr", "rueidis"}},
		)
	}
	return append(plan,
		cell{Figure: "wake", Mode: "wake", Concurrency: 10, Seconds: 2 * seconds, Rounds: rounds, Pause: 10, Only: []string{"worqr", "raw"}},
		cell{Figure: "wake-slow", Mode: "wake", Concurrency: 10, Seconds: 4 * seconds, Rounds: rounds, Pause: 250},
		// These are counted and not timed, so one run is enough.
		cell{Figure: "commands", Mode: "commands", Concurrency: 64, Seconds: seconds / 2, Rounds: 1},
		cell{Figure: "idle", Mode: "idle", Concurrency: 10, Seconds: 10 * seconds, Rounds: 1},
		cell{Figure: "memory", Mode: "memory", Concurrency: 1, Seconds: seconds, Rounds: 1, Tasks: 100_000},
		cell{Figure: "hands", Mode: "hands", Concurrency: 10_000, Seconds: seconds, Rounds: 1, Tasks: 10_000},
	)
}

// quickPlan returns the cells for the ratios at 64 and for that of the wake-up.
func quickPlan(rounds int, seconds float64) []cell {
	return []cell{
		{Figure: "mixed", Mode: "mixed", Concurrency: 64, Seconds: seconds, Rounds: rounds, Only: quickPeers},
		{Figure: "wake", Mode: "wake", Concurrency: 10, Seconds: seconds, Rounds: rounds, Pause: 10, Only: []string{"worqr", "raw"}},
	}
}

// pace is what is known of a peer's speed, so that each run takes about as long as it should.
type pace struct {
	producing float64 // the share of a mixed run in which the producers run
	rate      float64 // of the last mixed run
}

// fit sets what depends on the peer.
func (c cell) fit(k pace) cell {
	switch {
	case c.Mode == "mixed" || c.Mode == "commands":
		share := k.producing
		if share == 0 {
			share = 0.5 // not known yet
		}
		c.Seconds = math.Round(1000*c.Seconds*share) / 1000
	case c.Mode == "drain" && c.Tasks == 0:
		c.Tasks = int(max(4*k.rate*c.Seconds, 2_000))
		if k.rate == 0 {
			c.Tasks = 500_000
		}
	}
	return c
}

// learn records what a run shows about the speed.
func (k pace) learn(asked cell, r adapter.Result) pace {
	if asked.Mode != "mixed" || r.Seconds == 0 {
		return k
	}
	return pace{producing: min(max(asked.Seconds/r.Seconds, 0.1), 1), rate: r.Rate}
}

// carryOut runs a plan: for each cell all peers, then all of them again.
func (f *field) carryOut(ctx context.Context, plan []cell, list []peer, book *figures) {
	paces := map[string]pace{}
	for i, c := range plan {
		failures := map[string]int{}
		for round := range c.Rounds {
			for _, p := range list {
				if ctx.Err() != nil {
					return
				}
				if !c.wants(p) || failures[p.Name] > 0 {
					continue
				}
				asked := c.fit(paces[p.Name])
				started := time.Now()
				result, err := f.run(ctx, p, asked)
				what := fmt.Sprintf("%d/%d %s at %d, round %d/%d: %s", i+1, len(plan), c.Figure, c.Concurrency, round+1, c.Rounds, p.Name)
				progress("%-62s %s %s", what, since(started, err), short(result))
				if err != nil {
					failures[p.Name]++
					if !errors.Is(err, adapter.ErrUnsupported) {
						book.skip(p.Name, fmt.Sprintf("%s at %d: %v", c.Figure, c.Concurrency, err))
					}
					continue
				}
				paces[p.Name] = paces[p.Name].learn(asked, result)
				book.add(c, p.Name, result)
			}
		}
	}
}
