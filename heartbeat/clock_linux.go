package heartbeat

import (
	"syscall"
	"time"
	"unsafe"
)

// Clock ids of clock_gettime(2), which package syscall does not name.
const (
	clockMonotonic = 1
	clockBoottime  = 7 // like clockMonotonic, but goes on while the host sleeps
)

// hostSlept returns how long the host has slept since it booted: the difference of the two clocks.
// They cannot be read at one instant, so the second reading of clockMonotonic bounds the error, and
// the closest pair of readings counts. The result is never too long.
func hostSlept() (time.Duration, bool) {
	const close = 50 * time.Microsecond
	var slept, best time.Duration
	for try := range 3 {
		before, ok1 := gettime(clockMonotonic)
		boot, ok2 := gettime(clockBoottime)
		after, ok3 := gettime(clockMonotonic)
		if !ok1 || !ok2 || !ok3 {
			return 0, false
		}
		if apart := after - before; try == 0 || apart < best {
			slept, best = boot-after, apart
		}
		if best < close {
			break
		}
	}
	return slept, true
}

func gettime(id uintptr) (time.Duration, bool) {
	var ts syscall.Timespec
	_, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, id, uintptr(unsafe.Pointer(&ts)), 0)
	return time.Duration(ts.Nano()), errno == 0
}
