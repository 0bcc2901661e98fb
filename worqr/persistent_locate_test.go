package worqr_test

import (
	"errors"
	"testing"
	"time"

	"github.com/worqr/worqr-go/worqr"
)

func TestPersistentLocateOfWhatIsHeld(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	w, _ := f.join("a", atMost(1))
	f.ready(1)
	before := time.Now().Add(-time.Second)
	enqueue(t, f.mesh, "q", "t", "u")
	p := f.now("t", 1).p
	at := f.locate("t")
	if at.State != "held" || at.Worker != w.ID() || at.Process != p.ID() || at.Token != p.Token() || at.Deaths != 0 || !at.Due.IsZero() {
		t.Errorf("located %+v, want held by %s as %s with token %d", at, w.ID(), p.ID(), p.Token())
	}
	if at.Since.Before(before) || at.Since.After(time.Now().Add(time.Second)) {
		t.Errorf("held since %v, want now", at.Since)
	}
	f.beats(w, 5)
	if again := f.locate("t"); again != at {
		t.Errorf("later it is %+v, want %+v", again, at)
	}
	if at := f.locate("u"); at != (worqr.Location{State: "waiting", Deaths: 0}) {
		t.Errorf("located %+v, want waiting and nothing else", at)
	}
	for _, task := range []string{"v", "", "T", "t\x00"} {
		if at, err := f.mesh.Locate(t.Context(), "q", []byte(task)); !errors.Is(err, worqr.ErrGone) || at != (worqr.Location{}) {
			t.Errorf("Locate of %q: %+v, %v; want ErrGone", task, at, err)
		}
	}
	if _, err := f.mesh.Locate(t.Context(), "never", []byte("t")); !errors.Is(err, worqr.ErrGone) {
		t.Errorf("Locate in an unknown queue: %v, want ErrGone", err)
	}
}

// Since is the hold's, not the task's.
func TestPersistentLocateSinceIsOfTheHold(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	a, _ := f.join("a")
	f.ready(1)
	enqueue(t, f.mesh, "q", "t")
	f.now("t", 1)
	first := f.locate("t")
	f.beats(a, 5)
	b, _ := f.join("b", weight(1000))
	p := f.now("t", 2).p
	second := f.locate("t")
	if second.Worker != b.ID() || second.Process != p.ID() || second.Token <= first.Token || !second.Since.After(first.Since) {
		t.Errorf("first %+v, then %+v; want a later hold by %s", first, second, b.ID())
	}
}

// While its old handler ends, a task that moves is still held by the old one.
func TestPersistentLocateDuringAMove(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	leave := make(chan struct{})
	a, _ := f.join("a", by(f.winding("a", leave)))
	f.ready(1)
	enqueue(t, f.mesh, "q", "t")
	old := f.now("t", 1)
	f.join("b", weight(1000))
	if cause := ended(t, old.p.Context()); !errors.Is(cause, worqr.ErrHandover) {
		t.Errorf("ended with %v, want ErrHandover", cause)
	}
	if at := f.locate("t"); at.State != "held" || at.Worker != a.ID() || at.Process != old.p.ID() {
		t.Errorf("located %+v, want held by %s", at, a.ID())
	}
	close(leave)
	f.now("t", 2)
}
