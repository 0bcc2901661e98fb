package subscribe

import "syscall"

func init() { childOfTest = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
