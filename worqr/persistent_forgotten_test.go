package worqr_test

import (
	"context"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/worqr"
)

// What is kept of a task that waits goes with it, also while the queue has others.
func TestPersistentTaskThatWaitsIsForgotten(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(f *fleet){
		"by Cancel":    func(f *fleet) { f.cancel("t") },
		"by Reconcile": func(f *fleet) { f.reconcile("u") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t)
			_, stop := f.join("a", by(func(ctx context.Context, p *worqr.Process) error {
				err := p.Checkpoint(ctx, []byte("here"))
				turn := f.enter("a", p)
				<-ctx.Done()
				f.leave(turn, context.Cause(ctx))
				return err
			}))
			f.ready(1)
			enqueue(t, f.mesh, "q", "t")
			f.now("t", 1)
			if err := stop(); err != nil {
				t.Fatal(err)
			}
			if at := f.locate("t"); at.State != "waiting" {
				t.Fatalf("located %+v, want waiting", at)
			}
			enqueue(t, f.mesh, "q", "u")
			end(f)
			for _, key := range []string{":past", ":checkpoints"} {
				if n, err := redis.Int(f.redis.Do("HLEN", queuePrefix(f.ns, "q")+key)); err != nil || n != 0 {
					t.Errorf("%s has %d tasks, %v, want none", key, n, err)
				}
			}
		})
	}
}
