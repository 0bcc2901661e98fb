//go:build unix

package main

import (
	"bufio"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// signalled starts the demo, has it end by a signal when all feeds are held, and returns its exit
// status and last line. It waits until the holders have ended too: they share its standard error,
// which ends with the last of them.
func signalled(t *testing.T, signal func(*os.Process) error) (status int, last string) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	cmd := command(t)
	cmd.Stderr = write
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		if last = lines.Text(); signal != nil && strings.Contains(last, "all 40 feeds are held") {
			if err := signal(cmd.Process); err != nil {
				t.Fatal(err)
			}
			signal = nil
		}
	}
	_ = cmd.Wait() // the status is what is asked for
	if err := read.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if errs, err := io.ReadAll(read); err != nil {
		t.Fatalf("holders outlive their parent: %v", err)
	} else if len(errs) > 0 {
		t.Logf("standard error: %s", errs)
	}
	return cmd.ProcessState.ExitCode(), last
}

func TestAnInterruptEndsTheHoldersToo(t *testing.T) {
	t.Parallel()
	status, last := signalled(t, func(p *os.Process) error { return p.Signal(syscall.SIGINT) })
	if status != 130 || !strings.Contains(last, "interrupted") {
		t.Errorf("exit status %d, last line %q; want 130 and that it was interrupted", status, last)
	}
}

func TestTheHoldersDieWithTheirParent(t *testing.T) {
	t.Parallel()
	if status, _ := signalled(t, (*os.Process).Kill); status != -1 {
		t.Errorf("exit status %d, want a death by the signal", status)
	}
}
