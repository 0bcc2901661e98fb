package guard

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// The tests of a user link, beside the library, the server inside the process and nothing else: not
// what the tests of this project start servers and containers with.
func TestWorqrtestLinksTheEmbeddedServerOnly(t *testing.T) {
	more := []string{module + "/worqrtest", module + "/internal/embedded", "github.com/alicebob/miniredis/v2", "github.com/yuin/gopher-lua"}
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", module+"/worqrtest").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	deps := strings.Fields(string(out))
	if !slices.Contains(deps, module+"/internal/embedded") {
		t.Fatalf("go list names only %v", deps)
	}
	for _, dep := range deps {
		if !slices.ContainsFunc(slices.Concat(allowed, more), func(a string) bool {
			a = strings.TrimSuffix(a, "/")
			return dep == a || strings.HasPrefix(dep, a+"/")
		}) {
			t.Errorf("worqrtest links %s", dep)
		}
	}
}
