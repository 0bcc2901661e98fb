//go:build unix && !linux

package redistest

import (
	"os/exec"
	"strconv"
	"strings"
)

// dieWithParent needs Linux. Elsewhere a child may outlive a test binary that
// was killed.
func dieWithParent(*exec.Cmd) {}

// stopped reports whether a process is stopped.
func stopped(pid int) bool {
	out, err := exec.Command("ps", "-o", "state=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && strings.HasPrefix(strings.TrimSpace(string(out)), "T")
}
