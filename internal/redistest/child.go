package redistest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// childEnv names the function that a child process runs.
const childEnv = "WORQR_TEST_CHILD"

var childFuncs = map[string]func(args []string){}

// RegisterChild registers fn under a name with which [StartChild] runs it in a process of its own.
// It is called in an init function or as a setup of [Main].
func RegisterChild(name string, fn func(args []string)) {
	if _, taken := childFuncs[name]; taken {
		panic("redistest: child " + name + " is registered twice")
	}
	childFuncs[name] = fn
}

// runAsChild turns this process into the child it was started as. Otherwise it
// does nothing.
func runAsChild() {
	name := os.Getenv(childEnv)
	if name == "" {
		return
	}
	fn := childFuncs[name]
	if fn == nil {
		fmt.Fprintf(os.Stderr, "redistest: no child %q is registered\n", name)
		os.Exit(2)
	}
	fn(os.Args[1:])
	os.Exit(0)
}

// Child is another process that runs a registered function of this test
// binary. One goroutine of the test uses it.
type Child struct {
	// Stdin receives orders for the child.
	Stdin io.WriteCloser

	name   string
	cmd    *exec.Cmd
	err    tail
	exited chan struct{}

	read int // lines that Line and WaitLine have returned

	mu    sync.Mutex
	lines []string
	more  chan struct{} // closed and replaced at every line, closed at the end
	ended bool
}

// StartChild runs the child of that name with these arguments. The child is
// killed at the end of the test, and by the kernel when this process dies. What
// it wrote to stderr is logged at the end.
func StartChild(t testing.TB, name string, args ...string) *Child {
	t.Helper()
	if childFuncs[name] == nil {
		t.Fatalf("redistest: no child %q is registered", name)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	// Without the second a race-enabled child sleeps for a second at its exit.
	cmd.Env = append(os.Environ(), childEnv+"="+name, "GORACE=atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	return startCommand(t, name, cmd)
}

// StartProgram runs another program as a child: for the rest it is as [StartChild]. The name is for
// messages.
func StartProgram(t testing.TB, name, path string, args ...string) *Child {
	t.Helper()
	return startCommand(t, name, exec.Command(path, args...))
}

func startCommand(t testing.TB, name string, cmd *exec.Cmd) *Child {
	t.Helper()
	c := &Child{name: name, cmd: cmd, exited: make(chan struct{}), more: make(chan struct{})}
	c.cmd.Stderr = &c.err
	var err error
	if c.Stdin, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := children.run(c.cmd); err != nil {
		t.Fatalf("redistest: start child %s: %v", name, err)
	}
	go func() {
		defer close(c.exited)
		c.collect(out)
		c.cmd.Wait() // the exit state is read from ProcessState
	}()
	t.Cleanup(func() {
		c.signal(syscall.SIGKILL)
		if !within(stopLimit, c.exited) {
			t.Errorf("redistest: child %s survived SIGKILL", name)
			return
		}
		if log := c.err.String(); log != "" {
			t.Logf("stderr of child %s (%d):\n%s", name, c.Pid(), log)
		}
	})
	return c
}

func (c *Child) collect(out io.Reader) {
	r := bufio.NewReader(out)
	for {
		line, err := r.ReadString('\n')
		c.mu.Lock()
		if line != "" {
			c.lines = append(c.lines, strings.TrimRight(line, "\r\n"))
		}
		close(c.more)
		if err != nil {
			c.ended = true
			c.mu.Unlock()
			return
		}
		c.more = make(chan struct{})
		c.mu.Unlock()
	}
}

// Pid returns the child's process id.
func (c *Child) Pid() int { return c.cmd.Process.Pid }

// Lines returns all lines that the child has written to stdout so far. It does not change what Line
// returns next.
func (c *Child) Lines() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.lines...)
}

// Line returns the next line of the child's stdout.
func (c *Child) Line(t testing.TB, within time.Duration) string {
	t.Helper()
	line, err := c.next("", within)
	if err != nil {
		t.Fatalf("child %s: a line: %v", c.name, err)
	}
	return line
}

// WaitLine returns the next line that begins with prefix, and skips the lines before it.
func (c *Child) WaitLine(t testing.TB, prefix string, within time.Duration) string {
	t.Helper()
	line, err := c.next(prefix, within)
	if err != nil {
		t.Fatalf("child %s: a line %q: %v", c.name, prefix, err)
	}
	return line
}

func (c *Child) next(prefix string, within time.Duration) (string, error) {
	end := time.NewTimer(within)
	defer end.Stop()
	for {
		c.mu.Lock()
		for c.read < len(c.lines) {
			line := c.lines[c.read]
			c.read++
			if strings.HasPrefix(line, prefix) {
				c.mu.Unlock()
				return line, nil
			}
		}
		more, ended := c.more, c.ended
		c.mu.Unlock()
		if ended {
			return "", errors.New("its output has ended")
		}
		select {
		case <-more:
		case <-end.C:
			return "", fmt.Errorf("not within %v", within)
		}
	}
}

// Tell writes a line to the child's stdin.
func (c *Child) Tell(t testing.TB, line string) {
	t.Helper()
	if _, err := io.WriteString(c.Stdin, line+"\n"); err != nil {
		t.Fatalf("child %s: tell %q: %v", c.name, line, err)
	}
}
