package main

import "syscall"

// dieWithParent has the system kill a worker whose parent has died, also a frozen one, which cannot
// notice.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
