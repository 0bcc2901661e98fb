package worqr

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/gomodule/redigo/redis"
	"github.com/rs/zerolog"

	"github.com/worqr/worqr-go/events"
	"github.com/worqr/worqr-go/internal/pipeline"
	"github.com/worqr/worqr-go/internal/subscribe"
	"github.com/worqr/worqr-go/internal/wire"
)

const (
	chunkTasks = 500     // tasks in one enqueue, and processes in one step of anything
	chunkBytes = 1 << 20 // bytes in one enqueue, unless one task alone has more

	reclaimStep = 8      // processes that one step of a reclaim puts back: see docs/decisions/0012
	mostLanes   = 10_000 // queues that a client remembers to have enqueued to
)

// Config of a Mesh. The zero value works.
type Config struct {
	// Namespace keeps meshes apart that share a Redis: 1 to 64 of A-Z a-z 0-9 . _ -. Default
	// "worqr".
	Namespace string
	// Subscribe dials the connection for notifications, each call a new one, to the server where
	// the commands go. Default: as the pool dials.
	Subscribe func(ctx context.Context) (redis.Conn, error)
	// MaxTask is the most bytes that a task may have. Default 16 MiB.
	MaxTask int
	// WaitForRedis makes Open and Start wait for a Redis that does not answer, or refuses whoever
	// writes, as a replica and a server that loads do, until their context ends. By default they
	// fail at once. A running worker survives outages either way.
	WaitForRedis bool
	// AllowEviction accepts a Redis with a memory limit that evicts keys, and with it the loss of
	// tasks and heartbeats.
	AllowEviction bool
	// Logger gets what nobody can return to. The zero value is silent.
	Logger zerolog.Logger
}

// Mesh is a client of all the queues under one namespace. Its methods may be called from any
// goroutine.
type Mesh struct {
	cfg      Config
	keys     wire.Keyspace
	wire     *wire.Mesh
	cmd      commander // what wire sends by
	at       *whereabouts
	listener *subscribe.Listener

	ctx    context.Context // ends at Close
	cancel context.CancelFunc
	tasks  sync.WaitGroup // the goroutines of the listener

	mu        sync.Mutex
	lanes     map[string]*lane // by queue
	workers   map[*Worker]bool
	listening bool
	closed    bool
	shut      chan struct{} // closed when Close is through
}

// Open dials the Redis of a URL (redis://, rediss:// or unix://, with user, password and database)
// and runs Check.
// Errors: ErrConfig for a URL or configuration that is refused; what the connection answered; see
// Check.
func Open(ctx context.Context, url string, cfg Config) (*Mesh, error) {
	dial, db, err := dialer(url)
	if err != nil {
		return nil, failed(err, "open")
	}
	m, err := newMesh(dial, cfg)
	if err != nil {
		return nil, failed(err, "open")
	}
	m.wire.Use(db)
	if err := m.patiently(ctx, m.Check); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// New makes a Mesh whose connections are dialled as those of a pool: it takes none out of the pool,
// which stays the caller's. With a nil pool it dials as cfg.Subscribe does. All callers share two
// connections; each worker has one more for its beats, and one receives the notifications. New does
// no I/O and starts nothing; call Check to have faults of the server found early.
//
// A connection that is dialled must be a redis.ConnWithContext and a redis.ConnWithTimeout, as all
// of redigo's are: else each command, Check and Start too, fails with ErrConfig. When the server
// refuses whoever writes, as a primary does that has become a replica, all connections for commands
// are dialled anew; when these lead to another server, the others follow.
// Errors: ErrConfig.
func New(pool *redis.Pool, cfg Config) (*Mesh, error) {
	var dial func(context.Context) (redis.Conn, error)
	switch {
	case pool != nil && pool.DialContext == nil && pool.Dial == nil:
		return nil, failed(fmt.Errorf("%w: pool: it has neither Dial nor DialContext; give one that has, or nil and Subscribe", ErrConfig), "new")
	case pool != nil && pool.DialContext != nil:
		dial = pool.DialContext
	case pool != nil && pool.Dial != nil:
		dial = bounded(pool.Dial)
	case cfg.Subscribe != nil:
		dial = cfg.Subscribe
	default:
		return nil, failed(fmt.Errorf("%w: pool: it is nil, and so is Subscribe: give a pool with Dial, or Subscribe", ErrConfig), "new")
	}
	m, err := newMesh(dial, cfg)
	if err != nil {
		return nil, failed(err, "new")
	}
	return m, nil
}

func newMesh(dial func(context.Context) (redis.Conn, error), cfg Config) (*Mesh, error) {
	if cfg.Namespace == "" {
		cfg.Namespace = "worqr"
	}
	if cfg.MaxTask < 0 {
		return nil, fmt.Errorf("%w: MaxTask: %d is below 0", ErrConfig, cfg.MaxTask)
	}
	if cfg.MaxTask == 0 {
		cfg.MaxTask = 16 << 20
	}
	if cfg.Subscribe == nil {
		cfg.Subscribe = dial
	}
	keys, err := wire.NewKeyspace(cfg.Namespace)
	if err != nil {
		return nil, err
	}
	m := &Mesh{
		cfg: cfg, keys: keys, at: &whereabouts{ask: dial},
		lanes: map[string]*lane{}, workers: map[*Worker]bool{}, shut: make(chan struct{}),
	}
	m.cmd.pipe = pipeline.New(pipeline.Config{Dial: m.at.dial, Timeout: ioTimeout, Wrong: func(err error) bool {
		if !wire.Misled(err) {
			return false
		}
		m.at.wrong(m.at.turn.Load(), err)
		return true
	}})
	m.at.turned = m.cmd.pipe.Renew
	m.ctx, m.cancel = context.WithCancel(context.Background())
	m.cmd.open = m.ctx
	m.wire = wire.New(keys, m.cmd)
	m.listener, err = subscribe.New(subscribe.Config{
		Dial: m.at.follow(cfg.Subscribe, func() { m.listener.Renew() }).dial, Namespace: cfg.Namespace, Database: m.wire.Database, Logger: cfg.Logger,
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return m, nil
}

// Close ends the mesh's workers as Worker.Fail does, its listener, and the connections that it
// made. Calling it again waits for the same end. It waits for hooks and callbacks, but not for
// ever: from within one it returns an error, 5 s after the Grace of the workers; call it on another
// goroutine.
func (m *Mesh) Close() error {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		<-m.shut
		return nil
	}
	m.closed = true
	defer close(m.shut)
	workers := m.workers
	m.workers = map[*Worker]bool{}
	m.mu.Unlock()
	var failing sync.WaitGroup
	errs := make([]error, len(workers), len(workers)+1)
	for i, w := range slices.Collect(maps.Keys(workers)) {
		failing.Go(func() {
			ctx, cancel := context.WithTimeout(m.ctx, w.cfg.Grace+ioTimeout)
			defer cancel()
			errs[i] = w.Fail(ctx)
		})
	}
	failing.Wait()
	m.cancel()
	listening := make(chan struct{})
	go func() { // ends with the last callback: a goroutine cannot be ended from outside
		m.tasks.Wait()
		close(listening)
	}()
	patience, cancel := fresh(ioTimeout)
	defer cancel()
	select {
	case <-listening:
	case <-patience.Done():
		errs = append(errs, failed(errors.New("a callback has not returned; call Close on another goroutine"), "close"))
	}
	m.cmd.pipe.Close()
	return errors.Join(errs...)
}

// Listener returns what receives the mesh's events, and starts it. It ends with the mesh.
func (m *Mesh) Listener() events.Listener { return m.listen() }

// listen starts the listener, unless it runs already, and returns it.
func (m *Mesh) listen() *subscribe.Listener {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.listening && !m.closed {
		m.listening = true
		m.tasks.Go(func() {
			if err := m.listener.Run(m.ctx); err != nil {
				m.cfg.Logger.Error().Err(err).Msg("worqr: the listener ended")
			}
		})
		m.tasks.Go(m.stay)
	}
	return m.listener
}

// usable refuses a queue's name, or a mesh that was closed.
func (m *Mesh) usable(queue string) error {
	if m.ctx.Err() != nil {
		return ErrClosed
	}
	return wire.CheckQueue(queue)
}
