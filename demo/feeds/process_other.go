//go:build !linux

package main

import "syscall"

// dieWithParent does nothing here: the end of its standard input tells a holder that the parent has
// died.
func dieWithParent() *syscall.SysProcAttr { return nil }
