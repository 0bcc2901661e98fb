package guard

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	listed = regexp.MustCompile(`(?m)^- (\d+[ab]?)\. `)
	named  = regexp.MustCompile(`(?i)\bscenarios? (\d+[ab]?(?:(?:, | and |, and )(?:scenario )?\d+[ab]?)*)`)
	number = regexp.MustCompile(`\d+[ab]?`)
)

// A test names the scenario that it covers by its number, so each number stands once in
// docs/scenarios.md.
func TestTestsNameScenariosThatAreListed(t *testing.T) {
	const page = "../../docs/scenarios.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]int{}
	for _, m := range listed.FindAllStringSubmatch(string(text), -1) {
		known[m[1]]++
	}
	for n, times := range known {
		if times > 1 {
			t.Errorf("%s lists scenario %s %d times", page, n, times)
		}
	}
	covered := map[string]bool{}
	err = filepath.WalkDir("../..", func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range named.FindAllStringSubmatch(string(source), -1) {
			for _, n := range number.FindAllString(m[1], -1) {
				covered[n] = true
				if known[n] == 0 {
					t.Errorf("%s names scenario %s, which %s does not list", path, n, page)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(known) < 100 || len(covered) < 60 {
		t.Fatalf("read %d scenarios and tests for %d of them: the patterns miss some", len(known), len(covered))
	}
}
