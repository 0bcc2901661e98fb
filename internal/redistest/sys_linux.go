package redistest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// dieWithParent makes the kernel kill the child when its parent ends.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// stopped reports whether every thread of a process is stopped.
func stopped(pid int) bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(threads) == 0 {
		return false
	}
	for _, path := range threads {
		stat, err := os.ReadFile(path)
		if err != nil {
			return false
		}
		// pid (name) state ..: the name may hold anything, brackets too.
		_, state, ok := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " ")
		if !ok || state == "" || (state[0] != 'T' && state[0] != 't') {
			return false
		}
	}
	return true
}
