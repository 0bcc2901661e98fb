package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run() error {
	only := flag.String("only", "", "try those whose name, `file:line kind`, has one of these in it, separated by commas")
	seed := flag.Uint64("seed", 1, "the order, and so which ones a shard has")
	shard := flag.String("shard", "1/1", "try the i-th of n shares, `i/n`")
	jobs := flag.Int("jobs", 2, "how many to try at once")
	most := flag.Duration("time", 0, "end after that; what was not tried is listed as such")
	file := flag.String("json", "", "write the results to this `file` too")
	packages := flag.String("packages", "", "try only the tests of these packages, separated by commas")
	tests := flag.String("tests", ".", "try only the tests that match this `pattern`")
	list := flag.Bool("list", false, "list the mutants, and try none")
	flag.Parse()
	var part, parts int
	if _, err := fmt.Sscanf(*shard, "%d/%d", &part, &parts); err != nil || part < 1 || part > parts {
		return fmt.Errorf("-shard %s: want i/n", *shard)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if *most > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, *most)
		defer cancel()
	}
	useFetchedRedis()
	temp, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	c := &climb{tests: *tests, killers: map[string]map[string]int{}}
	begun := time.Now()
	c.say = func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, "%7.0fs  %s\n", time.Since(begun).Seconds(), fmt.Sprintf(format, args...))
	}
	for i := range *jobs {
		t, err := copyTree(".", filepath.Join(temp, fmt.Sprint(i+1)))
		if err != nil {
			return err
		}
		c.trees = append(c.trees, t)
	}
	all, results, err := choose(c.trees[0], strings.Split(*only, ","), *seed, part, parts)
	if err != nil {
		return err
	}
	if *list {
		for _, r := range results {
			fmt.Println(r)
		}
		return nil
	}
	for _, g := range groups {
		if *packages != "" {
			g.packages = slices.DeleteFunc(slices.Clone(g.packages), func(p string) bool { return !slices.Contains(strings.Split(*packages, ","), p) })
		}
		c.group(ctx, g, all[g.name])
	}
	report(os.Stdout, results)
	if *file != "" {
		return save(*file, results)
	}
	return nil
}

// useFetchedRedis names the server that scripts/redis has fetched, if any: the copies do not
// contain it.
func useFetchedRedis() {
	path, err := filepath.Abs(".cache/redis/usr/bin/redis-server")
	if err != nil || os.Getenv("WORQR_REDIS_SERVER") != "" {
		return
	}
	if _, err := exec.LookPath("redis-server"); err == nil {
		return
	}
	if _, err := os.Stat(path); err == nil {
		os.Setenv("WORQR_REDIS_SERVER", path)
	}
}

// choose makes all mutants, and returns those that are to be tried, by group and together.
func choose(t *tree, only []string, seed uint64, part, parts int) (map[string][]*result, []*result, error) {
	reasons, err := readAccepted(acceptedText)
	if err != nil {
		return nil, nil, err
	}
	made, err := mutantsOf(t)
	if err != nil {
		return nil, nil, err
	}
	unused := make(map[string]bool)
	for key := range reasons {
		unused[key] = true
	}
	all := map[string][]*result{}
	var results []*result
	for _, g := range groups {
		list := made[g.name]
		order := rand.New(rand.NewPCG(seed, 0))
		order.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		for i, m := range list {
			delete(unused, m.key())
			if i%parts != part-1 || !named(m, only) {
				continue
			}
			r := &result{mutant: m, Status: untried}
			if why := reasons[m.key()]; why != "" {
				r.Status, r.Why = accepted, why
			}
			all[g.name] = append(all[g.name], r)
			results = append(results, r)
		}
	}
	for key := range unused {
		return nil, nil, errors.New("accepted.txt names what is no mutant any more:\n" + key)
	}
	return all, results, markUnsound(t, results)
}

// named reports whether a mutant was asked for.
func named(m mutant, only []string) bool {
	for _, part := range only {
		if strings.Contains(m.Name(), part) {
			return true
		}
	}
	return false
}
