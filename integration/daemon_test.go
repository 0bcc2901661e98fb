package integration

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/worqr/worqr-go/internal/redistest"
)

// daemon is a child process with a worker in it, or several.
type daemon struct {
	*redistest.Child
	seen int // runs that next has returned
}

// daemon starts a process of this mesh. What setup leaves open is filled: this server, this
// namespace, brisk times.
func (f *field) daemon(t testing.TB, s setup) *daemon {
	t.Helper()
	if s.URL == "" {
		s.URL = f.server.URL()
	}
	if s.Namespaces == nil {
		s.Namespaces = []string{f.ns}
	}
	if s.Timing == (timing{}) {
		s.Timing = brisk
	}
	arg, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return &daemon{Child: redistest.StartChild(t, "worker", string(arg))}
}

// delivery is a line `run` of a child.
type delivery struct {
	process string
	token   int64
	at      time.Duration
	task    string
}

func (d delivery) worker() string {
	id, _, _ := strings.Cut(d.process, ".")
	return id
}

// deliveries returns all runs so far.
func (d *daemon) deliveries(t testing.TB) []delivery {
	t.Helper()
	var list []delivery
	for _, line := range d.Lines() {
		word := strings.SplitN(line, " ", 5)
		if word[0] != "run" {
			continue
		}
		token, err1 := strconv.ParseInt(word[2], 10, 64)
		at, err2 := strconv.ParseInt(word[3], 10, 64)
		if err1 != nil || err2 != nil {
			t.Fatalf("line %q", line)
		}
		list = append(list, delivery{word[1], token, time.Duration(at), word[4]})
	}
	return list
}

// next waits for the next run.
func (d *daemon) next(t testing.TB) delivery {
	t.Helper()
	var runs []delivery
	redistest.Eventually(t, soon, "another task runs", func() bool {
		runs = d.deliveries(t)
		return len(runs) > d.seen
	})
	d.seen++
	return runs[d.seen-1]
}

// nextIs waits for the next run, of this task.
func (d *daemon) nextIs(t testing.TB, task string) delivery {
	t.Helper()
	run := d.next(t)
	if run.task != task {
		t.Fatalf("%q runs, want %q", run.task, task)
	}
	return run
}

// nextOf waits for the next run of any of these daemons.
func nextOf(t testing.TB, daemons ...*daemon) (*daemon, delivery) {
	t.Helper()
	var who *daemon
	redistest.Eventually(t, soon, "another task runs on one of them", func() bool {
		for _, d := range daemons {
			if len(d.deliveries(t)) > d.seen {
				who = d
				return true
			}
		}
		return false
	})
	return who, who.next(t)
}

// await waits for a line with this prefix, among all there ever were, and returns the rest of it.
func (d *daemon) await(t testing.TB, prefix string) string {
	t.Helper()
	rest := ""
	redistest.Eventually(t, soon, "a line "+strconv.Quote(prefix), func() bool {
		lines := d.said(prefix)
		if len(lines) > 0 {
			rest = lines[0]
		}
		return len(lines) > 0
	})
	return rest
}

// said returns the rest of each line so far that has this prefix.
func (d *daemon) said(prefix string) []string {
	var rests []string
	for _, line := range d.Lines() {
		if rest, ok := strings.CutPrefix(line, prefix); ok {
			rests = append(rests, rest)
		}
	}
	return rests
}

// joined waits for the nth join, from 1, and returns the id.
func (d *daemon) joined(t testing.TB, nth int) string {
	t.Helper()
	var ids []string
	redistest.Eventually(t, soon, fmt.Sprintf("join number %d", nth), func() bool {
		ids = d.said("joined ")
		return len(ids) >= nth
	})
	return ids[nth-1]
}

// joinedAfter waits for the join that follows that of a worker, and returns the id.
func (d *daemon) joinedAfter(t testing.TB, worker string) string {
	t.Helper()
	next := ""
	redistest.Eventually(t, soon, "a join after that of "+worker, func() bool {
		ids := d.said("joined ")
		i := slices.Index(ids, worker) + 1
		if i == 0 || i == len(ids) {
			return false
		}
		next = ids[i]
		return true
	})
	return next
}

// finish orders a process to be finished and returns the result of Finish: "true <nil>" and so on.
func (d *daemon) finish(t testing.TB, run delivery) string {
	t.Helper()
	d.Tell(t, "finish "+run.process)
	return d.await(t, "finished "+run.process+" ")
}

// mustFinish is finish, which has to return true.
func (d *daemon) mustFinish(t testing.TB, run delivery) {
	t.Helper()
	if answer := d.finish(t, run); answer != "true <nil>" {
		t.Fatalf("finish of %q: %s", run.task, answer)
	}
}

// end stops the daemon gracefully, once it is there: before, a signal would kill it.
func (d *daemon) end(t testing.TB) {
	t.Helper()
	d.joined(t, 1)
	d.Term(t)
	if code := d.Wait(t, soon); code != 0 {
		t.Fatalf("exit code %d", code)
	}
}

// holdAll waits until the daemon has n processes in hand, and returns them by token.
func (d *daemon) holdAll(t testing.TB, n int) []delivery {
	t.Helper()
	redistest.Eventually(t, soon, fmt.Sprintf("%d tasks run", n), func() bool { return len(d.deliveries(t)) >= n })
	d.seen = n
	runs := d.deliveries(t)
	slices.SortFunc(runs, func(a, b delivery) int { return int(a.token - b.token) })
	return runs
}
