package guard

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The map in CONTRIBUTING.md leads to what is there.
func TestTheMapOfTheCodeIsTrue(t *testing.T) {
	text, err := os.ReadFile("../../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), "## A map of the code\n")
	if !found {
		t.Fatal("CONTRIBUTING.md has no map of the code")
	}
	code := regexp.MustCompile("`([^`]+)`")
	rows := regexp.MustCompile(`(?m)^\| (.*?) \| (.*?) \| ?(.*?) ?\|$`).FindAllStringSubmatch(table, -1)
	for _, row := range rows {
		var source strings.Builder
		for _, path := range code.FindAllStringSubmatch(row[2], -1) {
			file, err := os.ReadFile(filepath.Join("../..", path[1]))
			if err != nil {
				t.Errorf("%q: %v", row[1], err)
			}
			source.Write(file)
		}
		for _, name := range code.FindAllStringSubmatch(row[3], -1) {
			declared := regexp.MustCompile(`(?m)^(func (\(.*?\) )?|local function |var )` + name[1] + `\b`)
			if !declared.MatchString(source.String()) {
				t.Errorf("%q: %s is not in %s", row[1], name[1], row[2])
			}
		}
	}
	if len(rows) < 15 {
		t.Fatalf("read %d rows of the map: the pattern misses some", len(rows))
	}
}

// The commands and environment variables that the pages and the workflow name exist.
func TestThePagesNameTargetsAndVariablesThatExist(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	for _, folder := range []string{"internal", "integration", "heartbeat", "worqr", "worqrtest", "bench", "scripts"} {
		err := filepath.WalkDir(filepath.Join("../..", folder), func(path string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") && folder != "scripts" {
				return err
			}
			source, err := os.ReadFile(path)
			code.Write(source)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	pages, err := filepath.Glob("../../.github/workflows/*.yml")
	if err != nil || len(pages) == 0 {
		t.Fatalf("workflows: %v, %v", pages, err)
	}
	for _, page := range append(pages, "../../README.md", "../../CONTRIBUTING.md", "../../SECURITY.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, target := range regexp.MustCompile("(?m)(?:^|`|run: )make ([a-z][a-z-]*)").FindAllStringSubmatch(string(text), -1) {
			if !strings.Contains(string(makefile), "\n"+target[1]+": ") {
				t.Errorf("%s names make %s, which the Makefile does not have", page, target[1])
			}
		}
		for _, name := range regexp.MustCompile(`\b(?:WORQR|HEARTBEAT)_[A-Z_]+\b`).FindAllString(string(text), -1) {
			if !strings.Contains(code.String(), `"`+name+`"`) {
				t.Errorf("%s names %s, which nothing reads", page, name)
			}
		}
	}
}
