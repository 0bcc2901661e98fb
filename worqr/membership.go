package worqr

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/worqr/worqr-go/events"
)

// behind is what a take has left in the queue.
type behind struct {
	more bool          // tasks wait
	due  time.Duration // until a delayed one may start; 0: none is known
}

// membership is one opening of a queue by one incarnation of the worker, and the processes that it
// holds there. It ends when it is closed, fenced, or when its life ends; the queue is then opened
// again under a new id.
type membership struct {
	life    *life
	station *station
	id      string      // never used again
	heeds   atomic.Bool // the loss of this worker's presence, as peers may take over then; once the server may know so, for good
	allowed atomic.Bool // the server knows so: takeover is Fast
	ctx     context.Context
	end     context.CancelCauseFunc

	// turn holds one token. Who has it is the only one to take, or to compare what is in hand.
	turn    chan struct{}
	next    int64       // the first number of the next take
	stray   bool        // Redis may list what nobody here knows: a put-back or a take was not answered
	behind  behind      // what the last take left
	pending int         // how many numbers a take asked for that was never answered: it is repeated as it was
	closing atomic.Bool // no further take

	mu      sync.Mutex
	inHand  map[int64]*Process
	keeping chan struct{}      // has room for who may write checkpoints
	offers  map[int64]*offered // are to move, and go on until they have
	dirty   map[int64]*Process // have a checkpoint that was not written
	seen    int64              // newest cancel mark that was applied
	taking  bool               // a take is under way:
	hints   []events.Event     // cancels heard meanwhile, for what it brings

	running atomic.Int64  // handlers that have not returned
	quiet   chan struct{} // a flag: the last of them has

	outbox  *outbox
	text    []byte        // what the settler sent last, to be used again
	along   atomic.Bool   // the next take is about to go, and what handlers have finished goes with it
	poke    chan struct{} // tasks may wait: take
	woken   chan struct{} // a wake-up that was meant for this membership: take, or pass it on
	granted chan struct{} // persistent tasks are to be given up:
	grant   atomic.Pointer[grant]
	unnoted atomic.Bool // a take did not note it as idle, as no wake-up would have arrived

	toldFast uint64 // the last return of the presence connection after which the server was told so; of attending

	unhint       func()
	stopTaking   context.CancelFunc // nil without a handler
	stopSettling context.CancelFunc // the settler ends when its outbox is empty
	takers       sync.WaitGroup     // dispatcher
	settlers     sync.WaitGroup     // settler
	sent         chan struct{}      // closed when the settler has ended
	quitted      bool               // quit was called; guarded by station.opening
}

func newMembership(l *life, st *station, id string) *membership {
	m := &membership{
		life: l, station: st, id: id, next: 1,
		turn: make(chan struct{}, 1), keeping: make(chan struct{}, 1), inHand: map[int64]*Process{}, outbox: newOutbox(),
		quiet: make(chan struct{}, 1), poke: make(chan struct{}, 1), woken: make(chan struct{}, 1), granted: make(chan struct{}, 1), sent: make(chan struct{}),
	}
	m.turn <- struct{}{}
	m.ctx, m.end = context.WithCancelCause(l.ctx)
	return m
}

// have waits for the turn. Nobody gets it who asks when the membership has ended.
func (m *membership) have(ctx context.Context) error {
	if err := context.Cause(m.ctx); err != nil {
		return err
	}
	select {
	case <-m.turn:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-m.ctx.Done():
		return context.Cause(m.ctx)
	}
}

func (m *membership) release() { m.turn <- struct{}{} }

// fenced ends a membership that was taken out of the queue. If that was because time is up, the
// lapse is the cause, also when no timer has said so yet.
func (m *membership) fenced() {
	if !m.life.lease.Valid() {
		m.life.lapse(nil)
	}
	if m.heeds.Load() {
		m.life.recount() // or nobody would notice before the next ping
	}
	m.end(ErrFenced)
	m.life.w.change()
}

// hint is told of a cancel. It runs on the reader of the notifications.
func (m *membership) hint(e events.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.inHand {
		p.canceledBy(e)
	}
	if m.taking {
		m.hints = append(m.hints, e)
	}
}

// processes lists what is in hand, the oldest first.
func (m *membership) processes() []*Process {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := make([]*Process, 0, len(m.inHand))
	for _, p := range m.inHand {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b *Process) int { return int(a.number - b.number) })
	return list
}

func (m *membership) process(number int64) *Process {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.inHand[number]
}

// over counts the end of a handler.
func (m *membership) over() {
	if m.running.Add(-1) == 0 {
		signal(m.quiet)
	}
}

// idle waits until no handler runs, as long as ctx lasts.
func (m *membership) idle(ctx context.Context) bool {
	for m.running.Load() > 0 {
		select {
		case <-m.quiet:
		case <-m.ctx.Done():
			return true // what they do is no longer ours to wait for
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// still is idle for a membership that has ended, and keeps its persistent tasks until their
// handlers have returned.
func (m *membership) still(ctx context.Context) bool {
	for m.running.Load() > 0 {
		select {
		case <-m.quiet:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// ended reports whether nothing can be taken or settled any more.
func (m *membership) ended() bool { return m.ctx.Err() != nil }

// signal raises a flag: a level, not an edge.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
