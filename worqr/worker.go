package worqr

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/worqr/worqr-go/events"
	"github.com/worqr/worqr-go/heartbeat"
)

// Queue says how a worker serves a queue.
type Queue struct {
	Handler Handler // required
	Limit   int     // handlers at once; 0 means 1
}

// WorkerConfig configures a Worker. The zero value works.
type WorkerConfig struct {
	// Queues that Run serves. Others can be served by StartWork and Take.
	Queues map[string]Queue
	// Beat is the time between two heartbeats: at most a third of Lapse. Default 1 s.
	Beat time.Duration
	// Lapse is how long a worker counts as alive after a heartbeat. It is the same for the whole mesh: the first worker
	// decides, another value is refused while workers are registered. At least 100 ms, whole milliseconds. Default 3 s.
	Lapse time.Duration
	// Margin is how long before its lapse a worker ends its handlers, so that they have returned when a peer takes over.
	// Below a third of Lapse. Default Lapse/10.
	Margin time.Duration
	// Sweep is the time between two looks at the peers. Default 1 s.
	Sweep time.Duration
	// Grace is how long handlers may go on after a stop. Default 10 s.
	Grace time.Duration
	// Capacity is the worker's weight where work is shared out. Default 1.
	Capacity int
	// Labels are shown where workers are listed.
	Labels map[string]string
	Hooks  Hooks
}

// withDefaults fills the zero values and checks the rest.
func (c WorkerConfig) withDefaults() (WorkerConfig, error) {
	beat, err := heartbeat.Config{Every: c.Beat, TTL: c.Lapse, Margin: c.Margin}.WithDefaults()
	if err != nil {
		text := strings.TrimPrefix(err.Error(), heartbeat.ErrConfig.Error()+": ")
		return c, fmt.Errorf("%w: %s", ErrConfig, strings.NewReplacer("Every", "Beat", "TTL", "Lapse").Replace(text))
	}
	c.Beat, c.Lapse, c.Margin = beat.Every, beat.TTL, beat.Margin
	refuse := func(format string, args ...any) (WorkerConfig, error) {
		return c, fmt.Errorf("%w: "+format, append([]any{ErrConfig}, args...)...)
	}
	if c.Lapse%time.Millisecond != 0 {
		return refuse("Lapse: %v is not a whole number of milliseconds", c.Lapse)
	}
	if c.Sweep == 0 {
		c.Sweep = time.Second
	}
	if c.Grace == 0 {
		c.Grace = 10 * time.Second
	}
	if c.Capacity == 0 {
		c.Capacity = 1
	}
	switch {
	case c.Sweep < 2*time.Millisecond:
		return refuse("Sweep: %v is below 2ms", c.Sweep)
	case c.Grace < 0:
		return refuse("Grace: %v is below 0", c.Grace)
	case c.Capacity < 0:
		return refuse("Capacity: %d is below 0", c.Capacity)
	}
	queues := map[string]Queue{}
	for name, q := range c.Queues {
		if err := checkQueue(name); err != nil {
			return refuse("Queues: %w", err)
		}
		if q.Handler == nil {
			return refuse("Queues: the Handler of queue %q is nil", name)
		}
		if f, ok := q.Handler.(HandlerFunc); ok && f == nil {
			return refuse("Queues: the Handler of queue %q is nil", name)
		}
		if q.Limit < 0 {
			return refuse("Queues: the Limit of queue %q is %d, below 0", name, q.Limit)
		}
		q.Limit = max(q.Limit, 1)
		queues[name] = q
	}
	c.Queues, c.Labels = queues, maps.Clone(c.Labels)
	return c, nil
}

// Worker is a daemon's part in the mesh. It lives until Run's context ends, Fail, or the mesh's Close, over as many
// incarnations as it takes: after a lapse it joins again under a new id and serves the same queues. Its methods may be
// called from any goroutine.
type Worker struct {
	mesh  *Mesh
	cfg   WorkerConfig
	log   zerolog.Logger
	hooks *Hooks

	serving  context.Context // ends when the worker begins to stop: nothing new is started
	stop     context.CancelFunc
	hurry    context.Context // ends when handlers may go on no longer
	hurried  context.CancelFunc
	ended    chan struct{} // closed when the worker has stopped
	handlers sync.WaitGroup
	tasks    sync.WaitGroup // the tending goroutine
	poke     chan struct{}  // something has changed: tend

	connection atomic.Uint64 // of the notifications, when they were last ready

	mu        sync.Mutex
	state     state
	life      *life         // the present incarnation, also when it has lapsed; nil before the first
	changed   chan struct{} // closed and replaced when life or state has changed
	stations  map[string]*station
	unlisten  []func()
	callbacks map[string][]*events.Registration // by queue
	outcome   error                             // of the stop
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
		ended: make(chan struct{}), poke: make(chan struct{}, 1),
		changed: make(chan struct{}), stations: map[string]*station{},
		callbacks: map[string][]*events.Registration{},
	}
	w.hooks = &w.cfg.Hooks
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

// Alive tells whether the worker may trust that what it holds is its own.
func (w *Worker) Alive() bool {
	l := w.current()
	return l != nil && l.ctx.Err() == nil && l.lease.Valid()
}

func (w *Worker) current() *life {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.life
}

// Start registers the worker and keeps its heartbeat until Fail or the mesh's Close; ctx bounds only the start. It
// serves no queue until StartWork. Errors: ErrStarted, ErrClosed, ErrConfig when the mesh has another Lapse or protocol
// version, or what the connection answered; after one the worker can be started again.
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

	w.mesh.Listener()
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

// On calls fn for what is told about a queue: that tasks were added, cancelled, finished, or the queue deleted; in
// order, on a goroutine of its own. It is also called with kind Work when the worker finds tasks waiting that it was not
// told of: at StartWork, when the subscription was interrupted, and on a slow poll. Register it before StartWork.
func (w *Worker) On(queue string, fn func(events.Event)) error {
	if err := w.mesh.usable(queue); err != nil {
		return failed(err, "on")
	}
	if fn == nil {
		return failed(fmt.Errorf("%w: the callback for queue %q is nil", ErrInvalid, clip(queue)), "on")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.state == stopping {
		return failed(ErrClosed, "on")
	}
	r := w.mesh.Listener().Register(queue, fn)
	w.unlisten = append(w.unlisten, r.Stop)
	w.callbacks[queue] = append(w.callbacks[queue], r)
	return nil
}

// StartWork begins to serve a queue: with the handler that WorkerConfig.Queues has for it, or else by Take. Serving it
// already is no error. It lasts over lapses, until StopWork.
// Errors: ErrNotStarted, ErrClosed, ErrInvalid, or what the connection answered.
func (w *Worker) StartWork(ctx context.Context, queue string) error {
	st, err := w.station(queue)
	if err == nil {
		st.mu.Lock()
		st.serve = true
		st.mu.Unlock()
		err = w.opened(ctx, st)
	}
	if err != nil {
		return failed(err, "start work on queue %q", clip(queue))
	}
	return nil
}

// opened waits until the present incarnation has the queue open.
func (w *Worker) opened(ctx context.Context, st *station) error {
	for {
		w.mu.Lock()
		l, changed := w.life, w.changed
		w.mu.Unlock()
		err := l.open(ctx, st)
		if err == nil || l.ctx.Err() == nil || ctx.Err() != nil {
			return err
		}
		select { // it has lapsed: the worker joins again
		case <-changed:
		case <-w.serving.Done():
			return ErrClosed
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// station finds a queue, or makes it when the worker is running.
func (w *Worker) station(queue string) (*station, error) {
	if err := checkQueue(queue); err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch w.state {
	case unstarted, starting:
		return nil, ErrNotStarted
	case stopping:
		return nil, ErrClosed
	}
	st := w.stations[queue]
	if st == nil {
		st = newStation(queue, w.cfg.Queues[queue])
		w.stations[queue] = st
	}
	return st, nil
}

// StopWork ends the serving of a queue. Its handlers may go on for Grace, or until ctx ends; then their contexts end with
// ErrStopping. What is not settled goes back to the front, what came by Take at once. Other workers are not concerned.
// Errors: ErrNotStarted, ErrNotWorking, ErrClosed, or what the connection answered: the return is tried again then.
func (w *Worker) StopWork(ctx context.Context, queue string) error {
	st, err := w.station(queue)
	if err == nil {
		st.mu.Lock()
		if !st.serve {
			err = ErrNotWorking
		}
		st.serve = false
		st.mu.Unlock()
	}
	if err == nil {
		grace, cancel := context.WithTimeout(ctx, w.cfg.Grace)
		defer cancel()
		defer context.AfterFunc(w.hurry, cancel)()
		err = w.current().close(grace, w.lastCall, st)
	}
	if err != nil {
		return failed(err, "stop work on queue %q", clip(queue))
	}
	return nil
}

// Take brings the task at the front of a queue that StartWork was called for. The caller settles the process.
// Errors: ErrEmpty; ErrNotStarted, ErrNotWorking, ErrClosed; ErrLapsed and ErrFenced while the worker joins again;
// ErrUnknown: a task that came with the lost answer is brought by the next Take, or put back at the next look.
func (w *Worker) Take(ctx context.Context, queue string) (*Process, error) {
	p, err := w.takeOne(ctx, queue)
	if err != nil {
		return nil, failed(err, "take from queue %q", clip(queue))
	}
	w.hooks.take(p)
	return p, nil
}

func (w *Worker) takeOne(ctx context.Context, queue string) (*Process, error) {
	st, err := w.station(queue)
	if err != nil {
		return nil, err
	}
	m := st.membership()
	if m == nil || !st.serving() {
		return nil, ErrNotWorking
	}
	if !m.life.lease.Valid() {
		m.life.lapse(nil)
	}
	if m.ended() {
		return nil, context.Cause(m.ctx)
	}
	if err := m.have(ctx); err != nil {
		return nil, err
	}
	defer m.release()
	if m.closing.Load() {
		return nil, ErrNotWorking
	}
	processes, err := m.take(ctx, 1, false)
	if err == nil && len(processes) == 0 {
		err = ErrEmpty
	}
	if err != nil {
		return nil, err
	}
	if len(processes) > 1 {
		m.giveBack(processes[1:]) // of an earlier take, whose answer was lost
	}
	return processes[0], nil
}

// Process answers what this worker has in hand under an id, or nil.
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

// Fail ends the worker at once: the contexts of its handlers end with ErrStopping, and when they have returned, or after
// Grace, or when ctx ends, everything goes back to the front and the worker leaves. Calling it again waits for the same
// end. A worker that was never started is closed. Errors: what could not be returned; peers do so after the lapse.
func (w *Worker) Fail(ctx context.Context) error { return w.shutdown(ctx, 0) }

// Run is the daemon's way: it starts the worker, serves WorkerConfig.Queues, and joins again after a lapse. When ctx
// ends it takes nothing new, gives handlers Grace to end, returns the rest to the front, and leaves. It returns when
// all that has ended: nil, or what did not start or could not be returned, or which handlers outstayed Grace.
// A worker runs once. Errors: as Start, and ErrStopping for handlers that did not return.
func (w *Worker) Run(ctx context.Context) error {
	if err := w.Start(ctx); err != nil {
		return err
	}
	for name := range w.cfg.Queues {
		if err := w.StartWork(ctx, name); err != nil {
			w.hooks.error(err) // the queue is wanted now, so it is tried until it is open
		}
	}
	select {
	case <-ctx.Done():
		return w.shutdown(context.Background(), w.cfg.Grace)
	case <-w.ended:
		return w.shutdown(context.Background(), 0)
	}
}

// change tells those who wait that something is different now.
func (w *Worker) change() {
	w.mu.Lock()
	close(w.changed)
	w.changed = make(chan struct{})
	w.mu.Unlock()
	signal(w.poke)
}

// tellWaiting tells the queue's callbacks that tasks wait of which no word may have come.
func (w *Worker) tellWaiting(st *station, waiting int) {
	w.mu.Lock()
	callbacks := w.callbacks[st.name]
	w.mu.Unlock()
	for _, r := range callbacks {
		r.Tell(events.Event{Kind: events.Work, Queue: st.name, Count: waiting})
	}
}

// ready is told when all notifications are subscribed: what was missed is read now. On a new connection anything may have
// been; else only a queue was added: callbacks may not have heard of its tasks, and who took while it was being subscribed
// is not noted as idle.
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
		l := w.current()
		if l.ctx.Err() != nil {
			l.finish()
			if err := w.join(w.serving); err != nil && w.serving.Err() == nil {
				w.hooks.error(failed(err, "join again"))
				again = true
			}
		} else {
			for _, st := range w.wanted() {
				if err := l.open(w.serving, st); err != nil && !errors.Is(err, ErrNotWorking) && w.serving.Err() == nil {
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

// wanted lists the queues that the worker is to serve.
func (w *Worker) wanted() []*station {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []*station
	for _, st := range w.stations {
		if st.serving() {
			list = append(list, st)
		}
	}
	return list
}
