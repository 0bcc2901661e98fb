//go:build linux

package faults

import (
	"syscall"
	"time"
	"unsafe"
)

// stamp reads the one clock that all processes of this machine share and nobody can set. The
// witness uses it too.
func stamp() time.Duration {
	const clockMonotonic = 1 // clock_gettime(2); package syscall does not name it
	var ts syscall.Timespec
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&ts)), 0); errno != 0 {
		panic(errno)
	}
	return time.Duration(ts.Nano())
}

// stampOf returns the latest stamp that is certainly not after a monotonic instant: the clock is
// read before the distance is.
func stampOf(at time.Time) time.Duration {
	now := stamp()
	return now + time.Until(at)
}
