package worqr_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// alone checks that a task is held in its first turn and that no copy of it is anywhere.
func (f *fleet) alone(task string) {
	f.t.Helper()
	if n := f.begun(task); n != 1 {
		f.t.Errorf("%q was begun %d times, want once", task, n)
	}
	if n, err := f.mesh.Len(context.Background(), "q"); n != 0 || err != nil {
		f.t.Errorf("%d wait, %v; want none", n, err)
	}
	if list := held(f.t, f.mesh, "q"); len(list) != 1 {
		f.t.Errorf("in hand: %v, want one process", list)
	}
}

func TestPersistentTaskAddedAgainIsHeldOnce(t *testing.T) {
	t.Parallel()
	for name, add := range map[string]func(*fleet){
		"twice in one call": func(f *fleet) { enqueue(f.t, f.mesh, "q", "t", "t", "t") },
		"in calls in a row": func(f *fleet) {
			for range 5 {
				enqueue(f.t, f.mesh, "q", "t")
			}
		},
		"while held": func(f *fleet) {
			enqueue(f.t, f.mesh, "q", "t")
			f.now("t", 1)
			enqueue(f.t, f.mesh, "q", "t", "t")
			f.reconcile("t")
		},
		"by many at once": func(f *fleet) {
			other := openAt(f.t, redistest.Shared(f.t).URL(), worqr.Config{Namespace: f.ns})
			var all sync.WaitGroup
			for i := range 20 {
				all.Go(func() {
					m := []*worqr.Mesh{f.mesh, other}[i%2]
					if err := m.Enqueue(context.Background(), "q", raw([]string{"t", "t"})...); err != nil {
						f.t.Error(err)
					}
				})
			}
			all.Wait()
		},
		"as a sequence": func(f *fleet) {
			n, err := f.mesh.EnqueueSeq(context.Background(), "q", func(yield func([]byte) bool) {
				for range 1_100 {
					if !yield([]byte("t")) {
						return
					}
				}
			})
			if n != 1_100 || err != nil {
				f.t.Errorf("EnqueueSeq: %d, %v; want 1100: a duplicate is no error", n, err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t)
			w, _ := f.join("a")
			f.join("b")
			f.ready(2)
			add(f)
			f.now("t", 1)
			f.beats(w, 5)
			f.alone("t")
		})
	}
}

func TestPersistentTaskAddedAgainWhileItWaits(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.join("a", atMost(1))
	f.ready(1)
	enqueue(t, f.mesh, "q", "first", "t", "u", "t")
	f.now("first", 1)
	enqueue(t, f.mesh, "q", "u", "t", "first")
	want(t, "tasks", waiting(t, f.mesh, "q"), []string{"t", "u"})
	f.cancel("first")
	f.now("t", 1)
	want(t, "tasks", waiting(t, f.mesh, "q"), []string{"u"})
}

// of a batch with some that are present, the others are added
func TestPersistentBatchAddsWhatIsNotPresent(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.join("a")
	f.ready(1)
	enqueue(t, f.mesh, "q", numbered("t", 600)...)
	f.await("600 are held", func() bool { return len(f.holds("a")) == 600 })
	enqueue(t, f.mesh, "q", numbered("t", 1_200)...)
	f.await("1200 are held", func() bool { return len(f.holds("a")) == 1_200 })
	if n := f.begun(""); n != 1_200 {
		t.Errorf("%d turns, want 1200", n)
	}
}

// odd bytes are unique too, and not mixed up
func TestPersistentOddTasksAreUnique(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.join("a")
	f.ready(1)
	odd := []string{"", "\x00", "*", "0", "q", "a:b", "\xff\xfe", "{q}", string(make([]byte, 1<<20))}
	enqueue(t, f.mesh, "q", odd...)
	enqueue(t, f.mesh, "q", odd...)
	for _, task := range odd {
		f.now(task, 1)
		if at := f.locate(task); at.State != "held" {
			t.Errorf("%.10q is %s, want held", task, at.State)
		}
	}
	if n, err := f.mesh.Len(t.Context(), "q"); n != 0 || err != nil || f.begun("") != len(odd) {
		t.Errorf("%d wait, %v, %d turns; want 0 and %d", n, err, f.begun(""), len(odd))
	}
}

func TestPersistentTaskCanBeAddedAgainWhenItIsDone(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(p *worqr.Process) error{
		"Finish": func(p *worqr.Process) error {
			if ok, err := p.Finish(context.Background()); !ok || err != nil {
				return fmt.Errorf("finish: %v, %w", ok, err)
			}
			return nil
		},
		"ErrDone":         func(*worqr.Process) error { return worqr.ErrDone },
		"ErrDone wrapped": func(*worqr.Process) error { return fmt.Errorf("sold: %w", worqr.ErrDone) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t)
			leave := make(chan struct{})
			f.join("a", by(func(_ context.Context, p *worqr.Process) error {
				turn := f.enter("a", p)
				<-leave
				f.leave(turn, nil)
				return end(p)
			}))
			f.ready(1)
			enqueue(t, f.mesh, "q", "t")
			for i := range 3 {
				turn := f.now("t", i+1)
				if p := turn.past; p.Why != worqr.ReasonFirst || p.Token != 0 || p.Checkpoint != nil {
					t.Errorf("turn %d: past %+v, want none: it is a new task", i+1, p)
				}
				leave <- struct{}{}
				f.located("t", "gone")
				enqueue(t, f.mesh, "q", "t")
			}
			f.now("t", 4)
			leave <- struct{}{}
			f.located("t", "gone")
		})
	}
}

// what was enqueued before the first worker made the queue persistent is unique from then on
func TestPersistentQueueAdoptsWhatWaits(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	enqueue(t, f.mesh, "q", "t", "u", "t")
	w, _ := f.join("a")
	f.now("t", 1)
	f.now("u", 1)
	f.beats(w, 5)
	if n, err := f.mesh.Len(t.Context(), "q"); f.begun("") != 2 || n != 0 || err != nil {
		t.Errorf("%d turns, %d wait, %v; want 2 and none", f.begun(""), n, err)
	}
}
