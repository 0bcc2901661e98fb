package guard

import (
	"go/ast"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Commands that a user need not be allowed. A refusal of one of these is tolerated.
var tolerated = []string{
	"INFO",   // settle then publishes each end, sweep sees no new run id, Check does not know whether keys are evicted
	"PUBSUB", // a worker without it is neither watched nor a watcher: its queues are Strict
	"CLIENT", // the number of the database is taken to be 0
}

var (
	comments = regexp.MustCompile(`(?m)--.*$`)
	literal  = regexp.MustCompile(`\(\s*'([A-Z]+)'`)          // of a call by whatever name: redis.call, pcall, spared
	unnamed  = regexp.MustCompile(`redis\.p?call\(\s*[^'\s]`) // a command that is not named where it is called
)

// scenario 111: check.lua tries every command that the scripts name or that Go sends, except those
// that are tolerated.
func TestCheckTriesEveryCommand(t *testing.T) {
	used := map[string]string{}
	tried := map[string]bool{}
	for name, source := range luaFiles(t) {
		text := comments.ReplaceAllString(source, "")
		if name == "check" {
			for _, found := range regexp.MustCompile(`\{'([A-Z]+)'`).FindAllStringSubmatch(text, -1) {
				tried[found[1]] = true
			}
			continue
		}
		for _, found := range literal.FindAllStringSubmatch(text, -1) {
			used[found[1]] = name
		}
		if calls := unnamed.FindAllString(text, -1); name == "lib" && len(calls) != 2 || name != "lib" && len(calls) > 0 {
			t.Errorf("%s: %q: commands are named where they are called, but in spared", name, calls)
		}
		for _, word := range tolerated {
			if strings.Contains(text, "redis.call('"+word+"'") && name != "watch" { // which tries it by pcall before
				t.Errorf("%s calls %s by redis.call, which raises a refusal that is tolerated", name, word)
			}
		}
	}
	for path, file := range library(t, "worqr", "internal/wire") {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if s, ok := call.Fun.(*ast.SelectorExpr); !ok || s.Sel.Name != "read" && s.Sel.Name != "Read" || len(call.Args) < 2 {
				return true
			}
			if lit, ok := call.Args[1].(*ast.BasicLit); ok {
				// check.lua itself is run by the first two.
				if word, err := strconv.Unquote(lit.Value); err == nil && word != "EVAL" && word != "EVALSHA" {
					used[word] = path
				}
			}
			return true
		})
	}
	if len(used) < 45 {
		t.Fatalf("only %d commands are found", len(used))
	}
	for word, where := range used {
		if !tried[word] && !slices.Contains(tolerated, word) {
			t.Errorf("%s uses %s, which check.lua does not try", where, word)
		}
	}
	for word := range tried {
		if used[word] == "" && word != "PING" { // the pings of subscriptions
			t.Errorf("check.lua tries %s, which nobody uses", word)
		}
	}
}
