package integration

import (
	"fmt"
	"testing"
	"time"

	"github.com/worqr/worqr-go/internal/redistest"
)

// scenario 50: three daemons of one host are replaced one by one, twice, while tasks come all the
// time. Each old one is stopped when its successor has joined, and their tasks end within the
// grace: no task runs twice.
func TestARollingDeploy(t *testing.T) {
	t.Parallel()
	f := newField(t)
	told := f.listen(t)
	napping := setup{Queue: queue, Limit: 4, Do: "nap", Nap: 30 * time.Millisecond, Grace: soon, Timing: timing{Beat: time.Second, Lapse: soon}}
	var fleet, all []*daemon
	for range 3 {
		fleet = append(fleet, f.daemon(t, napping))
	}
	all = append(all, fleet...)
	for _, d := range fleet {
		f.awaitMember(t, d.joined(t, 1))
	}
	var tasks []string
	more := func() {
		batch := named(fmt.Sprintf("t%02d-", len(tasks)/50), 50)
		f.enqueue(t, batch...)
		tasks = append(tasks, batch...)
	}
	for range 2 {
		for i, old := range fleet {
			more()
			fleet[i] = f.daemon(t, napping)
			all = append(all, fleet[i])
			f.awaitMember(t, fleet[i].joined(t, 1))
			more()
			old.Term(t)
			more()
			if code := old.Wait(t, soon); code != 0 {
				t.Fatalf("exit code %d", code)
			}
		}
	}
	told.onlyOnce(t, tasks...)
	for _, d := range fleet {
		d.end(t)
	}
	ran := map[string]int{}
	for _, d := range all {
		for _, run := range d.deliveries(t) {
			if ran[run.task]++; ran[run.task] > 1 {
				t.Errorf("%q ran twice", run.task)
			}
		}
		for _, why := range []string{"lapsed ", "ended "} {
			if said := d.said(why); len(said) > 0 {
				t.Errorf("%s%v", why, said)
			}
		}
	}
	if len(ran) != len(tasks) {
		t.Errorf("%d of %d tasks ran", len(ran), len(tasks))
	}
	f.awaitClean(t)
}

// scenario 50, the other way: a daemon that is stopped while its handlers overstay hands their
// tasks back, once.
func TestADeployThatDoesNotWait(t *testing.T) {
	t.Parallel()
	f := newField(t)
	told := f.listen(t)
	tasks := named("t", 8)
	f.enqueue(t, tasks...)
	old := f.daemon(t, setup{Queue: queue, Limit: 4, Do: "hold", Grace: 100 * time.Millisecond})
	old.holdAll(t, 4)
	old.end(t)
	f.awaitWaiting(t, tasks...)
	for _, run := range old.deliveries(t) {
		if ended := old.await(t, "ended "+run.process+" "); len(ended) == 0 {
			t.Fatalf("%q: its context did not end", run.task)
		}
	}
	fresh := f.daemon(t, setup{Queue: queue, Limit: 2, Do: "finish"})
	redistest.Eventually(t, soon, "all ran", func() bool { return len(fresh.said("finished ")) == len(tasks) })
	told.onlyOnce(t, tasks...)
	fresh.end(t)
	f.awaitClean(t)
}
