//go:build unix

package main

import (
	"os"
	"syscall"
)

// freeze stops a process in its tracks, and thaw lets it go on as if nothing had been.
func freeze(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }

func thaw(p *os.Process) error { return p.Signal(syscall.SIGCONT) }
