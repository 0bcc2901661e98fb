package worqr

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/worqr/worqr-go/events"
	"github.com/worqr/worqr-go/internal/subscribe"
)

// Worker is a daemon's part in the mesh. It lives until Run's context ends, Fail, or the mesh's
// Close, over as many incarnations as it takes: after a lapse it joins again under a new id and
// serves the same queues. Its methods may be called from any goroutine.
type Worker struct {
	mesh  *Mesh
	cfg   WorkerConfig
	log   zerolog.Logger
	hooks *calls

	serving  context.Context // ends when the worker begins to stop: nothing new is started
	stop     context.CancelFunc
	hurry    context.Context // ends when handlers may go on no longer
	hurried  context.CancelFunc
	ended    chan struct{} // closed when the worker has stopped
	handlers sync.WaitGroup
	tasks    sync.WaitGroup // the tending goroutine
	poke     chan struct{}  // something has changed: tend
	refused  chan error     // why a queue that was open, or wanted, is not served any more

	unseen     atomic.Bool   // it was logged that the server does not see the presence subscription
	connection atomic.Uint64 // of the notifications, when they were last ready

	mu        sync.Mutex
	state     state
	life      *life         // the present incarnation, also when it has lapsed; nil before the first
	changed   chan struct{} // closed and replaced when life or state has changed
	stations  map[string]*station
	unlisten  []func()
	callbacks map[string][]*subscribe.Registration // by queue
	outcome   error                                // of the stop
}

type state int

const (
	unstarted state = iota
	starting
	running
	stopping
)

// NewWorker makes a worker and starts nothing. Errors: ErrConfig, ErrClosed.
func (m *Mesh) NewWorker(cfg WorkerConfig) (*Worker, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, failed(err, "new worker")
	}
	w := &Worker{
		mesh: m, cfg: cfg, log: m.cfg.Logger,
		ended: make(chan struct{}), poke: make(chan struct{}, 1), refused: make(chan error, 1),
		changed: make(chan struct{}), stations: map[string]*station{},
		callbacks: map[string][]*subscribe.Registration{},
	}
	w.hooks = newCalls(cfg.Hooks, w.log)
	w.serving, w.stop = context.WithCancel(context.Background())
	w.hurry, w.hurried = context.WithCancel(context.Background())
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		w.stop()
		return nil, failed(ErrClosed, "new worker")
	}
	m.workers[w] = true
	return w, nil
}

// ID is the id of the present incarnation, "" before Start. After a lapse it is another one.
func (w *Worker) ID() string {
	if l := w.current(); l != nil {
		return l.id
	}
	return ""
}

// Alive reports whether the worker may trust that what it holds is its own.
func (w *Worker) Alive() bool {
	l := w.current()
	return l != nil && l.ctx.Err() == nil && l.lease.Valid()
}

func (w *Worker) current() *life {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.life
}

// Start registers the worker and keeps its heartbeat until Fail or the mesh's Close; ctx bounds
// only the start. It serves no queue until StartWork. Errors: ErrStarted, ErrClosed, ErrConfig when
// the mesh has another Lapse or protocol version, or what the connection answered; after one the
// worker can be started again.
func (w *Worker) Start(ctx context.Context) error {
	w.mu.Lock()
	switch {
	case w.state == stopping || w.mesh.ctx.Err() != nil:
		w.mu.Unlock()
		return failed(ErrClosed, "start worker")
	case w.state != unstarted:
		w.mu.Unlock()
		return failed(ErrStarted, "start worker")
	}
	w.state = starting
	w.tasks.Add(1) // a stop that comes meanwhile waits for this, and ends what was joined
	defer w.tasks.Done()
	w.mu.Unlock()

	w.mesh.listen()
	joining, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(w.serving, cancel)()
	notReady := w.mesh.listener.OnReady(w.ready)
	err := w.mesh.patiently(joining, w.join)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.state == stopping {
		err = ErrClosed
	}
	if err != nil {
		notReady()
		if w.state == starting {
			w.state = unstarted
		}
		return failed(err, "start worker")
	}
	w.state = running
	w.unlisten = append(w.unlisten, notReady)
	w.tasks.Go(w.tend)
	return nil
}

// Process returns what this worker has in hand under an id, or nil.
func (w *Worker) Process(id string) *Process {
	w.mu.Lock()
	stations := slices.Collect(maps.Values(w.stations))
	w.mu.Unlock()
	for _, st := range stations {
		if m := st.membership(); m != nil && !m.ended() && strings.HasPrefix(id, m.id+".") {
			number, err := strconv.ParseInt(id[len(m.id)+1:], 10, 64)
			if err != nil {
				return nil
			}
			return m.process(number)
		}
	}
	return nil
}

// Fail ends the worker at once: the contexts of its handlers end with ErrStopping, and when they
// have returned, or after Grace, or when ctx ends, everything goes back to the front and the worker
// leaves. Calling it again waits for the same end. A worker that was never started is closed.
// Errors: what could not be returned; peers do so after the lapse.
func (w *Worker) Fail(ctx context.Context) error { return w.shutdown(ctx, 0) }

// Stop ends the worker in order, as the end of Run's context does: it takes nothing new, gives
// handlers Grace to end, returns the rest to the front, and leaves. When ctx ends first, the
// contexts of the handlers end then. Calling it again waits for the same end.
// Errors: what could not be returned, which peers take over after the lapse; ErrStopping for
// handlers that did not return; the cause of ctx.
func (w *Worker) Stop(ctx context.Context) error { return w.shutdown(ctx, w.cfg.Grace) }

// Run is the daemon's way: it starts the worker, serves WorkerConfig.Queues, and joins again after
// a lapse. When ctx ends it takes nothing new, gives handlers Grace to end, returns the rest to the
// front, and leaves. It returns when all that has ended, hooks too: nil, or what did not start or
// could not be returned, or which handlers outstayed Grace. When the mesh refuses a queue, as one
// of persistent tasks and this worker's is not, Run stops the worker and returns that. A worker
// runs once. Errors: as Start, ErrConfig for a queue, and ErrStopping for handlers that did not
// return.
func (w *Worker) Run(ctx context.Context) error {
	if err := w.Start(ctx); err != nil {
		return err
	}
	for name := range w.cfg.Queues {
		err := w.StartWork(ctx, name)
		if errors.Is(err, ErrConfig) {
			return errors.Join(err, w.shutdown(context.Background(), w.cfg.Grace))
		} else if err != nil {
			w.hooks.error(err) // the queue is wanted now, so it is tried until it is open
		}
	}
	select {
	case err := <-w.refused:
		return errors.Join(err, w.shutdown(context.Background(), w.cfg.Grace))
	case <-ctx.Done():
		return w.shutdown(context.Background(), w.cfg.Grace)
	case <-w.ended:
		return w.shutdown(context.Background(), 0)
	}
}

// refuse reports that the mesh refuses a queue: to Run, which returns it, and to the hook.
func (w *Worker) refuse(err error) {
	select {
	case w.refused <- err:
	default: // one is enough
	}
	w.hooks.error(err)
}

// change wakes those who wait that something is different now.
func (w *Worker) change() {
	w.mu.Lock()
	close(w.changed)
	w.changed = make(chan struct{})
	w.mu.Unlock()
	signal(w.poke)
}

// tellWaiting calls the queue's callbacks that tasks wait of which no word may have come.
func (w *Worker) tellWaiting(st *station, waiting int) {
	w.mu.Lock()
	callbacks := w.callbacks[st.name]
	w.mu.Unlock()
	for _, r := range callbacks {
		r.Tell(events.Event{Kind: events.Work, Queue: st.name, Count: waiting})
	}
}

// ready is told when all notifications are subscribed: what was missed is read now. On a new
// connection anything may have been; else only a queue was added: callbacks may not have heard of
// its tasks, and who took while it was being subscribed is not noted as idle.
func (w *Worker) ready() {
	w.hooks.ready()
	connection := w.mesh.listener.Connections()
	again := w.connection.Swap(connection) != connection
	l := w.current()
	switch {
	case l == nil:
		return
	case again:
		l.lookAll()
		return
	}
	l.lookWhere(func(m *membership) bool { return m.station.handler == nil || m.unnoted.Load() })
}

// tend keeps the worker joined and its queues open, until it stops.
func (w *Worker) tend() {
	pause := time.Duration(0)
	for {
		again := false
		var rested <-chan time.Time
		l := w.current()
		if l.ctx.Err() != nil {
			l.finish()
			if err := w.join(w.serving); err != nil && w.serving.Err() == nil {
				w.hooks.error(failed(err, "join again"))
				again = true
			}
		} else {
			for _, st := range w.wanted() {
				err := l.open(w.serving, st)
				switch {
				case err == nil || errors.Is(err, errOvertaken) || w.serving.Err() != nil:
				case errors.Is(err, errResting):
					rested = l.again()
				case errors.Is(err, ErrConfig): // that does not mend itself, so it is not tried again
					w.refuse(failed(err, "serve queue %q", st.name))
				default:
					w.hooks.error(failed(err, "open queue %q again", st.name))
					again = true
				}
			}
			again = !l.closeRest(w.serving) || again
		}
		if !again {
			pause = 0
			select {
			case <-w.poke:
			case <-rested:
			case <-w.serving.Done():
				return
			}
			continue
		}
		pause = min(max(2*pause, 50*time.Millisecond), time.Second)
		if sleep(w.serving, jitter(pause)) != nil {
			return
		}
	}
}
