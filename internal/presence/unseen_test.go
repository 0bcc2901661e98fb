package presence

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/worqr/worqr-go/internal/redistest"
)

// failures counts the failures of one kind.
func (n *told) failures(kind error) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(slices.DeleteFunc(slices.Clone(n.failed), func(err error) bool { return !errors.Is(err, kind) }))
}

// A line that the server does not count, as Check reports, is lost as any other. It counts again
// when that has changed.
func TestALineThatIsNotSeenIsLostAndTriedAgain(t *testing.T) {
	var hidden atomic.Bool
	r := run(t, redistest.Own(t), Config{Check: func(context.Context) error {
		if hidden.Load() {
			return ErrUnseen
		}
		return nil
	}})
	r.up()
	hidden.Store(true)
	r.kill()
	r.told1(1, 1)
	redistest.Eventually(t, soon, "it is tried again", func() bool { return r.failures(ErrUnseen) > 2 })
	r.Reset()
	hidden.Store(false)
	r.up()
	r.told1(2, 1)
}

// That the server does not count a connection which was killed a moment before means nothing about
// the server.
func TestAConnectionThatIsKilledBeforeTheCheckIsNotUnseen(t *testing.T) {
	var r *rig
	var checks atomic.Int64
	ready := make(chan struct{})
	server := redistest.Own(t)
	r = run(t, server, Config{Check: func(ctx context.Context) error {
		<-ready
		if checks.Add(1) > 3 {
			return nil
		}
		r.kill()
		return ErrUnseen
	}})
	close(ready)
	r.up()
	if n := r.failures(ErrUnseen); n > 0 {
		t.Errorf("%d times it was taken for unseen", n)
	}
}
