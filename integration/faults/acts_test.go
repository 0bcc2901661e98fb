//go:build linux

package faults

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Faults of Redis and of clocks, and acts of operators.

func pause(f *fleet, _ time.Duration) (string, func()) {
	if f.paused {
		return "", nil
	}
	f.server.Pause(f)
	f.paused = true
	return "freeze Redis", f.resume
}

func (f *fleet) resume() {
	if f.paused {
		if f.killed {
			f.server.Start(f)
		} else {
			f.server.Resume(f)
		}
		f.paused, f.killed = false, false
	}
}

func holdUp(f *fleet, lasts time.Duration) (string, func()) {
	if f.paused {
		return "", nil
	}
	f.do("CLIENT", "PAUSE", lasts.Milliseconds(), "ALL")
	f.heldUp = stamp() + lasts
	return fmt.Sprintf("Redis does not reply for %v", lasts), nil
}

// restart kills Redis, which has stored all that it has confirmed, and starts it again.
func restart(f *fleet, _ time.Duration) (string, func()) {
	if f.paused {
		return "", nil
	}
	f.server.Kill(f)
	f.paused, f.killed = true, true
	return "kill Redis", f.resume
}

// steps are the distances by which a clock is set.
var steps = []string{"10m", "-10m", "700ms", "-700ms", "90ms", "-90ms", "0s"}

func workerClock(f *fleet, _ time.Duration) (string, func()) {
	w := f.some(active)
	if w == nil {
		return "", nil
	}
	by := steps[f.random.IntN(len(steps))]
	f.order(w, "clock "+by)
	return fmt.Sprintf("the wall clock of %s is off by %s", w.name, by), nil
}

// serverClock steps the clock of Redis forward, or back by little.
func serverClock(f *fleet, _ time.Duration) (string, func()) {
	return f.stepClock(10*time.Minute, time.Second, 300*time.Millisecond, -300*time.Millisecond, -time.Second)
}

// serverBack steps the clock of Redis back, by much more than any stored date may lie ahead.
func serverBack(f *fleet, _ time.Duration) (string, func()) {
	return f.stepClock(-10*time.Second, -time.Minute, -time.Hour)
}

func (f *fleet) stepClock(by ...time.Duration) (string, func()) {
	if f.server.clock == nil || f.paused || f.steppedLately() || stamp() < f.heldUp { // it ends by the clock
		return "", nil
	}
	step := by[f.random.IntN(len(by))]
	f.server.step(f, step)
	f.stepped = stamp()
	return fmt.Sprintf("the wall clock of Redis steps by %v", step), nil
}

// steppedLately reports whether it is too soon for another step of Redis's clock. A step there and
// back between two looks is not noticed.
func (f *fleet) steppedLately() bool { return f.stepped != 0 && stamp()-f.stepped < 3*f.timing.Lapse }

func add(f *fleet, _ time.Duration) (string, func()) {
	if w := f.spawn(); w != nil {
		return "add " + w.name, nil
	}
	return "", nil
}

func stop(f *fleet, _ time.Duration) (string, func()) {
	w := f.some(func(w *worker) bool { return !w.leaving && alive(w) && w.up() })
	if w == nil {
		return "", nil
	}
	f.term(w)
	return "stop " + w.name, nil
}

// term asks a worker to end. A worker that may die by itself at that time sends the signal itself.
func (f *fleet) term(w *worker) {
	if w.leaving = true; w.doomed {
		f.order(w, "term")
	} else {
		w.Term(f)
	}
}

// up reports whether the process handles signals by now: before that they would kill it.
func (w *worker) up() bool {
	return slices.ContainsFunc(w.Lines(), func(line string) bool { return strings.Contains(line, " joined ") })
}

func drain(f *fleet, _ time.Duration) (string, func()) {
	w := f.some(func(w *worker) bool { return active(w) && w.up() })
	if w == nil {
		return "", nil
	}
	f.order(w, "drain")
	w.leaving = true
	f.later(stamp()+f.upTo(2*f.timing.Lapse), func() {
		if alive(w) {
			f.term(w)
		}
	})
	return "drain " + w.name, nil
}

// reopen makes a worker leave one of its queues for a time.
func reopen(f *fleet, lasts time.Duration) (string, func()) {
	w := f.some(func(w *worker) bool { return active(w) && w.up() })
	if w == nil {
		return "", nil
	}
	queue := f.queues[f.random.IntN(len(f.queues))]
	f.order(w, fmt.Sprintf("close %s %v", queue, lasts))
	return fmt.Sprintf("%s leaves %s", w.name, queue), nil
}

// breakFeed ends a handler in one way or another. It does so rarely, because the delay of a task
// doubles each time.
func breakFeed(f *fleet, _ time.Duration) (string, func()) {
	w, at := f.some(active), f.random.IntN(len(f.tasks))
	task, how := f.tasks[at], endings[f.random.IntN(len(endings))]
	if w == nil || f.broken[task] > 2 {
		return "", nil
	}
	f.broken[task]++
	if how == "done" || how == "finish" {
		f.tasks = slices.Delete(f.tasks, at, at+1)
		f.make()
	}
	f.order(w, fmt.Sprintf("end %s %s", task, how))
	return fmt.Sprintf("the feed of %s ends, if %s holds it: %s", task, w.name, how), nil
}

// change asks for other tasks, for some earlier ones again, or twice for the present ones.
func change(f *fleet, _ time.Duration) (string, func()) {
	for range 1 + f.random.IntN(3) {
		i := f.random.IntN(len(f.tasks))
		switch {
		case len(f.tasks) > leastTasks && f.random.IntN(2) == 0:
			f.removed = append(f.removed, f.tasks[i])
			f.tasks = slices.Delete(f.tasks, i, i+1)
		case len(f.tasks) == mostTasks:
		case len(f.removed) > 0 && f.random.IntN(2) == 0:
			f.tasks = append(f.tasks, f.removed[len(f.removed)-1])
			f.removed = f.removed[:len(f.removed)-1]
		default:
			f.make()
		}
	}
	f.pending = true
	if f.paused {
		return "change what is to be held, later", nil
	}
	err := f.reconcile(f.timing.Lapse / 2) // if it fails, it is tried again
	if f.random.IntN(2) == 0 && err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), f.timing.Lapse/2)
		defer cancel()
		task := f.tasks[f.random.IntN(len(f.tasks))]
		f.note("enqueue %s, which is there: %v", task, f.mesh.Enqueue(ctx, f.queueOf(task), []byte(task)))
	}
	return "change what is to be held", nil
}

// again cancels a task and adds it again at once. It must not be started before its holder has
// stopped.
func again(f *fleet, _ time.Duration) (string, func()) {
	if f.paused {
		return "", nil
	}
	at := f.random.IntN(len(f.tasks))
	task := f.tasks[at]
	ctx, cancel := context.WithTimeout(context.Background(), f.timing.Lapse/2)
	defer cancel()
	f.pending = true
	if _, err := f.mesh.Cancel(ctx, f.queueOf(task), []byte(task)); err != nil { // it may come late: the task is not wanted
		f.tasks = slices.Delete(f.tasks, at, at+1)
		f.make()
		return fmt.Sprintf("cancel %s: %v", task, err), nil
	}
	return fmt.Sprintf("cancel %s, and add it again: %v", task, f.mesh.Enqueue(ctx, f.queueOf(task), []byte(task))), nil
}

// failByHand makes an operator fail a worker.
func failByHand(f *fleet, _ time.Duration) (string, func()) {
	ctx, cancel := context.WithTimeout(context.Background(), f.timing.Lapse/2)
	defer cancel()
	if f.paused {
		return "", nil
	}
	list, err := f.mesh.Workers(ctx)
	if err != nil || len(list) == 0 {
		return "", nil
	}
	id := list[f.random.IntN(len(list))].ID
	return fmt.Sprintf("fail %s: %v", id, f.mesh.Fail(ctx, id)), nil
}
