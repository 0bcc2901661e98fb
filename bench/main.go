package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/worqr/worqr-go/bench/adapter"
)

// settings are the flags.
type settings struct {
	root, out, scripts string
	only, figures      string
	quick, buildOnly   bool
	rounds             int
	seconds            float64
	kill, all          time.Duration
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s := settings{quick: os.Getenv("QUICK") != "" && os.Getenv("QUICK") != "0"}
	flag.StringVar(&s.root, "root", ".", "the folder of this program")
	flag.StringVar(&s.out, "out", "", "where the report goes (default ../docs/benchmarks; with QUICK nowhere)")
	flag.StringVar(&s.scripts, "scripts", "", "the file with the scripts of the ceiling (default ../docs/scripts.json)")
	flag.StringVar(&s.only, "peers", "", "only these folders of peers/, with commas")
	flag.StringVar(&s.figures, "figures", "", "only these figures, with commas")
	flag.BoolVar(&s.buildOnly, "build", false, "only build the programs")
	flag.IntVar(&s.rounds, "rounds", 5, "of which the medians are taken")
	flag.Float64Var(&s.seconds, "seconds", 1, "that one run takes, about")
	flag.DurationVar(&s.kill, "kill", 0, "also measure how long after a kill a task runs again, up to this for each peer")
	flag.DurationVar(&s.all, "limit", 3*time.Hour, "end after this, with what there is")
	flag.Parse()
	if err := benchmark(ctx, s); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func benchmark(ctx context.Context, s settings) error {
	ctx, cancel := context.WithTimeout(ctx, s.all)
	defer cancel()
	started := time.Now()
	made, left := build(ctx, s.root, chosen(s))
	if s.buildOnly {
		return ctx.Err()
	}
	if len(made) == 0 {
		return fmt.Errorf("no peer could be built: %v", left)
	}
	book := &figures{skipped: left}
	redis, err := startRedis(ctx, s.root)
	if err != nil {
		return err
	}
	defer redis.stop(syscall.SIGTERM)
	scripts := s.scripts
	if scripts == "" {
		scripts = filepath.Join(s.root, "..", "docs", "scripts.json")
	}
	f := &field{root: s.root, scripts: scripts, redis: redis}
	made = f.withPostgres(ctx, made, book)
	if f.postgres != nil {
		defer f.postgres.stop(syscall.SIGINT)
	}

	f.carryOut(ctx, plan(s), made, book)
	if s.kill > 0 {
		f.kills(ctx, made, s.rounds, s.kill, book)
	}
	progress("took %v", time.Since(started).Round(time.Second))
	if errors.Is(ctx.Err(), context.Canceled) {
		return errors.New("interrupted")
	}
	for _, k := range book.skipped {
		fmt.Printf("skipped %s: %s\n", k.Peer, k.Reason)
	}
	for _, r := range book.ratios() {
		fmt.Printf("ratio %s %.3f\n", r.Name, r.Value)
		if r.Note != "" {
			fmt.Printf("# %s is over %s\n", r.Name, r.Note)
		}
	}
	out := s.out
	if out == "" && !s.quick {
		out = filepath.Join(s.root, "..", "docs", "benchmarks")
	}
	if out == "" {
		return nil
	}
	return write(out, newReport(f, s, book))
}

// chosen returns the peers of this run.
func chosen(s settings) []peer {
	names := strings.Split(s.only, ",")
	if s.only == "" {
		names = nil
		if s.quick {
			names = quickPeers
		}
	}
	var list []peer
	for _, p := range peers {
		if names == nil || slices.Contains(names, p.Dir) {
			list = append(list, p)
		}
	}
	return list
}

// plan returns what is run.
func plan(s settings) []cell {
	var list []cell
	if s.quick {
		list = quickPlan(s.rounds, s.seconds)
	} else {
		var dirs []string
		for _, p := range peers {
			if p.Kind == library {
				dirs = append(dirs, p.Dir)
			}
		}
		list = fullPlan(s.rounds, s.seconds, dirs)
	}
	if s.figures == "" {
		return list
	}
	names := strings.Split(s.figures, ",")
	return slices.DeleteFunc(list, func(c cell) bool { return !slices.Contains(names, c.Figure) })
}

// withPostgres starts a PostgreSQL when a peer needs one, and leaves those peers out when there is
// none.
func (f *field) withPostgres(ctx context.Context, list []peer, book *figures) []peer {
	if !slices.ContainsFunc(list, func(p peer) bool { return p.Postgres }) {
		return list
	}
	var err error
	if f.postgres, err = startPostgres(ctx); err == nil {
		return list
	}
	return slices.DeleteFunc(list, func(p peer) bool {
		if p.Postgres {
			book.skip(p.Name, err.Error())
		}
		return p.Postgres
	})
}

// progress prints on stderr what is under way.
func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

func since(started time.Time, err error) string {
	took := time.Since(started).Round(10 * time.Millisecond).String()
	if err != nil {
		return took + " " + err.Error()
	}
	return took
}

// short returns the figure that a run is about.
func short(r adapter.Result) string {
	switch {
	case r.P50 > 0:
		return fmt.Sprintf("p50 %.0f us, p99 %.0f us", r.P50, r.P99)
	case r.Waiting+r.InHand > 0:
		return fmt.Sprintf("%.0f bytes", r.Waiting+r.InHand)
	case r.Rate > 1:
		return fmt.Sprintf("%.0f/s", r.Rate)
	case r.Calls > 0:
		return fmt.Sprintf("%.1f calls, %.1f commands", r.Calls, r.Commands)
	}
	return ""
}
