package worqr_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// present waits until these tasks are held, and no other one is anywhere.
func (f *fleet) present(tasks ...string) {
	f.t.Helper()
	wanted := slices.Sorted(slices.Values(tasks))
	f.await(fmt.Sprintf("these %d tasks are held: %.100v", len(wanted), wanted), func() bool { return slices.Equal(f.holds(""), wanted) })
	f.await("nothing else is in hand or waits", func() bool {
		processes, err := f.mesh.Processes(context.Background(), "q")
		if err != nil {
			f.t.Fatal(err)
		}
		n, err := f.mesh.Len(context.Background(), "q")
		return err == nil && n == 0 && len(processes) == len(wanted)
	})
}

// presentOneOf waits until one of these lists is held, and no other task is anywhere.
func (f *fleet) presentOneOf(lists ...[]string) {
	f.t.Helper()
	var found []string
	f.await(fmt.Sprintf("one of %d lists is held", len(lists)), func() bool {
		now := f.holds("")
		for _, list := range lists {
			found = slices.Sorted(slices.Values(list))
			if slices.Equal(now, found) {
				return true
			}
		}
		return false
	})
	f.present(found...)
}

func TestPersistentReconcileAddsCancelsAndKeeps(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	if r := f.reconcile("a", "b", "c"); r != (worqr.Reconciled{Added: 3}) { // before there is a worker
		t.Errorf("first: %+v, want 3 added", r)
	}
	if r := f.reconcile("c", "b", "d"); r != (worqr.Reconciled{Added: 1, Canceled: 1, Kept: 2}) {
		t.Errorf("while they wait: %+v, want 1 added, 1 canceled, 2 kept", r)
	}
	w, _ := f.join("w")
	f.present("b", "c", "d")
	if r := f.reconcile("d", "e", "f", "b"); r != (worqr.Reconciled{Added: 2, Canceled: 1, Kept: 2}) {
		t.Errorf("while held: %+v, want 2 added, 1 canceled, 2 kept", r)
	}
	f.present("b", "d", "e", "f")
	if turn := f.gone("c", 1); !errors.Is(turn.cause, worqr.ErrCanceled) {
		t.Errorf("c ended with %v, want ErrCanceled", turn.cause)
	}
	if r := f.reconcile("b", "d", "e", "f"); r != (worqr.Reconciled{Kept: 4}) {
		t.Errorf("the same again: %+v, want 4 kept", r)
	}
	f.beats(w, 5)
	if f.begun("") != 5 || f.begun("a") != 0 {
		t.Errorf("%d turns, %d of a, want 5 and 0", f.begun(""), f.begun("a"))
	}
	if r := f.reconcile(); r != (worqr.Reconciled{Canceled: 4}) {
		t.Errorf("with an empty list: %+v, want 4 canceled", r)
	}
	f.present()
	for _, task := range []string{"a", "b", "c", "d", "e", "f"} {
		f.located(task, "gone")
	}
	if r := f.reconcile(); r != (worqr.Reconciled{}) {
		t.Errorf("with an empty list again: %+v, want nothing done", r)
	}
	f.reconcile("b")
	f.present("b")
}

// what is delayed is present: kept, or canceled
func TestPersistentReconcileKnowsWhatIsDelayed(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	w, _ := f.join("w", by(f.broken("w", ways["nil"])))
	f.ready(1)
	f.reconcile("t", "u")
	f.await("both have failed often", func() bool { return f.begun("t") > 5 && f.begun("u") > 5 })
	f.located("t", "delayed")
	f.located("u", "delayed")
	if r := f.reconcile("t"); r != (worqr.Reconciled{Canceled: 1, Kept: 1}) {
		t.Errorf("Reconcile: %+v, want 1 canceled, 1 kept", r)
	}
	if state := f.state("u"); state != "gone" {
		t.Errorf("u is %s, want gone", state)
	}
	n := f.begun("u")
	f.await("t comes back", func() bool { return f.begun("t") > 7 })
	f.beats(w, 3)
	if f.begun("u") != n {
		t.Error("u came back")
	}
}

func TestPersistentReconcileRefusals(t *testing.T) {
	t.Parallel()
	ns := redistest.Namespace(t)
	f := fleetOf(t, ns, openAt(t, redistest.Shared(t).URL(), worqr.Config{Namespace: ns, MaxTask: 1000}))
	f.redis = redistest.Shared(t).Conn(t)
	many := append(numbered("t", 1_200), "t7")
	for name, list := range map[string][]string{
		"a duplicate": {"a", "b", "a"}, "two empty ones": {"", "x", ""}, "a late duplicate": many, "a task above MaxTask": append(numbered("t", 700), string(make([]byte, 1001))),
	} {
		for _, before := range []string{"in a new queue", "in one with tasks"} {
			if before == "in one with tasks" {
				f.reconcile("a", "keep")
			}
			content := snapshot(t, f.redis, f.ns)
			r, err := f.mesh.Reconcile(t.Context(), "q", raw(list))
			if r != (worqr.Reconciled{}) || !errors.Is(err, worqr.ErrInvalid) {
				t.Errorf("%s, %s: %+v, %v; want ErrInvalid", name, before, r, err)
			}
			want(t, name+": keys that differ", differences(content, snapshot(t, f.redis, f.ns)), nil)
			says(t, name, err, worqr.ErrInvalid, "q", "reconcile")
		}
	}
	for _, queue := range []string{"", "/x", "a b", "a{b}"} {
		if _, err := f.mesh.Reconcile(t.Context(), queue, raw([]string{"a"})); !errors.Is(err, worqr.ErrInvalid) {
			t.Errorf("queue %q: %v, want ErrInvalid", queue, err)
		}
		if _, err := f.mesh.Locate(t.Context(), queue, []byte("a")); !errors.Is(err, worqr.ErrInvalid) {
			t.Errorf("Locate in queue %q: %v, want ErrInvalid", queue, err)
		}
	}
	// one empty task is a task
	if r := f.reconcile("", "\x00"); r.Added != 2 {
		t.Errorf("Reconcile: %+v, want 2 added", r)
	}
	if err := f.mesh.Close(); err != nil {
		t.Error(err)
	}
	if _, err := f.mesh.Reconcile(t.Context(), "q", nil); !errors.Is(err, worqr.ErrClosed) {
		t.Errorf("after Close: %v, want ErrClosed", err)
	}
	if _, err := f.mesh.Locate(t.Context(), "q", nil); !errors.Is(err, worqr.ErrClosed) {
		t.Errorf("Locate after Close: %v, want ErrClosed", err)
	}
}

func TestPersistentReconcileOfSeveralChunks(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.join("a")
	f.join("b")
	f.ready(2)
	first := numbered("t", 1_200)
	if r := f.reconcile(first...); r != (worqr.Reconciled{Added: 1_200}) {
		t.Errorf("Reconcile: %+v, want 1200 added", r)
	}
	f.spread(1_200, "a", "b")
	second := append(slices.Clone(first[500:]), numbered("u", 600)...)
	if r := f.reconcile(second...); r != (worqr.Reconciled{Added: 600, Canceled: 500, Kept: 700}) {
		t.Errorf("Reconcile: %+v, want 600 added, 500 canceled, 700 kept", r)
	}
	f.present(second...)
	f.spread(1_300, "a", "b")
	slices.Reverse(second)
	if r := f.reconcile(second...); r != (worqr.Reconciled{Kept: 1_300}) {
		t.Errorf("Reconcile: %+v, want 1300 kept", r)
	}
	if r := f.reconcile(); r != (worqr.Reconciled{Canceled: 1_300}) {
		t.Errorf("Reconcile: %+v, want 1300 canceled", r)
	}
	f.present()
}

// a queue that is not persistent is not made so under those who serve it
func TestPersistentReconcileOfAnotherKindOfQueue(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	w := start(t, f.mesh, firm(), "q")
	enqueue(t, f.mesh, "q", "x", "x")
	p := take(t, w, "q")
	if r, err := f.mesh.Reconcile(t.Context(), "q", raw([]string{"a"})); !errors.Is(err, worqr.ErrConfig) {
		t.Errorf("Reconcile: %+v, %v; want ErrConfig: a worker serves it as one-shot", r, err)
	}
	want(t, "tasks", waiting(t, f.mesh, "q"), []string{"x"})
	if !p.Valid() {
		t.Error("what is in hand has ended")
	}
	finish(t, p)
}
