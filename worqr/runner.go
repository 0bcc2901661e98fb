package worqr

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

// runner runs the handlers of a station. A goroutine runs one after the other while there are any,
// and sees before each that another goroutine is on its way to those that wait: so a handler that
// blocks holds nobody up, and of handlers that return at once many share a goroutine.
type runner struct {
	mu     sync.Mutex
	ready  []job // not empty: a goroutine is on its way
	coming bool  // a goroutine was started and has not begun
}

// job is a process with the slot that it was taken for.
type job struct {
	process *Process
	slot    *slot
}

// add hands a process over to be worked on.
func (r *runner) add(j job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ready = append(r.ready, j)
	r.call(j.process.of.life.w)
}

// call starts a goroutine when one is needed. The caller has mu.
func (r *runner) call(w *Worker) {
	if len(r.ready) > 0 && !r.coming {
		r.coming = true
		w.handlers.Go(func() { r.work(w) })
	}
}

func (r *runner) work(w *Worker) {
	for first := true; ; first = false {
		j, ok := r.next(w, first)
		if !ok {
			return
		}
		j.run()
	}
}

// next takes a job out. first: the goroutine has just begun.
func (r *runner) next(w *Worker, first bool) (j job, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if first {
		r.coming = false
	}
	if len(r.ready) == 0 {
		return job{}, false
	}
	j, r.ready = r.ready[0], r.ready[1:]
	if len(r.ready) == 0 {
		r.ready = nil
	}
	r.call(w)
	return j, true
}

// run calls the handler. What follows it is deferred, so that it follows a panic and a Goexit too.
func (j job) run() {
	p, m := j.process, j.process.of
	var err error
	normal := false
	begun := time.Now()
	defer func() {
		m.station.took(time.Since(begun))
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		} else if !normal {
			err = errors.New("the handler called runtime.Goexit")
		}
		m.returned(p, j.slot, err)
	}()
	ctx := p.Context()
	if begun.Sub(p.taken) > quickHandler {
		_ = ctx.Err() // reads the clocks, at the price of two system calls: while it waited, all of this may have been frozen
	}
	if m.station.hold != nil {
		err = m.station.hold.run(ctx, p, m.station.handler)
	} else if !lost(p.ended()) {
		err = m.station.handler.Handle(ctx, p)
	}
	normal = true
}
