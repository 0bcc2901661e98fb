package main

import "syscall"

// dieWithParent has the system kill a holder whose parent has died.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
