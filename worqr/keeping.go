package worqr

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/worqr/worqr-go/internal/wire"
)

// keeping is a station's way with persistent tasks, over all its incarnations.
type keeping struct {
	wire wire.Hold
	cfg  Hold

	mu      sync.Mutex
	running map[string]chan struct{} // by fingerprint: a handler of this daemon runs, also one that should have ended
	next    time.Time                // when the next handler may be started: see Hold.StartRate
}

func newKeeping(calls wire.Hold, cfg Hold) *keeping {
	return &keeping{wire: calls, cfg: cfg, running: map[string]chan struct{}{}}
}

// windDown is how long a hold waits for the handler of an earlier one of the same task.
const windDown = time.Second

// errTwice: the handler of an earlier hold of the same task has not returned.
var errTwice = errors.New("the handler of an earlier hold of this task has not returned yet")

// run calls the handler of one hold when its turn has come, unless the hold has ended before. A
// task is never started while a handler of this daemon still runs it, as after a lapse that the
// handler did not heed.
func (k *keeping) run(ctx context.Context, p *Process, h Handler) error {
	if err := k.admit(ctx, p); err != nil || p.ended() != nil {
		return err
	}
	fp := wire.Fingerprint(p.task)
	if !k.begin(ctx, fp) {
		return failed(errTwice, "hold process %s of queue %q", p.ID(), p.Queue())
	}
	defer k.end(fp)
	if ctx.Err() != nil { // reads the clocks
		return nil
	}
	return h.Handle(ctx, p)
}

// begin waits for the end of an earlier handler of the same task, which may be on its way out, but
// not for ever.
func (k *keeping) begin(ctx context.Context, fp string) bool {
	patience, cancel := context.WithTimeout(ctx, windDown)
	defer cancel()
	for {
		k.mu.Lock()
		earlier := k.running[fp]
		if earlier == nil {
			k.running[fp] = make(chan struct{})
		}
		k.mu.Unlock()
		if earlier == nil {
			return true
		}
		select {
		case <-earlier:
		case <-patience.Done():
			return false
		}
	}
}

func (k *keeping) end(fp string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	close(k.running[fp])
	delete(k.running, fp)
}

// letGo settles a hold as its handler's return and the cause of its end say.
func (m *membership) letGo(p *Process, cause, err error) {
	switch {
	case p.asked() != "": // by Finish or Stop
	case lost(cause):
	case errors.Is(err, ErrDone):
		p.ask(finish)
	case errors.Is(cause, ErrCanceled):
		p.ask(cancel)
	case errors.Is(cause, ErrStopping):
		p.ask(drained)
	case errors.Is(cause, ErrHandover):
		p.ask(rebalance)
	default:
		p.ask(later)
	}
	if err != nil && cause == nil && !errors.Is(err, ErrDone) {
		m.life.w.hooks.error(failed(err, "hold process %s of queue %q", p.ID(), p.Queue()))
	}
	signal(m.outbox.filled)
	m.over()
}

// undone is the outcome of what was taken and not worked on.
func (m *membership) undone() outcome {
	if m.station.hold != nil {
		return undo
	}
	return front
}

// weight is the part of a persistent queue that falls to this membership when it is opened.
func (m *membership) weight() int {
	if m.station.isDrained() {
		return 0
	}
	return m.life.w.cfg.Capacity
}
