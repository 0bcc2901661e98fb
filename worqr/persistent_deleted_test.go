package worqr_test

import (
	"context"
	"errors"
	"testing"

	"github.com/worqr/worqr-go/worqr"
)

// A Reconcile ends what is in hand of a queue that was deleted: the mark of the deletion lets it go
// on.
func TestReconcileEndsAHoldOfADeletedQueue(t *testing.T) {
	t.Parallel()
	m := open(t)
	begun := make(chan *worqr.Process, 1)
	cfg := patient()
	cfg.Queues = map[string]worqr.Queue{"q": {
		Persistent: true,
		Handler: worqr.HandlerFunc(func(ctx context.Context, p *worqr.Process) error {
			begun <- p
			<-ctx.Done()
			return ctx.Err()
		}),
	}}
	run(t, m, cfg)
	if _, err := m.Reconcile(t.Context(), "q", raw([]string{"t"})); err != nil {
		t.Fatal(err)
	}
	p := receive(t, "a hold", begun)
	if _, err := m.DeleteQueue(t.Context(), "q"); err != nil {
		t.Fatal(err)
	}
	if err := p.Context().Err(); err != nil {
		t.Fatalf("the deletion ended the hold: %v", err)
	}
	got, err := m.Reconcile(t.Context(), "q", raw([]string{"u"}))
	if err != nil || got.Canceled != 1 || got.Added != 1 {
		t.Fatalf("reconciled %+v, %v; want one canceled and one added", got, err)
	}
	if cause := ended(t, p.Context()); !errors.Is(cause, worqr.ErrCanceled) {
		t.Errorf("the hold ended with %v, want ErrCanceled", cause)
	}
}
