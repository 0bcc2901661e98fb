package redistest

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// Main is a whole TestMain. It runs setup. If this process was started as a child, it runs that
// child (see [RegisterChild]). Else it runs the tests, stops the shared server and, when the tests
// passed, looks for goroutines that were left behind. It does not return.
func Main(m *testing.M, setup ...func()) {
	for _, f := range setup {
		f()
	}
	runAsChild()
	before := goleak.IgnoreCurrent()
	code := m.Run()
	shared.stop()
	children.stop()
	if code == 0 {
		if err := goleak.Find(before); err != nil {
			fmt.Fprintf(os.Stderr, "redistest: goroutines are left after the tests: %v\n", err)
			code = 1
		}
	}
	os.Exit(code)
}
