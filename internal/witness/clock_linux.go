package witness

import (
	"os"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// machine returns the one clock that all processes of this machine share and nobody can set. In a
// time namespace it is shifted, and counts as another clock.
func machine() clock {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil || readMonotonic() == 0 {
		return own()
	}
	space, _ := os.Readlink("/proc/self/ns/time") // none before Linux 5.6, for all alike
	return clock{id: strings.TrimSpace(string(boot)) + " " + space, now: readMonotonic}
}

func readMonotonic() time.Duration {
	const clockMonotonic = 1 // clock_gettime(2); package syscall does not name it
	var ts syscall.Timespec
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&ts)), 0); errno != 0 {
		return 0
	}
	return time.Duration(ts.Nano())
}
