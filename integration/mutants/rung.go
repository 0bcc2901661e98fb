package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// A rung is a share of the tests of one package: those that took about as long.
type rung struct {
	pkg    string
	tests  []string
	took   time.Duration // all of them, without a mistake
	binary string
}

func (r rung) String() string {
	return fmt.Sprintf("%d tests of %s, %v", len(r.tests), r.pkg, r.took.Round(time.Second))
}

// limit is how long the rung may take: a mistake may make a test wait, and the machine may be busy.
func (r rung) limit() time.Duration { return time.Minute + 10*r.took }

// shaky reports whether a test may fail because the machine is busy. None of a rung that is done in
// a moment does.
func (r rung) shaky() bool { return r.took > atOnce }

// A verdict is what became of a run of tests.
type verdict struct {
	test string // the first that failed
	why  string // "" when all passed
	took time.Duration
}

var (
	testFailed = regexp.MustCompile(`^\s*--- FAIL: ([^\s(]+)`)
	testPassed = regexp.MustCompile(`^--- PASS: (\S+) \(([0-9.]+)s\)`)
)

// command is a run of a test binary in its package's folder.
func command(ctx context.Context, t *tree, binary, pkg string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, binary, append([]string{"-test.v", "-test.short", "-test.failfast"}, args...)...)
	cmd.Dir = filepath.Join(t.root, pkg)
	cmd.Env = append(os.Environ(), rootVariable+"="+t.root, "TMPDIR="+t.temp)
	if os.Getenv("WORQR_TEST_BACKEND") == "" {
		cmd.Env = append(cmd.Env, "WORQR_TEST_BACKEND=process") // it ends with the test binary, which may be killed
	}
	cmd.WaitDelay = time.Second
	return cmd
}

// run runs tests until the first failure, and ends the rest then.
func (r rung) run(ctx context.Context, t *tree, tests []string) verdict {
	defer t.sweep()
	begun := time.Now()
	limited, cancel := context.WithTimeout(ctx, r.limit())
	defer cancel()
	cmd := command(limited, t, r.binary, r.pkg, "-test.run", "^("+strings.Join(tests, "|")+")$")
	out, in := io.Pipe()
	cmd.Stdout, cmd.Stderr = in, in
	if err := cmd.Start(); err != nil {
		return verdict{why: err.Error()}
	}
	ended := make(chan error, 1)
	go func() {
		err := cmd.Wait()
		_ = in.Close()
		ended <- err
	}()
	var v verdict
	last, crash := "", ""
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if match := testFailed.FindStringSubmatch(line); match != nil && v.test == "" {
			v.test, _, _ = strings.Cut(match[1], "/")
			v.why = "fails"
			cancel()
		}
		if crash == "" && (strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:")) {
			crash = line
		}
		if strings.TrimSpace(line) != "" {
			last = line
		}
	}
	_, _ = io.Copy(io.Discard, out) // a line that is too long ends the scan
	err := <-ended
	v.took = time.Since(begun)
	switch {
	case v.why != "":
	case crash != "":
		v.why = crash
	case limited.Err() == context.DeadlineExceeded:
		v.why = fmt.Sprintf("hangs: nothing failed in %v", r.limit().Round(time.Second))
	case err != nil:
		v.why = fmt.Sprintf("%v: %s", err, last)
	}
	return v
}

// sweep removes what killed tests left.
func (t *tree) sweep() {
	entries, _ := os.ReadDir(t.temp)
	for _, e := range entries {
		_ = os.RemoveAll(filepath.Join(t.temp, e.Name()))
	}
}
