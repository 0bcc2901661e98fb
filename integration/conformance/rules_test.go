package conformance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The files of the folder rules hold one script each, or what several share, to what its head and
// its lines promise, the rare cases too. A line that begins with # is the rule that the calls below
// it show, one with -- a comment. What $name stands for is learned once in a rule.
func TestScriptRules(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("rules/*.calls")
	if err != nil || len(files) == 0 {
		t.Fatalf("no rules: %v", err)
	}
	all := assemble(t)
	for _, file := range files {
		script := strings.TrimSuffix(filepath.Base(file), ".calls")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range rules(t, file, string(text)) {
			t.Run(script+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				f := newForeign(t, all)
				for _, l := range c.lines {
					if err := f.run(l); err != nil {
						t.Fatalf("%s:%d: %s\n%v", file, l.number, l.text, err)
					}
				}
			})
		}
	}
}

// rules reads a file of rules.
func rules(t testing.TB, file, text string) (list []check) {
	t.Helper()
	for i, text := range strings.Split(text, "\n") {
		switch name, isRule := strings.CutPrefix(text, "# "); {
		case isRule:
			list = append(list, check{name: name})
		case text == "" || strings.HasPrefix(text, "--"):
		default:
			l, err := parse(i+1, text)
			if err != nil || len(list) == 0 {
				t.Fatalf("%s: a call without a rule, or %v", file, err)
			}
			last := &list[len(list)-1]
			last.lines = append(last.lines, l)
		}
	}
	return list
}
