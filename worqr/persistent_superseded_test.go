package worqr_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// The first caller is held up before each of its commands in turn, while a second one runs to its
// end.
func TestPersistentReconcileOfTwoCallers(t *testing.T) {
	t.Parallel()
	const tasks = 550 // two steps
	superseded := 0
	for k := 1; ; k++ {
		f := newFleet(t)
		f.join("w")
		f.ready(1)
		f.reconcile(numbered("old", tasks)...)
		m, proxy := mortal(t, f.ns)
		var mu sync.Mutex
		sent := 0
		reached, release := make(chan string, 1), make(chan struct{})
		letGo := sync.OnceFunc(func() { close(release) })
		t.Cleanup(letGo) // else the proxy would not end after a failure
		proxy.Intercept(func(c redistest.Command) redistest.Action {
			if !c.Is("EVALSHA") {
				return redistest.Pass
			}
			mu.Lock()
			sent++
			here := sent == k
			mu.Unlock()
			if here {
				reached <- scriptOf(c)
				<-release
			}
			return redistest.Pass
		})
		first, second := numbered("a", tasks), append(numbered("b", tasks), numbered("a", 10)...)
		result := make(chan error, 1)
		go func() {
			_, err := m.Reconcile(context.Background(), "q", raw(first))
			result <- err
		}()
		var script string
		select {
		case script = <-reached:
		case err := <-result:
			letGo()
			if err != nil {
				t.Error(err)
			}
			t.Logf("held up before each of %d commands: superseded %d times", k-1, superseded)
			if superseded < 3 {
				t.Errorf("superseded %d times, want more", superseded)
			}
			f.present(first...)
			return
		}
		f.reconcile(second...)
		letGo()
		switch err := receive(t, "the first caller", result); {
		case errors.Is(err, worqr.ErrSuperseded):
			superseded++
			f.present(second...)
		case err != nil:
			t.Errorf("held up before command %d (%s): %v, want nil or ErrSuperseded", k, script, err)
		default: // it drew its generation later, so it is the newer one, or it was through already
			f.presentOneOf(first, second)
		}
		if t.Failed() {
			t.Fatalf("held up before command %d (%s)", k, script)
		}
	}
}

// Many callers at once: the last state is the list of one that was told of no error, and the newest
// says so.
func TestPersistentReconcileOfManyCallers(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.join("w")
	f.join("v")
	f.ready(2)
	for round := range 3 {
		lists, errs := make([][]string, 6), make([]error, 6)
		var all sync.WaitGroup
		for i := range lists {
			lists[i] = numbered(fmt.Sprintf("r%dc%dt", round, i), 600+i)
			lists[i] = append(lists[i], numbered("common", 100)...)
			all.Go(func() { _, errs[i] = f.mesh.Reconcile(context.Background(), "q", raw(lists[i])) })
		}
		all.Wait()
		var winners [][]string
		for i, err := range errs {
			if err == nil {
				winners = append(winners, lists[i])
			} else if !errors.Is(err, worqr.ErrSuperseded) {
				t.Errorf("caller %d: %v, want nil or ErrSuperseded", i, err)
			}
		}
		f.presentOneOf(winners...)
		t.Logf("round %d: %d of 6 had no error", round, len(winners))
	}
}

// Reconciles with the same list in the middle of moves, deaths and returns: no task is ever held
// twice, none is lost.
func TestPersistentReconcileDuringMoves(t *testing.T) {
	t.Parallel()
	f := newFrailFleet(t)
	tasks := numbered("t", 60)
	f.join("a")
	f.ready(1)
	f.reconcile(tasks...)
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	rounds := 0
	all.Go(func() {
		for ctx.Err() == nil {
			r, err := f.mesh.Reconcile(context.Background(), "q", raw(tasks))
			if err != nil || r != (worqr.Reconciled{Kept: 60}) {
				t.Errorf("Reconcile: %+v, %v; want 60 kept", r, err)
				return
			}
			rounds++
		}
	})
	_, stopB := f.join("b")
	f.spread(60, "a", "b")
	_, proxy := f.mortal("c")
	f.spread(60, "a", "b", "c")
	if err := stopB(); err != nil {
		t.Error(err)
	}
	f.spread(60, "a", "c")
	kill(proxy)
	f.spread(60, "a")
	cancel()
	all.Wait()
	t.Logf("%d reconciles, %d turns", rounds, f.begun(""))
	f.present(tasks...)
}

// Each reply of a Reconcile is lost in turn: it makes good or says so, and the next call makes
// good.
func TestPersistentReconcileWithLostReplies(t *testing.T) {
	t.Parallel()
	for name, action := range map[string]redistest.Action{"cut before": redistest.CutBefore, "cut after": redistest.CutAfter} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t)
			f.join("w")
			f.ready(1)
			for k := 1; ; k++ {
				f.reconcile(append(numbered("t", 30), numbered("old", 600)...)...)
				m, proxy := mortal(t, f.ns)
				var mu sync.Mutex
				sent := 0
				proxy.Intercept(func(c redistest.Command) redistest.Action {
					mu.Lock()
					defer mu.Unlock()
					if c.Is("EVALSHA") {
						if sent++; sent == k {
							return action
						}
					}
					return redistest.Pass
				})
				list := append(numbered("t", 30), numbered("u", 600)...)
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				r, err := m.Reconcile(ctx, "q", raw(list))
				cancel()
				if err == nil {
					f.present(list...)
				} else if !errors.Is(err, worqr.ErrUnknown) && k > 1 {
					t.Logf("command %d: %+v, %v", k, r, err)
				}
				f.reconcile(list...)
				f.present(list...)
				mu.Lock()
				all := sent
				mu.Unlock()
				if all < k {
					t.Logf("%d commands", all)
					return
				}
			}
		})
	}
}
