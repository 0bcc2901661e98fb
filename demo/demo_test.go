package demo_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
)

// patience is how long a demo may take on a slow machine.
const patience = 2 * time.Minute

// build makes the program of a demo.
func build(t *testing.T, name string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), name)
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	if out, err := exec.Command("go", "build", "-o", program, "./"+name).CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", name, err, out)
	}
	return program
}

// environment is this one without what would change what a demo does.
func environment(extra ...string) []string {
	var env []string
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); name != "REDIS_URL" && name != "DIR" {
			env = append(env, v)
		}
	}
	return append(env, extra...)
}

// run runs a program to its end and returns what it printed. It fails the test when the exit status
// is not 0.
func run(t *testing.T, program string, env ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program)
	cmd.Env = environment(env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, &out, &errs)
	}
	if errs.Len() > 0 {
		t.Errorf("standard error: %s", &errs)
	}
	return out.String()
}

func lastLine(out string) string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return lines[len(lines)-1]
}

// files makes a directory with files to hash, some of which have awkward names.
func files(t *testing.T, count int) string {
	t.Helper()
	dir := t.TempDir()
	names := []string{"with space", "new\nline", "näme", "semi;colon"}
	for i := range count {
		name := fmt.Sprintf("file%03d", i)
		if i < len(names) && runtime.GOOS != "windows" {
			name = names[i]
		}
		path := filepath.Join(dir, fmt.Sprint(i%7), name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, bytes.Repeat([]byte(name), 100*i), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestTheDemoLosesNothing(t *testing.T) {
	t.Parallel()
	program := build(t, "mesh")
	for _, count := range []int{1, 200} {
		t.Run(fmt.Sprint(count), func(t *testing.T) {
			out := run(t, program, "DIR="+files(t, count))
			if want := fmt.Sprintf("verified %d of %d, lost 0, finished twice 0", count, count); lastLine(out) != want {
				t.Errorf("last line %q, want %q; all of it:\n%s", lastLine(out), want, out)
			}
			for _, want := range []string{"SIGKILL for worker", "SIGKILL to running", "order kept"} {
				if !strings.Contains(out, want) {
					t.Errorf("no %q in:\n%s", want, out)
				}
			}
			if runtime.GOOS != "windows" && !regexp.MustCompile(`SIGSTOP for worker(?s:.*)SIGCONT for worker(?s:.*)has joined`).MatchString(out) {
				t.Errorf("no worker was frozen, went on and joined again:\n%s", out)
			}
			if strings.Contains(out, "\x1b") {
				t.Errorf("escapes where there is no terminal:\n%q", out)
			}
		})
	}
}

func TestTheDemoRefusesAnEmptyDirectory(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), build(t, "mesh"), "-dir", t.TempDir())
	cmd.Env = environment()
	out, err := cmd.CombinedOutput()
	if exit := new(exec.ExitError); !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(out), "no file to read below") {
		t.Errorf("%v, %s; want exit status 1 and the reason", err, out)
	}
}
