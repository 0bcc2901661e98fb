//go:build unix

package demo_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// interrupted starts a demo with more work than it could do, sends it a signal when all workers are
// busy, and returns its exit status and what it printed. Then it waits until all the processes that
// it started have ended too: they share its standard error, which ends with the last of them.
func interrupted(t *testing.T, program string, sig syscall.Signal) (status int, printed string) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	demo := exec.CommandContext(t.Context(), program, "-pace", "1s")
	demo.Env = environment("DIR=" + files(t, 2000))
	demo.Stderr = write
	stdout, err := demo.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := demo.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	var out strings.Builder
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		out.WriteString(lines.Text() + "\n")
		if sig != 0 && strings.Count(lines.Text(), "beating") == 4 {
			if err := demo.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			sig = 0
		}
	}
	_ = demo.Wait() // the status is what is asked for
	if err := read.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(read); err != nil {
		t.Fatalf("workers outlive their parent: %v", err)
	} else if len(rest) > 0 {
		t.Errorf("standard error: %s", rest)
	}
	return demo.ProcessState.ExitCode(), out.String()
}

func TestTheDemoEndsItsWorkersWhenInterrupted(t *testing.T) {
	t.Parallel()
	status, out := interrupted(t, build(t, "mesh"), syscall.SIGINT)
	if status != 130 || !strings.HasPrefix(lastLine(out), "interrupted: ") {
		t.Errorf("exit status %d, last line %q; want 130 and that it was interrupted", status, lastLine(out))
	}
}

func TestTheWorkersOfTheDemoDieWithIt(t *testing.T) {
	t.Parallel()
	if status, _ := interrupted(t, build(t, "mesh"), syscall.SIGKILL); status != -1 {
		t.Errorf("exit status %d, want a death by the signal", status)
	}
}
