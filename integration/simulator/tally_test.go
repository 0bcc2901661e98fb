package simulator

import (
	"slices"
	"sync"
	"testing"
)

// tell counts what is rare and what the schedules are for, before the state is replaced.
func (w *world) tell(c *command, r reply) {
	count := func(what string, is bool) {
		if is {
			w.rare[what]++
		}
	}
	count(word(r.refused)+" "+c.script, r.refused != "")
	q := w.state.queues[c.queue]
	if w.persistent && r.refused == "" {
		w.tellHold(c, r, count)
	}
	switch c.script {
	case "take":
		count("take while a reclaim is under way", r.refused == "" && len(q.returning) > 0)
		count("repeated take", r.refused == "" && q.members[c.args[0]] >= integer(c.args[1]))
	case "settle":
		count("gone settle", slices.Contains(outcomes(r), "gone"))
		count("dropped settle", slices.Contains(outcomes(r), "dropped"))
	case "reclaim":
		count("reclaim in steps", r.words[2] == "1")
		count("reclaim that drops", r.words[1] != "0")
		count("two returning at once", len(q.returning) > 1)
	case "cancel", "delete":
		count("second copy of "+c.script, r.words[0] == "0" && integer(r.words[1]) <= q.token)
	case "serve", "unserve", "forget":
		count("refused "+c.script, len(r.words) > 0 && (r.words[0] == "OLD" || r.words[0] == "0"))
	}
}

// expected are what a few thousand schedules must have brought about, or they test less than they
// seem to.
var expected = []string{
	"FENCED take", "FENCED settle", "FENCED look", "STALE open", "LOST serve", "LOST beat", "LOST join",
	"take while a reclaim is under way", "repeated take", "gone settle", "dropped settle", "reclaim in steps",
	"reclaim that drops", "two returning at once", "second copy of cancel", "second copy of delete",
	"refused serve", "refused unserve", "refused forget",
}

// tally adds up over schedules.
type tally struct {
	mu    sync.Mutex
	count map[string]int
}

func (a *tally) add(rare map[string]int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.count == nil {
		a.count = map[string]int{}
	}
	for what, n := range rare {
		a.count[what] += n
	}
}

func (a *tally) check(t *testing.T, schedules int, expected []string) {
	for _, what := range expected {
		if schedules >= 2000 && a.count[what] == 0 {
			t.Errorf("no schedule had: %s", what)
		}
	}
	t.Logf("what is rare: %v", a.count)
}
