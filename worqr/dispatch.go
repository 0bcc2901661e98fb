package worqr

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Handler works on one process at a time; a queue's limit says how many at once. ctx is the process's context.
//
// What Handle returns settles the process, unless it was settled before: nil finishes it; an error, a panic or
// runtime.Goexit puts it back at the front, and this slot takes the next task after a pause of 100 ms, doubling with each
// failure in a row up to 30 s. After ErrCanceled it is finished whatever is returned; after ErrStopping or ErrHandover it
// goes back to the front; after ErrLapsed, ErrFenced or ErrGone it is no longer this worker's, and nothing is done.
type Handler interface {
	Handle(ctx context.Context, p *Process) error
}

// HandlerFunc is a function as a Handler.
type HandlerFunc func(ctx context.Context, p *Process) error

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, p *Process) error { return f(ctx, p) }

// Pauses of a slot whose handler failed.
const (
	leastPause = 100 * time.Millisecond
	mostPause  = 30 * time.Second
)

// station is a queue as this daemon serves it, over all its incarnations. The slots are the daemon's: a handler keeps its
// slot until it returns, also when its worker has lapsed meanwhile, so the limit holds across lapses.
type station struct {
	name    string
	handler Handler // nil: tasks are taken by Worker.Take

	opening sync.Mutex // held while a membership is made or ended

	mu    sync.Mutex
	open  *membership // the present one, also when it has ended
	serve bool        // StartWork was called, and StopWork was not since
	free  []*slot
	freed chan struct{} // a flag

	runner runner
}

// slot lets one handler run.
type slot struct{ failures int }

func newStation(name string, q Queue) *station {
	st := &station{name: name, handler: q.Handler, freed: make(chan struct{}, 1)}
	for range q.Limit {
		st.free = append(st.free, &slot{})
	}
	return st
}

// reserve takes up to a chunk of free slots.
func (st *station) reserve() []*slot {
	st.mu.Lock()
	defer st.mu.Unlock()
	n := max(0, len(st.free)-chunkTasks)
	taken := append([]*slot(nil), st.free[n:]...)
	st.free = st.free[:n]
	return taken
}

func (st *station) giveBack(slots ...*slot) {
	if len(slots) == 0 {
		return
	}
	st.mu.Lock()
	st.free = append(st.free, slots...)
	st.mu.Unlock()
	signal(st.freed)
}

func (st *station) hasFree() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return len(st.free) > 0
}

func (st *station) membership() *membership {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.open
}

func (st *station) serving() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.serve
}

// dispatch takes tasks for the free slots and starts their handlers, until ctx ends or the membership does. It sleeps
// when the queue was empty: then this membership is noted as idle, and an enqueue wakes it.
func (m *membership) dispatch(ctx context.Context) {
	st := m.station
	pause := time.Duration(0)
	for hungry := true; ; {
		for !hungry || !st.hasFree() {
			select {
			case <-ctx.Done():
				return
			case <-m.ctx.Done():
				return
			case <-m.poke:
				hungry = true
			case <-m.woken:
				hungry = true
				if !st.hasFree() {
					m.passOn(ctx)
				}
			case <-st.freed:
			}
		}
		slots := st.reserve()
		if len(slots) == 0 {
			continue
		}
		// A flag that is raised from here on is seen after the take: nothing falls between the look and the sleep.
		processes, more, err := m.takeFor(ctx, slots)
		if err == nil {
			pause, hungry = 0, len(processes) == len(slots) || more
		} else if !m.ended() && ctx.Err() == nil {
			m.life.w.hooks.error(failed(err, "take from queue %q", st.name))
			pause = min(max(2*pause, 50*time.Millisecond), time.Second)
			hungry = true
		}
		if ctx.Err() != nil || m.ended() {
			st.giveBack(slots...)
			return
		}
		m.start(processes, slots)
		st.giveBack(slots[len(processes):]...)
		if err != nil && sleep(ctx, jitter(pause)) != nil {
			return
		}
	}
}

// takeFor takes as many tasks as there are slots. A take that was not answered is repeated for as many as it asked for,
// and so may bring fewer or more than there are slots: what is above goes back. more tells that tasks are left.
func (m *membership) takeFor(ctx context.Context, slots []*slot) (_ []*Process, more bool, _ error) {
	if err := m.have(ctx); err != nil {
		return nil, false, err
	}
	defer m.release()
	if m.closing.Load() {
		return nil, false, ErrStopping
	}
	// Idle only when a wake-up would arrive. The flag is up before that is asked, so who makes it ready sees it.
	m.unnoted.Store(true)
	park := m.life.w.mesh.listener.Ready()
	processes, err := m.take(ctx, len(slots), park)
	m.unnoted.CompareAndSwap(true, !park)
	if err == nil && ctx.Err() != nil {
		m.giveBack(processes) // a stop came meanwhile, and what drains may last: idle peers take them now
		return nil, false, ErrStopping
	}
	if len(processes) > len(slots) {
		m.giveBack(processes[len(slots):])
		processes = processes[:len(slots)]
	}
	return processes, m.more, err
}

// passOn wakes another worker in place of this one.
func (m *membership) passOn(ctx context.Context) {
	if _, err := m.life.w.mesh.queue(ctx, wakeScript, m.station.name); err != nil && ctx.Err() == nil {
		m.life.w.hooks.error(failed(err, "pass on a wake-up of queue %q", m.station.name))
	}
}

// start has the handlers of processes run, each in its slot until it returns.
func (m *membership) start(processes []*Process, slots []*slot) {
	if len(processes) == 0 {
		return
	}
	m.running.Add(int64(len(processes)))
	jobs := make([]job, len(processes))
	for i, p := range processes {
		m.life.w.hooks.take(p)
		jobs[i] = job{p, slots[i]}
	}
	m.station.runner.add(m.life.w, jobs)
}

// returned settles what a handler has left, and frees its slot: after a failure only when its pause is over.
func (m *membership) returned(p *Process, s *slot, err error) {
	defer m.station.giveBack(s)
	w, cause := m.life.w, p.ended()
	if p.asked() == "" {
		m.settleAfter(p, cause, err)
	}
	m.over()
	if errors.Is(cause, ErrSettled) && (errors.Is(err, ErrSettled) || errors.Is(err, context.Canceled)) {
		err = nil // it tells that its context has ended, by the settling
	}
	if err == nil || cause != nil && !errors.Is(cause, ErrSettled) {
		s.failures = 0
		return
	}
	w.hooks.error(failed(err, "handle process %s of queue %q", p.ID(), p.Queue()))
	pause := min(leastPause<<min(s.failures, 20), mostPause)
	s.failures++
	_ = sleep(w.serving, pause) // ends early when the worker stops
}

// settleAfter settles a process as the handler's return says.
func (m *membership) settleAfter(p *Process, cause, err error) {
	switch {
	case errors.Is(cause, ErrCanceled):
		p.ask(finish)
	case errors.Is(cause, ErrLapsed), errors.Is(cause, ErrFenced), errors.Is(cause, ErrGone):
	case errors.Is(cause, ErrStopping): // all that is left goes back in one step, in order
	case err != nil, cause != nil:
		p.ask(front)
	default:
		p.ask(finish)
	}
}
