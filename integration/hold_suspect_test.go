package integration

import (
	"slices"
	"testing"
	"time"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// A task that ends the process of whoever holds it costs three of six processes. Then it waits, for
// everybody to see; each time that it is tried again it costs one more, and waits longer. All
// others are held meanwhile, and are not suspected.
func TestAHoldThatEndsItsProcessCostsThree(t *testing.T) {
	t.Parallel()
	const processes, tasks = 6, 60
	w := watch(t, newField(t), keeper{Timing: brisk})
	w.hold(t, processes, tasks)
	w.enqueue(t, poison)

	at := w.awaitSuspect(t, 3)
	w.awaitDead(t, 3)
	first := w.left(t, at)
	w.othersAreFine(t)
	pass(2 * brisk.Lapse) // nobody else dies of it
	w.awaitDead(t, 3)
	w.othersAreFine(t)

	// Its date is set to now, by hand.
	now := time.Now().UnixMicro()
	if n := w.count(t, "ZADD", w.key("delayed"), "XX", "CH", now, poison); n != 1 {
		t.Fatalf("%d dates changed, want 1", n)
	}
	again := w.awaitSuspect(t, 4)
	w.awaitDead(t, 4)
	second := w.left(t, again)
	w.othersAreFine(t)
	t.Logf("%d of %d processes ended; it waits for %v, then for %v", 3, processes, first.Round(time.Millisecond), second.Round(time.Millisecond))
	if first < time.Second || second < first*3/2 {
		t.Errorf("it waits for %v, then for %v: want a delay that grows", first, second)
	}

	if c, err := w.mesh.Cancel(t.Context(), queue, []byte(poison)); err != nil || c.Waiting != 1 {
		t.Errorf("cancel: %+v, %v; want 1 that waited", c, err)
	}
	w.review(t)
}

// awaitSuspect waits until the poison has killed so many and waits.
func (w *watched) awaitSuspect(t testing.TB, deaths int) (at worqr.Location) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("it is %+v", at)
		}
	}()
	redistest.Eventually(t, 2*soon, "the poison is suspect", func() bool {
		var err error
		if at, err = w.mesh.Locate(t.Context(), queue, []byte(poison)); err != nil {
			t.Fatal(err)
		}
		return at.State == "suspect" && at.Deaths >= deaths
	})
	if at.Deaths != deaths || at.Worker != "" || at.Process != "" {
		t.Errorf("%+v: want %d deaths, and in nobody's hands", at, deaths)
	}
	return at
}

// left returns how long it is until the poison is tried again.
func (w *watched) left(t testing.TB, at worqr.Location) time.Duration {
	t.Helper()
	left := time.Until(at.Due)
	if left <= 0 {
		t.Errorf("due %v ago, want it in the future", -left)
	}
	return left
}

// awaitDead waits until so many processes have ended, by the poison, and no more have.
func (w *watched) awaitDead(t testing.TB, n int) {
	t.Helper()
	for _, name := range w.names() {
		select {
		case <-w.up[name].Exited():
			if code := w.up[name].Wait(t, soon); code != 3 || len(w.up[name].said("poisoned ")) != 1 {
				t.Errorf("%s has ended with exit code %d", name, code)
			}
			w.ended(t, name)
		default:
		}
	}
	if dead := w.began - len(w.up); dead != n {
		t.Fatalf("%d processes have ended, want %d", dead, n)
	}
}

// othersAreFine waits until all but the poison are held, evenly, and looks whether one of them is
// suspected.
func (w *watched) othersAreFine(t testing.TB) {
	t.Helper()
	w.awaitShared(t)
	var states []string
	for _, task := range w.tasks {
		at, err := w.mesh.Locate(t.Context(), queue, []byte(task))
		if err != nil {
			t.Fatal(err)
		}
		if at.State != "held" || at.Deaths > 2 {
			t.Errorf("%s: %+v", task, at)
		}
		if at.Deaths > 0 {
			states = append(states, task)
		}
	}
	slices.Sort(states)
	t.Logf("of %d others all are held; %d were begun shortly before a death", len(w.tasks), len(states))
}
