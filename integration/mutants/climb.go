package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// What became of a mutant.
const (
	caught   = "caught"
	survived = "survived"
	accepted = "accepted" // no test can notice it: see accepted.txt
	unsound  = "unsound"  // it does not compile
	untried  = "untried"
)

// A result is what became of a mutant.
type result struct {
	mutant
	Status  string  `json:"status"`
	By      string  `json:"by,omitempty"`    // the test that caught it
	Why     string  `json:"why,omitempty"`   // how, or why it is accepted
	Passed  int     `json:"passed"`          // how many tests did not notice
	Shaky   string  `json:"shaky,omitempty"` // a test that failed once, and not again
	Seconds float64 `json:"seconds"`         // in all
	Until   string  `json:"until,omitempty"` // the last package whose tests it passed
}

// A climb takes mutants up the ladder of their group.
type climb struct {
	trees []*tree
	tests string // a pattern
	say   func(format string, args ...any)

	mu      sync.Mutex
	killers map[string]map[string]int // of each file: which tests caught how many
}

// group takes the mutants of one group up, until they are caught or ctx ends.
func (c *climb) group(ctx context.Context, g group, list []*result) {
	for _, pkg := range g.packages {
		alive := slices.DeleteFunc(slices.Clone(list), func(r *result) bool { return r.Status != untried && r.Status != survived })
		if len(alive) == 0 || ctx.Err() != nil {
			return
		}
		binary, err := build(ctx, c.trees[0], pkg)
		if err != nil {
			c.say("%v", err)
			return
		}
		ladder, failing, err := rungs(ctx, c.trees[0], pkg, binary, c.tests)
		if err != nil {
			c.say("%v", err)
			return
		}
		if len(failing) > 0 {
			c.say("%s: left out, they fail without a mistake: %s", pkg, strings.Join(failing, " "))
		}
		for _, r := range ladder {
			alive = slices.DeleteFunc(alive, func(r *result) bool { return r.Status != untried && r.Status != survived })
			c.say("%s: %d mutants against %v", g.name, len(alive), r)
			c.rung(ctx, r, alive)
		}
		for _, r := range alive {
			if r.Status == survived && ctx.Err() == nil {
				r.Until = pkg
			}
		}
	}
}

// rung tries mutants, one in each tree at a time.
func (c *climb) rung(ctx context.Context, r rung, list []*result) {
	var wg sync.WaitGroup
	next := make(chan *result)
	done := 0
	for _, t := range c.trees {
		wg.Go(func() {
			for m := range next {
				if err := t.with(m.mutant, func() { c.try(ctx, t, r, m) }); err != nil {
					c.say("%s: %v", m.Name(), err)
					continue
				}
				c.mu.Lock()
				done++
				n := done
				c.mu.Unlock()
				if ctx.Err() == nil {
					c.say("%d/%d %s: %s", n, len(list), m.Name(), m.progress())
				}
			}
		})
	}
	for _, m := range list {
		if ctx.Err() == nil {
			next <- m
		}
	}
	close(next)
	wg.Wait()
}

// try runs a rung's tests on one mutant: first those that caught others of its file.
func (c *climb) try(ctx context.Context, t *tree, r rung, m *result) {
	begun := time.Now()
	defer func() { m.Seconds += time.Since(begun).Seconds() }()
	if source(m.File) {
		binary, err := build(ctx, t, r.pkg)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			m.Status = unsound
			return
		}
		r.binary = binary
	}
	file := filepath.Base(m.File)
	first := c.killersOf(file, r.tests)
	rest := slices.DeleteFunc(slices.Clone(r.tests), func(test string) bool { return slices.Contains(first, test) })
	for _, tests := range [][]string{first, rest} {
		for len(tests) > 0 {
			v := r.run(ctx, t, tests)
			if ctx.Err() != nil {
				return
			}
			if v.why == "" {
				m.Passed += len(tests)
				break
			}
			if v.test != "" && r.shaky() {
				if again := r.run(ctx, t, []string{v.test}); again.why == "" && ctx.Err() == nil {
					m.Shaky = v.test
					tests = slices.DeleteFunc(slices.Clone(tests), func(test string) bool { return test == v.test })
					continue
				}
			}
			if v.test != "" {
				c.note(file, v.test)
			}
			m.Status, m.By, m.Why = caught, v.test, v.why
			return
		}
	}
	m.Status = survived
}

// killersOf returns the tests that caught the most mistakes of a file.
func (c *climb) killersOf(file string, among []string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	count := c.killers[file]
	list := slices.SortedFunc(maps.Keys(count), func(a, b string) int { return cmp.Or(count[b]-count[a], strings.Compare(a, b)) })
	list = slices.DeleteFunc(list, func(test string) bool { return !slices.Contains(among, test) })
	return list[:min(len(list), 8)]
}

func (c *climb) note(file, test string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.killers[file] == nil {
		c.killers[file] = map[string]int{}
	}
	c.killers[file][test]++
}

// progress returns what became of it so far.
func (r result) progress() string {
	if r.Status == survived {
		return fmt.Sprintf("passes %d tests", r.Passed)
	}
	return strings.TrimSpace(strings.Join([]string{r.Status, r.By, r.Why}, " "))
}

// String is one line of the table.
func (r result) String() string {
	return fmt.Sprintf("%-9s %-28s - %s\n%39s + %s", r.Status, r.Name(), r.Old, "", r.New)
}
