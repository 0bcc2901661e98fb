package redistest

import (
	"errors"
	"os"
	"syscall"
	"testing"
	"time"
)

// What can happen to a child. Each method waits until it has happened.

// Kill ends the child by SIGKILL, frozen or not.
func (c *Child) Kill(t testing.TB) {
	t.Helper()
	c.send(t, syscall.SIGKILL)
	c.Wait(t, stopLimit)
}

// Term asks the child to end, by SIGTERM. [Child.Wait] returns how it ended.
func (c *Child) Term(t testing.TB) { t.Helper(); c.send(t, syscall.SIGTERM) }

// Freeze stops every thread of the child by SIGSTOP.
func (c *Child) Freeze(t testing.TB) {
	t.Helper()
	c.send(t, syscall.SIGSTOP)
	Eventually(t, stopLimit, "child "+c.name+" is frozen", func() bool { return stopped(c.Pid()) })
}

// Thaw lets a frozen child continue.
func (c *Child) Thaw(t testing.TB) {
	t.Helper()
	c.send(t, syscall.SIGCONT)
	Eventually(t, stopLimit, "child "+c.name+" goes on", func() bool { return !stopped(c.Pid()) })
}

// Wait waits until the child has ended and returns its exit code, or -1 when a signal ended it.
func (c *Child) Wait(t testing.TB, limit time.Duration) int {
	t.Helper()
	if !within(limit, c.exited) {
		t.Fatalf("child %s has not ended within %v", c.name, limit)
	}
	return c.cmd.ProcessState.ExitCode()
}

// Exited returns a channel that is closed when the child has ended.
func (c *Child) Exited() <-chan struct{} { return c.exited }

func (c *Child) send(t testing.TB, sig syscall.Signal) {
	t.Helper()
	if err := c.signal(sig); err != nil {
		t.Fatalf("child %s: %v: %v", c.name, sig, err)
	}
}

// signal goes to this very process: after it has been waited for, its id may belong to another, and
// Signal refuses.
func (c *Child) signal(sig syscall.Signal) error {
	err := c.cmd.Process.Signal(sig)
	if errors.Is(err, os.ErrProcessDone) && (sig == syscall.SIGKILL || sig == syscall.SIGTERM) {
		return nil
	}
	return err
}
