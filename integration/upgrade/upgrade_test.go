package upgrade

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

const (
	feeds = 30
	soon  = time.Minute
)

// field is a fleet whose daemons are replaced one by one.
type field struct {
	*testing.T
	mesh  *worqr.Mesh
	url   string
	ns    string
	fleet []*daemon // all that ever ran
	jobs  int
}

// Daemons of two revisions serve the same queues while the ones are replaced by the others, and
// back. In each round one ends in order, one is killed, and one is frozen for longer than its lapse
// first.
func TestDaemonsOfTwoRevisionsShareTheirQueues(t *testing.T) {
	older, newer := build(t)
	f := &field{T: t, url: redistest.Shared(t).URL(), ns: redistest.Namespace(t)}
	mesh, err := worqr.Open(t.Context(), f.url, worqr.Config{Namespace: f.ns})
	if err != nil {
		t.Fatal(err)
	}
	f.mesh = mesh
	t.Cleanup(func() { _ = mesh.Close() })
	var wanted [][]byte
	for i := range feeds {
		wanted = append(wanted, []byte(fmt.Sprint("feed", i)))
	}
	if _, err := mesh.Reconcile(t.Context(), "feeds", wanted); err != nil {
		t.Fatal(err)
	}
	var serving []*daemon
	for i := range 3 {
		serving = append(serving, f.start(fmt.Sprint("older", i), older))
	}
	f.settled(serving)
	for _, turn := range []struct{ name, program string }{{"newer", newer}, {"older again", older}} {
		for i, leave := range []func(*daemon){f.stop, f.kill, f.freeze} {
			serving = append(serving, f.start(fmt.Sprint(turn.name, i), turn.program))
			f.settled(serving)
			leave(serving[0])
			serving = serving[1:]
			f.settled(serving)
		}
	}
	for _, d := range serving {
		f.stop(d)
	}
	f.judgeHolds()
	f.judgeJobs()
}

func (f *field) start(name, program string) *daemon {
	d := &daemon{Child: redistest.StartProgram(f, name, program, f.url, f.ns), name: name}
	f.fleet = append(f.fleet, d)
	redistest.Eventually(f, soon, name+" has joined", func() bool { return len(d.Lines()) > 0 })
	return d
}

func (f *field) stop(d *daemon) {
	d.Term(f)
	if code := d.Wait(f, soon); code != 0 {
		f.Errorf("%s ended with code %d", d.name, code)
	}
}

func (f *field) kill(d *daemon) {
	d.cut = now()
	d.Kill(f)
}

// freeze stops a daemon until peers have all that it held, and ends it then.
func (f *field) freeze(d *daemon) {
	d.Freeze(f)
	d.cut = now() // no sooner: until then it may have begun to hold
	var others []*daemon
	for _, other := range f.fleet {
		if other != d && !over(other) {
			others = append(others, other)
		}
	}
	f.settled(others)
	d.Thaw(f)
	f.stop(d)
}

func over(d *daemon) bool {
	select {
	case <-d.Exited():
		return true
	default:
		return false
	}
}

// settled enqueues jobs, and waits until they are done and each feed is held by one of these.
func (f *field) settled(serving []*daemon) {
	f.Helper()
	for range 50 {
		f.jobs++
		if err := f.mesh.Enqueue(f.Context(), "jobs", []byte(fmt.Sprint("a ", f.jobs))); err != nil {
			f.Fatal(err)
		}
	}
	redistest.Eventually(f, soon, "each feed is held by a daemon that serves", func() bool {
		held := 0
		for _, l := range holds(f.T, f.fleet) {
			if last := l[len(l)-1]; last.end == 0 && slices.Contains(serving, last.by) {
				held++
			}
		}
		return held == feeds
	})
	redistest.Eventually(f, soon, "all jobs are done", func() bool { return len(f.done()) == 2*f.jobs })
}

// done returns how often each job was done.
func (f *field) done() map[string]int {
	done := map[string]int{}
	for _, d := range f.fleet {
		for _, l := range d.report(f.T) {
			if l.what == "done" {
				done[l.task]++
			}
		}
	}
	return done
}

// judgeHolds asks of each task's holds that none began before the one before it had ended, and that
// no checkpoint was lost.
func (f *field) judgeHolds() {
	orderly, cut := 0, 0
	for task, l := range holds(f.T, f.fleet) {
		for i := 1; i < len(l); i++ {
			from, to := l[i-1], l[i]
			if from.end == 0 || from.end > to.begin {
				f.Errorf("%s: %s held it until %d, and %s from %d", task, from.by.name, from.end, to.by.name, to.begin)
			}
			written := strconv.FormatInt(from.token, 10)
			switch {
			case from.cause == "", strings.Contains(from.cause, "lapsed"): // perhaps before its checkpoint was written
				cut++
				if to.checkpoint != written && to.checkpoint != from.checkpoint {
					f.Errorf("%s: %s got the checkpoint %q after a death, want %q or %q", task, to.by.name, to.checkpoint, written, from.checkpoint)
				}
			case to.checkpoint != written:
				f.Errorf("%s: %s got the checkpoint %q, want %q of %s (%s)", task, to.by.name, to.checkpoint, written, from.by.name, from.cause)
			default:
				orderly++
			}
		}
	}
	f.Logf("%d holds moved in order, %d after a death", orderly, cut)
	if orderly < feeds || cut < feeds/2 {
		f.Error("too few moved to show anything")
	}
}

// judgeJobs asks that each job was run again only where a run was cut off.
func (f *field) judgeJobs() {
	cut := map[string]bool{}
	runs := map[string]int{}
	for _, d := range f.fleet {
		lapsed := d.joined() > 1 // on a busy machine any may
		for _, l := range d.report(f.T) {
			if l.what == "run" {
				runs[l.task]++
				cut[l.task] = cut[l.task] || d.cut > 0 || lapsed
			}
		}
	}
	if len(runs) != 2*f.jobs {
		f.Errorf("%d jobs ran, want %d", len(runs), 2*f.jobs)
	}
	for task, n := range runs {
		if n > 1 && !cut[task] {
			f.Errorf("job %q ran %d times, and no run was cut off", task, n)
		}
	}
}

func inOrder(l []hold) []hold {
	return slices.SortedFunc(slices.Values(l), func(a, b hold) int { return cmp.Compare(a.token, b.token) })
}
