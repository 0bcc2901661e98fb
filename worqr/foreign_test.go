package worqr_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/worqr/worqr-go/internal/wire"
)

var (
	channels = regexp.MustCompile(`(root|ARGV\[1\]|queue) \.\. '[^']*'( \.\. queue \.\. '[^']*')?`)
	suffixes = regexp.MustCompile(`':([a-z]+:?)'`)
)

// touched lists the keys that the text of a script names, with those of each id of the tableau
// where it names only their beginning. So a new key joins by itself.
func (tb *tableau) touched(k call) []string {
	workers, memberships := []string{"w1", "w2", "w3", "w9"}, []string{"w1.1", "w2.1", "w3.1", "w3.2", "w9.1"}
	var processes []string
	for m, last := range map[string]int{"w1.1": 8, "w2.1": 3, "w3.1": 3, "w3.2": 1} { // those to come, too
		for n := 1; n <= last; n++ {
			processes = append(processes, fmt.Sprintf("%s.%d", m, n))
		}
	}
	ids := map[string][]string{
		"process:": processes, "processes:": memberships, "trial:": memberships, "blamed:": memberships,
		"worker:": workers, "workmap:": workers, "info:": workers, "turn:": {fingerprint("up")},
	}
	names := map[string]bool{}
	text := channels.ReplaceAllString(wire.Named(k.script).Source, "")
	for _, found := range suffixes.FindAllStringSubmatch(text, -1) {
		suffix := found[1]
		if !strings.HasSuffix(suffix, ":") {
			names[k.key+":"+suffix] = true
			continue
		}
		all, known := ids[suffix]
		if !known { // it is not known whose: all that there are
			all = slices.Concat(workers, memberships, processes)
		}
		for _, id := range all {
			names[k.key+":"+suffix+id] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// foreign are commands that make values of some types.
var foreign = map[string][]string{"string": {"SET", "foreign"}, "list": {"RPUSH", "foreign"}, "hash": {"HSET", "foreign", "1"}}

// scenario 112: each script, each key that it names, each type that is not ours. A script that
// refuses has changed nothing.
func TestScriptsCheckTypesBeforeTheyWrite(t *testing.T) {
	t.Parallel()
	tb := newTableau(t)
	calls := tb.calls()
	for _, s := range wire.Scripts() {
		if !slices.ContainsFunc(calls, func(k call) bool { return k.script == s.Name }) {
			t.Errorf("script %s is not called", s.Name)
		}
	}
	cases, wrong, late := 0, 0, 0
	for _, k := range calls {
		odd := []call{k}
		for _, key := range tb.touched(k) {
			for _, kind := range []string{"string", "hash", "list"} {
				if kind == tb.types[key] || kind == "list" && tb.types[key] != "" && tb.types[key] != "hash" {
					continue // two types are enough for a key of a known type
				}
				k.foreign = append([]string{foreign[kind][0], key}, foreign[kind][1:]...)
				odd = append(odd, k)
			}
		}
		for i, answer := range tb.play(odd...) {
			if answer != nil && i == 0 {
				t.Errorf("%v: %v, though nothing is foreign", k, answer)
			}
			cases++
			if answer == nil || !strings.Contains(answer.Error(), "WRONGTYPE") {
				continue
			}
			wrong++
			if changed := tb.changed(odd[i]); len(changed) > 0 {
				late++
				t.Errorf("%v: %v, and yet it changed %v", odd[i], answer, changed)
			}
		}
	}
	t.Logf("%d cases, %d were refused by the type, %d of them after a write", cases, wrong, late)
	if wrong < cases/20 {
		t.Error("too few of them are refused: the tableau does not reach what the scripts do")
	}
}
