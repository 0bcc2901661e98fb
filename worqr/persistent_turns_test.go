package worqr_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/worqr/worqr-go/worqr"
)

// holder is a handler that holds its task until its context ends.
func (f *fleet) holder(name string) worqr.HandlerFunc {
	return func(ctx context.Context, p *worqr.Process) error {
		t := f.enter(name, p)
		<-ctx.Done()
		f.leave(t, context.Cause(ctx))
		return nil
	}
}

// enter notes that a handler runs. Each handler of a fleet calls it first, and leave last.
func (f *fleet) enter(name string, p *worqr.Process) *turn {
	t := &turn{who: name, task: string(p.Task()), p: p, past: p.Past(), began: time.Now()}
	f.mu.Lock()
	defer f.mu.Unlock()
	if other := f.holding[t.task]; other != nil && !f.overlap {
		f.t.Errorf("OVERLAP: %s begins to hold %q while %s still does (its context: %v)", name, t.task, other.who, context.Cause(other.p.Context()))
	}
	if last := f.tokens[t.task]; p.Token() <= last {
		f.t.Errorf("%s begins to hold %q with token %d, not above %d", name, t.task, p.Token(), last)
	}
	f.holding[t.task], f.tokens[t.task] = t, p.Token()
	f.turns = append(f.turns, t)
	return t
}

func (f *fleet) leave(t *turn, cause error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t.over, t.cause, t.ended = true, cause, time.Now()
	if f.holding[t.task] == t {
		delete(f.holding, t.task)
	}
}

// chosen returns the turns that a function chooses, in the order of their beginnings.
func (f *fleet) chosen(choose func(*turn) bool) []turn {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []turn
	for _, t := range f.turns {
		if choose(t) {
			list = append(list, *t)
		}
	}
	return list
}

// history is every turn of a task.
func (f *fleet) history(task string) []turn {
	return f.chosen(func(t *turn) bool { return t.task == task })
}

// begun is how often a task, or with "" any, was begun to hold.
func (f *fleet) begun(task string) int {
	return len(f.chosen(func(t *turn) bool { return task == "" || t.task == task }))
}

// endedBy is the turns that ended with a cause.
func (f *fleet) endedBy(cause error) []turn {
	return f.chosen(func(t *turn) bool { return t.over && errors.Is(t.cause, cause) })
}

// holds returns what a worker holds now, sorted, or with "" what all do.
func (f *fleet) holds(name string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var tasks []string
	for task, t := range f.holding {
		if name == "" || t.who == name {
			tasks = append(tasks, task)
		}
	}
	slices.Sort(tasks)
	return tasks
}

// loads is how many tasks each of these workers holds now.
func (f *fleet) loads(names ...string) []int {
	loads := make([]int, len(names))
	for i, name := range names {
		loads[i] = len(f.holds(name))
	}
	return loads
}

// spread waits until these workers together hold n tasks with at most 1 between the most and the
// least.
func (f *fleet) spread(n int, names ...string) {
	f.t.Helper()
	f.await(fmt.Sprintf("%v hold %d tasks evenly", names, n), func() bool {
		loads := f.loads(names...)
		return sum(loads) == n && slices.Max(loads)-slices.Min(loads) <= 1
	})
}

func sum(list []int) (total int) {
	for _, n := range list {
		total += n
	}
	return total
}

// now waits until a task is held, in its n-th turn or a later one, and answers that.
func (f *fleet) now(task string, n int) turn {
	f.t.Helper()
	var last turn
	f.await(fmt.Sprintf("turn %d of %q", n, task), func() bool {
		h := f.history(task)
		if len(h) < n || h[len(h)-1].over {
			return false
		}
		last = h[len(h)-1]
		return true
	})
	return last
}

// gone waits until the n-th turn of a task is over, and answers it.
func (f *fleet) gone(task string, n int) turn {
	f.t.Helper()
	f.await(fmt.Sprintf("the end of turn %d of %q", n, task), func() bool {
		h := f.history(task)
		return len(h) >= n && h[n-1].over
	})
	return f.history(task)[n-1]
}

// await waits for a fact, and says what the fleet holds when it does not come.
func (f *fleet) await(what string, fact func() bool) {
	f.t.Helper()
	deadline := time.Now().Add(f.patience)
	for pause := time.Millisecond; !fact(); pause = min(2*pause, 20*time.Millisecond) {
		if time.Now().After(deadline) {
			f.t.Fatalf("not within %v: %s\n%s", f.patience, what, f)
		}
		<-time.After(pause)
	}
}

func (f *fleet) String() string {
	var text strings.Builder
	f.mu.Lock()
	byWorker := map[string][]string{}
	for task, t := range f.holding {
		byWorker[t.who] = append(byWorker[t.who], task)
	}
	for _, name := range slices.Sorted(maps.Keys(byWorker)) {
		fmt.Fprintf(&text, "%s holds %d: %.200v\n", name, len(byWorker[name]), byWorker[name])
	}
	fmt.Fprintf(&text, "%d turns, taken %v\n", len(f.turns), f.taken)
	tasks := slices.Collect(maps.Keys(f.tokens))
	errs := f.errs
	f.mu.Unlock()
	states := map[string]int{}
	for _, task := range tasks[:min(len(tasks), 100)] {
		at, err := f.mesh.Locate(context.Background(), "q", []byte(task))
		state := fmt.Sprintf("%s, %d deaths, %v", at.State, at.Deaths, err)
		if !at.Due.IsZero() {
			state += fmt.Sprintf(", due in %v", time.Until(at.Due).Round(100*time.Millisecond))
		}
		states[state]++
	}
	for state, n := range states {
		fmt.Fprintf(&text, "%d are %s\n", n, state)
	}
	if workers, err := f.mesh.Workers(context.Background()); err == nil {
		for _, w := range workers {
			fmt.Fprintf(&text, "worker %s has %v left\n", w.ID, w.Left)
		}
	}
	fmt.Fprintf(&text, "errors: %.2000v\n", errs)
	waiting, err := f.mesh.Len(context.Background(), "q")
	fmt.Fprintf(&text, "%d wait (%v)\n", waiting, err)
	return text.String()
}

// logTurns logs what became of a task.
func (f *fleet) logTurns(task string) {
	f.t.Helper()
	for _, turn := range f.history(task) {
		f.t.Logf("%s %s to %s: %v; past %q", turn.who, turn.began.Format("04:05.000"), turn.ended.Format("04:05.000"), turn.cause, turn.past.Why)
	}
}
