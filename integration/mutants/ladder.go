package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// classes are how long the tests of a rung may take by themselves.
var classes = []time.Duration{300 * time.Millisecond, 3 * time.Second, time.Hour}

// atOnce is how long all tests of a package may take that makes one rung.
const atOnce = 10 * time.Second

// onlyText are tests that compare the text of the scripts with a copy of it.
var onlyText = []string{"TestTheScriptsFileIsCurrent", "TestEveryScriptIsMadeAsThePageSays"}

// A group is files whose mistakes climb the same ladder: the packages by which they are tried, the
// quickest first.
type group struct {
	name     string
	has      func(file string) bool // its path from the root
	packages []string
}

var groups = []group{
	{"scripts", func(f string) bool { return strings.HasSuffix(f, ".lua") },
		[]string{"integration/conformance", "worqr", "integration/simulator", "integration/model", "integration"}},
	{"heartbeat", func(f string) bool { return source(f) && strings.HasPrefix(f, "heartbeat/") }, []string{"heartbeat", "worqr"}},
	{"presence", func(f string) bool { return source(f) && strings.HasPrefix(f, "internal/presence/") }, []string{"internal/presence", "worqr"}},
	{"fences", func(f string) bool {
		return source(f) && (filepath.Base(f) == "dispatch.go" || filepath.Base(f) == "look.go")
	}, []string{"worqr", "integration/model", "integration"}},
}

func source(f string) bool { return strings.HasSuffix(f, ".go") && !strings.HasSuffix(f, "_test.go") }

// folders are where the files of all groups are.
var folders = []string{"worqr", "internal", "heartbeat"}

// build compiles the tests of a package.
func build(ctx context.Context, t *tree, pkg string) (binary string, err error) {
	binary = filepath.Join(t.root+"-bin", strings.ReplaceAll(pkg, "/", "-")+".test")
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-o", binary, "./"+pkg)
	cmd.Dir = t.root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("compile the tests of %s: %w\n%s", pkg, err, out)
	}
	return binary, nil
}

// rungs runs the tests of a package that match a pattern, without a mistake, and sorts them by how
// long they take. Those that fail here are left out.
func rungs(ctx context.Context, t *tree, pkg, binary, tests string) ([]rung, []string, error) {
	begun := time.Now()
	var out bytes.Buffer
	cmd := command(ctx, t, binary, pkg, "-test.failfast=false", "-test.run", tests, "-test.skip", "^("+strings.Join(onlyText, "|")+")$")
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	t.sweep()
	all := time.Since(begun)
	list := make([]rung, len(classes))
	var failing []string
	for line := range strings.Lines(out.String()) {
		if match := testFailed.FindStringSubmatch(line); match != nil && line[0] == '-' {
			failing = append(failing, match[1])
		}
		match := testPassed.FindStringSubmatch(line)
		if match == nil {
			continue
		}
		seconds, _ := strconv.ParseFloat(match[2], 64)
		took := time.Duration(seconds * float64(time.Second))
		i := slices.IndexFunc(classes, func(most time.Duration) bool { return took < most || all < atOnce })
		list[i].tests = append(list[i].tests, match[1])
		list[i].took = min(list[i].took+took, all) // they run beside each other
	}
	if err != nil && len(failing) == 0 {
		return nil, nil, fmt.Errorf("the tests of %s fail without a mistake: %w\n%s", pkg, err, tail(out.String()))
	}
	for i := range list {
		list[i].pkg, list[i].binary = pkg, binary
	}
	return slices.DeleteFunc(list, func(r rung) bool { return len(r.tests) == 0 }), failing, nil
}

func tail(text string) string { return text[max(0, len(text)-2000):] }

// mutantsOf lists the mutants of all files of the groups.
func mutantsOf(t *tree) (map[string][]mutant, error) {
	all := map[string][]mutant{}
	for _, folder := range folders {
		for _, g := range groups {
			files, err := t.find(folder, g.has)
			if err != nil && !os.IsNotExist(err) {
				return nil, err
			}
			for _, file := range files {
				text, err := t.read(file)
				if err != nil {
					return nil, err
				}
				list := luaMutants(file, text)
				if source(file) {
					if list, err = goMutants(file, text); err != nil {
						return nil, err
					}
				}
				// It tries commands on scratch keys: which end, or how many, is all one.
				if filepath.Base(file) == "check.lua" {
					list = slices.DeleteFunc(list, func(m mutant) bool { return m.Kind == "end" || m.Kind == "off" })
				}
				all[g.name] = append(all[g.name], list...)
			}
		}
	}
	return all, nil
}
