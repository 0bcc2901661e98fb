//go:build !linux

package witness

import "syscall"

func dieWithParent() *syscall.SysProcAttr { return nil }
