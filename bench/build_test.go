package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// put writes a program under peers/ of a folder.
func put(t *testing.T, root, name, source string) {
	t.Helper()
	dir := filepath.Join(root, "peers", name)
	err := errors.Join(
		os.MkdirAll(dir, 0o755),
		os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/"+name+"\n\ngo 1.25\n"), 0o644),
		os.WriteFile(filepath.Join(dir, "main.go"), []byte(source), 0o644),
	)
	if err != nil {
		t.Fatal(err)
	}
}

func TestAPeerThatDoesNotBuildIsSkipped(t *testing.T) {
	root := t.TempDir()
	put(t, root, "whole", "package main\n\nfunc main() {}\n")
	put(t, root, "broken", "package main\n\nfunc main() { missing() }\n")
	made, left := build(t.Context(), root, []peer{
		{Name: "a", Dir: "broken"}, {Name: "b", Dir: "whole"}, {Name: "b again", Dir: "whole", Variant: "1ms"}, {Name: "c", Dir: "nowhere"},
		{Name: "d", Absent: "nobody has it"},
	})
	if len(made) != 2 || made[0].Name != "b" || made[1].Name != "b again" {
		t.Errorf("made are %v", made)
	}
	if _, err := os.Stat(program(root, "whole")); err != nil {
		t.Error(err)
	}
	want := []struct{ peer, reason string }{{"a", "undefined: missing"}, {"c", "there is no folder peers/nowhere"}, {"d", "nobody has it"}}
	if len(left) != len(want) {
		t.Fatalf("left out are %v", left)
	}
	for i, w := range want {
		if left[i].Peer != w.peer || !strings.Contains(left[i].Reason, w.reason) {
			t.Errorf("left out is %v, not %v", left[i], w)
		}
	}
}

func TestAReasonNamesNoAddress(t *testing.T) {
	got := reason("go: downloading\ngo: x@v1: reading https://proxy.example.com/x/@v/v1.info: 404\n", errors.New("exit status 1"))
	if got != "go: x@v1: reading (address) 404" {
		t.Errorf("the reason is %q", got)
	}
	if got := reason("", errors.New("exit status 1")); got != "exit status 1" {
		t.Errorf("the reason of silence is %q", got)
	}
	if got := reason(strings.Repeat("x", 1000), errors.New("")); len(got) > 210 {
		t.Errorf("the reason has %d bytes", len(got))
	}
}
