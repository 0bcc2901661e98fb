package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// slow is how long the demo may take on a slow machine.
const slow = 2 * time.Minute

// program makes the program once for all tests.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "feeds")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "feeds")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput()
	if err != nil {
		os.Stderr.Write(out)
	}
	return path, err
})

func TestMain(m *testing.M) {
	status := m.Run()
	if path, err := program(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(status)
}

// command is the program with arguments, on a Redis of its own.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), slow)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, path, args...)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "REDIS_URL=") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	return cmd
}

// run runs the program to its end and returns the lines it printed. It fails the test when the exit
// status is not 0.
func run(t *testing.T, args ...string) []string {
	t.Helper()
	cmd := command(t, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, &out, &errs)
	}
	if errs.Len() > 0 {
		t.Logf("standard error: %s", &errs) // a holder that had trouble on a slow machine; what came of it the verdict knows
	}
	return strings.Split(strings.TrimSpace(out.String()), "\n")
}

func TestNoTwoHoldAFeedAtOnceAndAllAreHeldAtTheEnd(t *testing.T) {
	t.Parallel()
	lines := run(t)
	all := strings.Join(lines, "\n")
	want := regexp.MustCompile(`^overlap 0 \(possible \d+\), held at the end 40 of 40, gaps: death \d+ up to .*, drain \d+ up to .*, rebalance \d+ up to `)
	if last := lines[len(lines)-1]; !want.MatchString(last) {
		t.Errorf("last line %q, want %s; all of it:\n%s", last, want, all)
	}
	if strings.Contains(all, "\x1b") {
		t.Errorf("escapes where there is no terminal:\n%q", all)
	}
}

func TestTheEventsAddUpToTheReport(t *testing.T) {
	t.Parallel()
	count, moves, held := map[string]int{}, map[string]int{}, map[string]int{}
	var report struct {
		OK                   *bool
		Overlap, Feeds, Held int
		Gaps                 map[string]struct{ Count int }
		Lines                struct{ Sent, Missed int }
	}
	lines := run(t, "-json", "-feeds", "24")
	for _, line := range lines {
		var e struct {
			Event, Why string
			Count      int
			Report     json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		switch count[e.Event]++; e.Event {
		case "move":
			moves[e.Why]++
		case "killed", "drained":
			held[e.Event] = e.Count
		case "report":
			if err := json.Unmarshal(e.Report, &report); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
		}
	}
	all := strings.Join(lines, "\n")
	for event, n := range map[string]int{"started": 5, "reconciled": 1, "killed": 1, "drained": 1, "report": 1} {
		if count[event] != n {
			t.Errorf("%d events %q, want %d:\n%s", count[event], event, n, all)
		}
	}
	if report.OK == nil || !*report.OK || report.Overlap != 0 || report.Feeds != 24 || report.Held != 24 || report.Lines.Sent == 0 || report.Lines.Missed != 0 {
		t.Errorf("report %+v, want 24 of 24 held, no overlap and no missed line:\n%s", report, all)
	}
	for why, least := range map[string]int{"death": held["killed"], "drain": held["drained"], "rebalance": 1} {
		if n := report.Gaps[why].Count; n < least || least == 0 || n != moves[why] {
			t.Errorf("the report has %d gaps at %s and %d moves were told, want both alike and at least %d:\n%s", n, why, moves[why], max(1, least), all)
		}
	}
}
