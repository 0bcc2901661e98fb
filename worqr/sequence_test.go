package worqr_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// reusing returns n tasks of so many bytes at least, all in one buffer.
func reusing(n, size int) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		var buffer []byte
		for i := range n {
			buffer = fmt.Append(buffer[:0], i)
			buffer = append(buffer, bytes.Repeat([]byte("."), max(0, size-len(buffer)))...)
			if !yield(buffer) {
				return
			}
		}
	}
}

// A sequence is stored in its order, in steps, whatever its tasks weigh, and may use a buffer
// again.
func TestASequenceIsStoredInItsOrder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ n, size, steps int }{{0, 1, 0}, {1, 0, 1}, {500, 3, 1}, {1234, 4, 3}, {25, 100_000, 3}, {3, 1_500_000, 3}} {
		t.Run(fmt.Sprintf("%d of %d bytes", c.n, c.size), func(t *testing.T) {
			t.Parallel()
			m, proxy := mortal(t, redistest.Namespace(t))
			steps := 0
			proxy.Intercept(func(c redistest.Command) redistest.Action {
				if scriptOf(c) == "enqueue" && c.Is("EVALSHA") {
					steps++
				}
				return redistest.Pass
			})
			enqueue(t, m, "other", "so that the script is known")
			steps = 0
			n, err := m.EnqueueSeq(t.Context(), "q", reusing(c.n, c.size))
			if n != c.n || err != nil {
				t.Fatalf("%d stored, %v; want %d", n, err, c.n)
			}
			i := 0
			for task := range reusing(c.n, c.size) {
				page, err := m.Tasks(t.Context(), "q", i, 1)
				if err != nil || len(page) != 1 || !bytes.Equal(page[0], task) {
					t.Fatalf("task %d is not what was given: %v", i, err)
				}
				i++
			}
			if length, err := m.Len(t.Context(), "q"); length != c.n || err != nil {
				t.Errorf("%d tasks wait, %v; want %d", length, err, c.n)
			}
			if steps != c.steps {
				t.Errorf("%d steps, want %d", steps, c.steps)
			}
		})
	}
}

// What stops a sequence says how much of it is stored; nothing after that is.
func TestWhatStopsASequence(t *testing.T) {
	t.Parallel()
	ns := redistest.Namespace(t)
	m := openAt(t, redistest.Shared(t).URL(), worqr.Config{Namespace: ns, MaxTask: 10})
	large := func(yield func([]byte) bool) {
		for i := range 2000 {
			task := fmt.Append(nil, i)
			if i == 700 {
				task = bytes.Repeat(task, 10)
			}
			if !yield(task) {
				return
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	ending := func(yield func([]byte) bool) {
		for i := range 2000 {
			if i == 1100 {
				cancel()
			}
			if !yield(fmt.Append(nil, i)) {
				return
			}
		}
	}
	for name, c := range map[string]struct {
		ctx      context.Context
		queue    string
		tasks    iter.Seq[[]byte]
		accepted int
		err      error
	}{
		"a task that is too large": {t.Context(), "large", large, 700, worqr.ErrInvalid},
		"an ended context":         {ctx, "ended", ending, 1000, context.Canceled},
		"a name that is refused":   {t.Context(), "a b", large, 0, worqr.ErrInvalid},
	} {
		n, err := m.EnqueueSeq(c.ctx, c.queue, c.tasks)
		if n != c.accepted || !errors.Is(err, c.err) {
			t.Errorf("%s: %d stored, %v; want %d and %v", name, n, err, c.accepted, c.err)
		}
		var batch *worqr.BatchError
		if c.accepted > 0 && (!errors.As(err, &batch) || batch.Accepted != c.accepted) {
			t.Errorf("%s: %v, want a BatchError of %d", name, err, c.accepted)
		}
		if c.accepted > 0 {
			if waits, err := m.Len(t.Context(), c.queue); waits != c.accepted || err != nil {
				t.Errorf("%s: %d wait, %v; want %d", name, waits, err, c.accepted)
			}
		}
	}
}
