package worqr_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/worqr"
)

// remains lists the keys that may not be there when nothing is left to hold and nobody serves the
// queue: all but those that left allows, and the policy and the claim of a round with an end.
func (f *fleet) remains() []string {
	f.t.Helper()
	return slices.DeleteFunc(left(f.t, f.redis, f.ns), func(key string) bool {
		if !strings.HasSuffix(key, ":policy") && !strings.HasSuffix(key, ":round") {
			return false
		}
		ttl, err := redis.Int(f.redis.Do("PTTL", key))
		return err == nil && ttl != -1
	})
}

func stopAll(f *fleet, stops []func() error) {
	for _, stop := range stops {
		if err := stop(); err != nil {
			f.t.Errorf("stop: %v", err)
		}
	}
}

// every way in which a task can end, and then no key is left
func TestPersistentQueueLeavesNoKeys(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(f *fleet, tasks []string, stops []func() error){
		"canceled, then stopped": func(f *fleet, tasks []string, stops []func() error) {
			for _, task := range tasks {
				f.cancel(task)
			}
			f.present()
			stopAll(f, stops)
		},
		"reconciled away, then stopped": func(f *fleet, _ []string, stops []func() error) {
			f.reconcile()
			f.present()
			stopAll(f, stops)
		},
		"stopped, then reconciled away": func(f *fleet, _ []string, stops []func() error) {
			stopAll(f, stops)
			f.reconcile()
		},
		"stopped, then canceled": func(f *fleet, tasks []string, stops []func() error) {
			stopAll(f, stops)
			for _, task := range tasks {
				f.cancel(task)
			}
		},
		"stopped, then deleted": func(f *fleet, _ []string, stops []func() error) {
			stopAll(f, stops)
			if _, err := f.mesh.DeleteQueue(context.Background(), "q"); err != nil {
				f.t.Error(err)
			}
		},
		"finished, then stopped": func(f *fleet, _ []string, stops []func() error) {
			f.await("all are held", func() bool { return len(f.holds("")) == 12 })
			for _, turn := range f.chosen(func(t *turn) bool { return !t.over }) {
				if ok, err := turn.p.Finish(context.Background()); !ok || err != nil {
					f.t.Errorf("finish of %q: %v, %v; want true; its context: %v, its turns: %+v", turn.task, ok, err, context.Cause(turn.p.Context()), f.history(turn.task))
				}
			}
			f.present()
			stopAll(f, stops)
		},
		"reconciled away as the workers stop": func(f *fleet, _ []string, stops []func() error) {
			done := make(chan error, 1)
			go func() {
				_, err := f.mesh.Reconcile(context.Background(), "q", nil)
				done <- err
			}()
			stopAll(f, stops)
			if err := receive(f.t, "the reconcile", done); err != nil {
				f.t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t)
			_, stopA := f.join("a", atMost(8))
			_, stopB := f.join("b")
			f.ready(2)
			tasks := numbered("t", 12)
			f.reconcile(tasks...)
			f.await("all are held", func() bool { return len(f.holds("")) == 12 })
			for _, turn := range f.chosen(func(t *turn) bool { return true }) {
				checkpoint(t, turn.p, "so far")
			}
			end(f, tasks, []func() error{stopA, stopB})
			want(t, "keys at the end", f.remains(), nil)
		})
	}
}

// Workers come, go, die and return tasks, tasks are added and canceled, all at random: no task is
// ever held twice, all that is desired is held at the end, evenly, and when it is canceled no key
// is left.
func TestPersistentTurmoil(t *testing.T) {
	t.Parallel()
	rng := seeded(t)
	f := newFrailFleet(t)
	f.join("rock")
	f.ready(1)
	type member struct {
		name string
		w    *worqr.Worker
		stop func() error
	}
	members, mortals, all := []member{}, []string{}, numbered("t", 40)
	desired := map[string]bool{}
	restless := func(name string) setting { // one hold in eight ends by itself
		holds, fails := f.holder(name), f.broken(name, ways["nil"])
		return by(func(ctx context.Context, p *worqr.Process) error {
			if p.Token()%8 == 0 {
				return fails(ctx, p)
			}
			return holds(ctx, p)
		})
	}
	var cut []func(bool)
	for i := range 60 {
		task := all[rng.IntN(len(all))]
		switch op := rng.IntN(12); {
		case op < 3:
			enqueue(t, f.mesh, "q", task)
			desired[task] = true
		case op < 5:
			f.cancel(task)
			delete(desired, task)
		case op < 7:
			clear(desired)
			list := []string{}
			for _, task := range all {
				if rng.IntN(2) == 0 {
					list, desired[task] = append(list, task), true
				}
			}
			f.reconcile(list...)
		case op < 8 && len(members) < 3:
			name := fmt.Sprint("w", i)
			w, stop := f.join(name, restless(name), weight(1+rng.IntN(3)))
			members = append(members, member{name, w, stop})
		case op < 9 && len(members) > 0:
			m := members[0]
			members = members[1:]
			if rng.IntN(2) == 0 {
				if err := m.w.Drain(t.Context()); err != nil && !errors.Is(err, worqr.ErrNotStarted) {
					t.Errorf("drain: %v", err)
				}
			}
			if err := m.stop(); err != nil && !errors.Is(err, context.Canceled) { // that was before it had started
				t.Errorf("stop: %v", err)
			}
		case op < 10 && len(mortals) < 2:
			name := fmt.Sprint("m", i)
			w, proxy := f.mortal(name, restless(name))
			f.await("it has joined", w.Alive)
			mortals, cut = append(mortals, name), append(cut, func(dead bool) {
				if dead {
					kill(proxy)
				} else {
					revive(proxy)
				}
			})
		case op < 11 && len(cut) > 0:
			cut[rng.IntN(len(cut))](rng.IntN(2) == 0)
		default:
			<-time.After(time.Duration(rng.IntN(300)) * time.Millisecond) // the world goes on
		}
	}
	for _, set := range cut {
		set(false)
	}
	for _, m := range members {
		if err := m.stop(); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("stop: %v", err)
		}
	}
	list := []string{}
	for task := range desired {
		list = append(list, task)
	}
	f.present(list...)
	f.spread(len(list), append(mortals, "rock")...)
	if r := f.reconcile(list...); r != (worqr.Reconciled{Kept: len(list)}) {
		t.Errorf("Reconcile: %+v, want %d kept", r, len(list))
	}
	f.reconcile()
	f.present()
	t.Logf("%d turns", f.begun(""))
}
