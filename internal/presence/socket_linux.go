//go:build !386

package presence

import (
	"sync"
	"syscall"
	"unsafe"
)

// established is the kernel's state of a TCP connection that neither side has closed. The server's
// FIN or reset changes it when it arrives, also while this process is stopped.
const established = 1

// socket asks the kernel about one connection. RawConn keeps the descriptor from being closed, and
// used again, meanwhile.
type socket struct{ raw syscall.RawConn }

// newSocket returns nil when the kernel cannot be asked.
func newSocket(c *capture) *socket {
	raw := c.raw()
	if raw == nil {
		return nil
	}
	return &socket{raw}
}

func (s *socket) established() bool {
	q := questions.Get().(*question)
	defer questions.Put(q)
	q.state = 0
	return s.raw.Control(q.ask) == nil && q.state == established
}

// question is used many times, so that asking allocates nothing.
type question struct {
	ask   func(fd uintptr)
	state uint8  // the first byte of struct tcp_info, and all that is asked for
	size  uint32 // of that
}

// A raw system call, because this one never waits: announcing it to the scheduler costs a third
// more.
var questions = sync.Pool{New: func() any {
	q := &question{}
	q.ask = func(fd uintptr) {
		q.size = 1
		_, _, errno := syscall.RawSyscall6(syscall.SYS_GETSOCKOPT, fd, syscall.IPPROTO_TCP, syscall.TCP_INFO,
			uintptr(unsafe.Pointer(&q.state)), uintptr(unsafe.Pointer(&q.size)), 0)
		if errno != 0 {
			q.state = 0
		}
	}
	return q
}}
