package worqr_test

import (
	"slices"
	"strings"
	"testing"
)

// Each script, in all that it can do, goes on on a full Redis: its first write is one that Redis
// then allows. Those that store what a caller brings say FULL, and have changed nothing.
func TestScriptsGoOnOnAFullRedis(t *testing.T) {
	t.Parallel()
	store := []string{"enqueue", "add", "note", "checkpoint"}
	tb := newTableau(t)
	refused := map[string]bool{}
	calls := append(tb.calls(), call{script: "join", key: meshKey, args: []any{"w9", 4000, "1", ""}, // which cuts down a date
		before: [][]string{{"HSET", "{ns}:info:w1", "failed", "99999999999"}}})
	for _, k := range calls {
		replies := tb.prepare(k)
		tb.send("CONFIG", "SET", "maxmemory", 1)
		tb.send("EVALSHA", k.words()...)
		tb.send("CONFIG", "SET", "maxmemory", 0)
		tb.receive(k, replies+1)
		err := tb.refusal(k)
		if _, err := tb.c.Receive(); err != nil {
			t.Fatal(err)
		}
		switch {
		case err == nil || strings.HasPrefix(err.Error(), "CONFIG "):
		case !slices.Contains(store, k.script):
			t.Errorf("%v: %v", k, err)
		case !strings.HasPrefix(err.Error(), "FULL "):
			t.Errorf("%v: %v; want FULL", k, err)
		default:
			refused[k.script] = true
		}
	}
	for _, script := range store {
		if !refused[script] {
			t.Errorf("%s stores on a full Redis", script)
		}
	}
}
