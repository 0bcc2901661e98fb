package model

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
)

// tally counts what sequences came to, so that a test cannot pass by missing what it is about.
type tally struct {
	mu     sync.Mutex
	counts map[string]int
}

func newTally() *tally { return &tally{counts: map[string]int{}} }

func (t *tally) add(what string, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts[what] += n
}

// want fails the test when something never happened in what should be enough runs.
func (t *tally) want(tb testing.TB, enough bool, names ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var lines []string
	for name, n := range t.counts {
		lines = append(lines, fmt.Sprintf("%s %d", name, n))
	}
	slices.Sort(lines)
	tb.Log(strings.Join(lines, ", "))
	for _, name := range names {
		if enough && t.counts[name] == 0 {
			tb.Errorf("it never happened: %s", name)
		}
	}
}
