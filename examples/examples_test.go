package examples_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// patience is how long an example may take on a slow machine.
const patience = 2 * time.Minute

// run runs an example to its end, on a Redis inside it, and returns what it printed. It fails the
// test when the exit status is not 0.
func run(t *testing.T, name string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "run", "./"+name)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "REDIS_URL=") {
			cmd.Env = append(cmd.Env, v)
		}
	}
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

func TestExamplesRunWithNoArgument(t *testing.T) {
	for name, last := range map[string]string{
		"producer":  "4 tasks wait in queue mail",
		"callbacks": "finished 3 tasks",
		"daemon":    "stopped after 6 tasks, nothing left in hand",
		"hold":      "stopped, nothing is held any more",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := strings.TrimSpace(run(t, name))
			if line := out[strings.LastIndexByte(out, '\n')+1:]; line != last {
				t.Errorf("last line %q, want %q; all of it:\n%s", line, last, out)
			}
			if name == "hold" && !strings.Contains(out, "connected, from line 4 on") {
				t.Errorf("no feed goes on where it broke off:\n%s", out)
			}
		})
	}
}
