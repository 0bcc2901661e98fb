package worqr_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

const maxCheckpoint = 64 << 10

func checkpoint(t testing.TB, p *worqr.Process, data string) {
	t.Helper()
	if err := p.Checkpoint(t.Context(), []byte(data)); err != nil {
		t.Errorf("checkpoint of %q: %v", p.Task(), err)
	}
}

// The last one before the end reaches the next holder, also when the handler returns at once after
// it.
func TestPersistentLastCheckpointReachesTheNextHolder(t *testing.T) {
	t.Parallel()
	for name, how := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t)
			holds := f.holder("a")
			f.join("a", by(func(ctx context.Context, p *worqr.Process) error {
				if f.begun("t") > 3 {
					return holds(ctx, p)
				}
				turn := f.enter("a", p)
				buffer := make([]byte, 8)
				for i := range 5 {
					copy(buffer, fmt.Sprintf("%d of %d", i, f.begun("t")))
					if err := p.Checkpoint(ctx, buffer[:6]); err != nil {
						t.Error(err)
					}
					clear(buffer) // it is the caller's again
				}
				f.leave(turn, nil)
				return how()
			}))
			f.ready(1)
			enqueue(t, f.mesh, "q", "t")
			f.now("t", 4)
			for i, turn := range f.history("t")[1:] {
				if wanted := fmt.Sprintf("4 of %d", i+1); string(turn.past.Checkpoint) != wanted {
					t.Errorf("turn %d got the checkpoint %q, want %q", i+2, turn.past.Checkpoint, wanted)
				}
			}
		})
	}
}

// one that writes none leaves the last one for who comes after it
func TestPersistentCheckpointLastsOverHoldsThatWriteNone(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	a, stopA := f.join("a")
	f.ready(1)
	enqueue(t, f.mesh, "q", "t")
	checkpoint(t, f.now("t", 1).p, "x")
	f.join("b")
	f.ready(2)
	if err := a.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	second := f.now("t", 2)
	if err := stopA(); err != nil {
		t.Error(err)
	}
	f.join("c", weight(1000))
	third := f.now("t", 3)
	if string(second.past.Checkpoint) != "x" || string(third.past.Checkpoint) != "x" {
		t.Errorf("checkpoints %q and %q, want x twice", second.past.Checkpoint, third.past.Checkpoint)
	}
}

func TestPersistentCheckpointIsLimited(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	a, _ := f.join("a")
	f.ready(1)
	enqueue(t, f.mesh, "q", "t")
	first := f.now("t", 1).p
	most := bytes.Repeat([]byte{0, 0xff, '\n', 'x'}, maxCheckpoint/4)
	checkpoint(t, first, string(most))
	says(t, "a checkpoint above 64 KiB", first.Checkpoint(t.Context(), make([]byte, maxCheckpoint+1)), worqr.ErrInvalid, "t", "65537")
	if !first.Valid() {
		t.Error("the hold has ended")
	}
	f.join("b")
	f.ready(2)
	if err := a.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	if second := f.now("t", 2); !bytes.Equal(second.past.Checkpoint, most) {
		t.Errorf("a checkpoint of %d bytes arrived, want the one of %d", len(second.past.Checkpoint), len(most))
	}
}

func TestPersistentCheckpointIsRemovedWithItsTask(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(f *fleet, p *worqr.Process){
		"Finish": func(f *fleet, p *worqr.Process) { finish(f.t, p) },
		"Cancel": func(f *fleet, _ *worqr.Process) { f.cancel("t") },
		"Reconcile": func(f *fleet, _ *worqr.Process) {
			if r := f.reconcile(); r.Canceled != 1 {
				f.t.Errorf("Reconcile: %+v, want 1 canceled", r)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t)
			w, _ := f.join("a")
			f.ready(1)
			enqueue(t, f.mesh, "q", "t")
			p := f.now("t", 1).p
			checkpoint(t, p, "old")
			f.beats(w, 3)
			checkpoint(t, p, "newer") // may be under way when the task ends
			end(f, p)
			f.located("t", "gone")
			f.beats(w, 3)
			if err := p.Checkpoint(t.Context(), []byte("late")); err == nil {
				t.Error("a checkpoint after the end is accepted")
			}
			f.beats(w, 3)
			enqueue(t, f.mesh, "q", "t")
			if second := f.now("t", 2); second.past.Checkpoint != nil || second.past.Why != worqr.ReasonFirst {
				t.Errorf("past %+v, want none: it is a new task", second.past)
			}
		})
	}
}

// A holder that lapsed, and copies of its commands that arrive late, overwrite nothing.
func TestPersistentStaleHolderOverwritesNoCheckpoint(t *testing.T) {
	t.Parallel()
	f := newFrailFleet(t)
	leave := make(chan struct{})
	a, proxy := f.mortal("a", by(f.winding("a", leave)))
	f.ready(1)
	enqueue(t, f.mesh, "q", "t")
	old := f.now("t", 1)
	checkpoint(t, old.p, "first")
	f.beats(a, 3)
	proxy.Intercept(func(c redistest.Command) redistest.Action {
		if scriptOf(c) == "checkpoint" {
			return redistest.Hold // in the buffers of a connection that dies
		}
		return redistest.Pass
	})
	short, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_ = old.p.Checkpoint(short, []byte("stale, under way"))
	redistest.Eventually(t, soon, "it is under way", func() bool { return proxy.Kept() > 0 })
	f.join("b")
	f.ready(2)
	kill(proxy)
	f.await("a's trust has ended", func() bool { return !old.p.Valid() })
	close(leave)
	second := f.now("t", 2)
	if string(second.past.Checkpoint) != "first" {
		t.Errorf("checkpoint %q, want first", second.past.Checkpoint)
	}
	checkpoint(t, second.p, "second")
	revive(proxy)
	proxy.Release(t)
	if err := old.p.Checkpoint(t.Context(), []byte("stale")); !errors.Is(err, worqr.ErrLapsed) && !errors.Is(err, worqr.ErrFenced) {
		t.Errorf("checkpoint of a lapsed holder: %v, want ErrLapsed or ErrFenced", err)
	}
	f.join("c", weight(1000))
	if third := f.now("t", 3); string(third.past.Checkpoint) != "second" {
		t.Errorf("checkpoint %q, want second", third.past.Checkpoint)
	}
}

// A late copy of an older checkpoint of the same hold does not overwrite a newer one.
func TestPersistentCheckpointsStayInOrder(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	a, proxy := f.mortal("a")
	f.ready(1)
	enqueue(t, f.mesh, "q", "t")
	p := f.now("t", 1).p
	proxy.Intercept(func(c redistest.Command) redistest.Action {
		if scriptOf(c) == "checkpoint" {
			return redistest.Duplicate
		}
		return redistest.Pass
	})
	for i := range 3 {
		checkpoint(t, p, fmt.Sprint("number ", i))
		f.beats(a, 3)
	}
	if n := proxy.Kept(); n == 0 {
		t.Error("no checkpoint was sent")
	}
	proxy.Intercept(nil)
	proxy.Release(t) // all of them once more
	f.join("b", weight(1000))
	if second := f.now("t", 2); string(second.past.Checkpoint) != "number 2" {
		t.Errorf("checkpoint %q, want number 2", second.past.Checkpoint)
	}
}

// 100 tasks that write as fast as they can: about one write per beat.
func TestPersistentCheckpointsCoalesce(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	a, proxy := f.mortal("a")
	f.ready(1)
	const tasks, beats = 100, 15
	enqueue(t, f.mesh, "q", numbered("t", tasks)...)
	f.spread(tasks, "a")
	runs := counted(proxy)
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for i := range tasks {
		p := f.now(fmt.Sprint("t", i), 1).p
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				if err := p.Checkpoint(ctx, []byte(fmt.Sprint(n))); err != nil && ctx.Err() == nil {
					t.Error(err)
					return
				}
				select { // a feed with 100 events a second
				case <-ctx.Done():
				case <-time.After(10 * time.Millisecond):
				}
			}
		})
	}
	began := time.Now()
	f.beats(a, beats)
	took := time.Since(began)
	cancel()
	all.Wait()
	n, most := runs("checkpoint"), int(took/firm().Beat)+2
	t.Logf("%d writes in %v", n, took)
	if n == 0 || n > most {
		t.Errorf("%d writes in %v, want at most one per beat of %v", n, took, firm().Beat)
	}
}
