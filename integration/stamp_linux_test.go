package integration

import (
	"syscall"
	"time"
	"unsafe"
)

// stamp reads the one clock that all processes of this machine share and nobody can set. So
// instants that different processes record can be compared, however late they are read.
func stamp() time.Duration {
	const clockMonotonic = 1 // clock_gettime(2); package syscall does not name it
	var ts syscall.Timespec
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&ts)), 0); errno != 0 {
		panic(errno)
	}
	return time.Duration(ts.Nano())
}
