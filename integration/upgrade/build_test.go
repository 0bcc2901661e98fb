package upgrade

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// before is the older revision: the last one that was built and used before the clock of a queue,
// the rest of a flapping worker and the deputies of a watcher came into the scripts.
const before = "84b5fa3c597d2f39eab763eefab6009a215e0315"

const source = "testdata/daemon/main.go"

// build returns the paths of the daemon built of the older revision and of this tree.
func build(t *testing.T) (older, newer string) {
	t.Helper()
	dir := t.TempDir()
	older, newer = filepath.Join(dir, "older"), filepath.Join(dir, "newer")
	tree := filepath.Join(dir, "tree")
	if err := os.Mkdir(tree, 0o755); err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(dir, "tree.tar")
	out, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		t.Skipf("no repository here, so the older revision cannot be built: %v", err)
	}
	root := strings.TrimSpace(string(out))
	if err := exec.Command("git", "-C", root, "cat-file", "-e", before+"^{commit}").Run(); err != nil {
		t.Skipf("revision %s is not in this repository, a shallow clone perhaps: the older revision cannot be built", before)
	}
	must(t, root, "git", "archive", "-o", archive, before)
	must(t, tree, "tar", "xf", archive)
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(tree, "daemon"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(tree, "daemon", "main.go"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	must(t, tree, "go", "build", "-o", older, "./daemon")
	must(t, ".", "go", "build", "-o", newer, "./testdata/daemon")
	return older, newer
}

// must runs a command in a folder.
func must(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}
