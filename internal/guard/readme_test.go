package guard

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The first program that a newcomer copies out of the README builds in a module of its own.
func TestTheProgramOfTheReadmeCompiles(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	programs := regexp.MustCompile("(?s)```go\n(package main\n.*?)```").FindAllSubmatch(readme, -1)
	if len(programs) != 1 {
		t.Fatalf("README.md has %d whole programs, want 1", len(programs))
	}
	if at := strings.Index(string(readme), "package main"); strings.Count(string(readme[:at]), "\n") > 30 {
		t.Error("the program of README.md is not on its first screen")
	}
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"main.go": string(programs[0][1]),
		"go.sum":  string(sums),
		"go.mod": fmt.Sprintf("module example.com/readme\n\ngo 1.25.0\n\nrequire %s v0.0.0\n\nreplace %s => %q\n",
			module, module, root),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "vet", "-mod=mod", ".")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("the program of README.md: %v\n%s", err, out)
	}
}

// Examples compile where they are copied to: they import nothing that is internal.
func TestExamplesOfPackagesImportOnlyWhatIsPublic(t *testing.T) {
	files, err := filepath.Glob("../../*/example*_test.go")
	if err != nil || len(files) < 3 {
		t.Fatalf("examples: %v, %v", files, err)
	}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range file.Imports {
			if name, err := strconv.Unquote(spec.Path.Value); err != nil || strings.Contains(name, "/internal/") {
				t.Errorf("%s imports %s", path, spec.Path.Value)
			}
		}
	}
}
