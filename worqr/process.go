package worqr

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/worqr/worqr-go/events"
	"github.com/worqr/worqr-go/internal/wire"
)

// Process is a task in this worker's hands, until it is settled. Its methods may be called from any
// goroutine.
//
// Channels and the context are made when somebody waits for them: most handlers return without
// having asked.
type Process struct {
	of     *membership
	number int64
	token  int64
	task   []byte
	taken  time.Time
	past   Past // of a persistent task
	// the checkpoint, and how many there were before; guarded by the membership's mu
	mark       int64
	checkpoint []byte

	mu      sync.Mutex
	ctx     context.Context // see held; nil: nobody has asked for it
	cancel  context.CancelCauseFunc
	cause   error         // why it has ended, while there is no ctx
	outcome outcome       // the first that was asked for; only that one is ever sent. gone: Redis does not list it
	known   bool          // what became of it: result, or err when there is no answer
	settled chan struct{} // closed when it is known; nil: nobody waits
	refusal chan error    // the server's last refusal, while the outcome is sent again; nil: nobody waits
	result  outcome
	err     error
	claimed bool // Finish has answered true

	unsure bool   // a copy of the outcome may have run; of whoever has taken it out of the outbox
	sum    string // see fingerprint; guarded by the membership's mu
}

// outcome is what a process is settled with, in the words of settle.lua.
type outcome string

const (
	finish outcome = "finish"
	front  outcome = "front"
	back   outcome = "back"

	rebalance outcome = "rebalance" // of a persistent task, as the next four
	drained   outcome = "drain"
	later     outcome = "later"
	undo      outcome = "undo"

	cancel   outcome = "cancel"                 // removed as its task was canceled: nobody is told that it was finished
	returned         = outcome(OutcomeReturned) // put back with all that its membership held; also what became of what was put back

	done     = outcome(OutcomeDone)
	canceled = outcome(OutcomeCanceled)
	gone     = outcome(OutcomeGone)
	dropped  = outcome(OutcomeDropped)
)

// Deadline is until when the worker may trust that the process is its own, on the monotonic clock.
// It moves on with each heartbeat; after the end it is the instant of the end.
func (p *Process) Deadline() time.Time { return p.of.life.lease.Deadline() }

// Valid reports whether the process is this worker's to work on now. It reads the clocks itself:
// ask it before each effect outside. Where takeover is Fast it also asks the kernel whether the
// presence connection stands: false while it does not, true again when it is restored in time.
func (p *Process) Valid() bool {
	return p.Context().Err() == nil && (!p.of.heeds.Load() || p.of.life.line.Up())
}

// ID is unique for ever: no two processes share one, also of equal tasks.
func (p *Process) ID() string { return wire.ProcessID(p.of.id, p.number) }

// Queue is the name of the queue that the task came from.
func (p *Process) Queue() string { return p.of.station.name }

// Token is the fencing token: a later process of any task of this queue has a greater one. Give it
// to whatever lies outside Redis and can refuse a lower one.
func (p *Process) Token() int64 { return p.token }

// Task is what was enqueued. The slice is the caller's.
func (p *Process) Task() []byte { return p.task }

// Context ends when the process is no longer this worker's to work on. context.Cause returns why:
// ErrCanceled, ErrStopping, ErrHandover, ErrLapsed, ErrFenced, ErrGone, or ErrSettled. Its Err
// reads the clock, so it is right also when no timer has had its turn, as after a SIGSTOP: ask it
// before each effect outside.
func (p *Process) Context() context.Context { return (*held)(p) }

// Finish removes the process: its task is done. It returns true to exactly one caller for each
// delivered task, and false when it was settled before, here or by the process's next owner.
//
// Errors, all with false: ErrLapsed, ErrFenced, and ErrStopping when the worker has put it back:
// the process is no longer this worker's, and was not finished by it.
// ErrUnknown: no answer came before ctx ended, or before the worker lapsed; what ended the worker
// is then told in the text alone. ErrWrongType, or what else the server refused it with. After
// these two it is sent again in the background, and a later call of Finish returns what became of
// it.
func (p *Process) Finish(ctx context.Context) (bool, error) {
	_, asked := p.ask(finish)
	if asked != finish && asked != returned {
		return false, nil
	}
	err := p.await(ctx)
	if asked == returned {
		err = ErrStopping
	}
	if err != nil {
		return false, failed(err, "finish process %s of queue %q", p.ID(), p.Queue())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	won := p.result == done && !p.claimed
	p.claimed = p.claimed || won
	return won, nil
}

// Stop puts the task back at the front of the queue, where it is taken next. A canceled one is
// dropped instead.
// Errors: ErrSettled when it was settled before; ErrGone when Redis does not have it in this
// worker's hands; else as Finish.
func (p *Process) Stop(ctx context.Context) error { return p.putBack(ctx, front) }

// StopToBack puts the task at the end of the queue. Errors as Stop.
func (p *Process) StopToBack(ctx context.Context) error { return p.putBack(ctx, back) }

func (p *Process) putBack(ctx context.Context, where outcome) error {
	var err error
	if first, asked := p.ask(where); asked == gone {
		err = ErrGone
	} else if asked == returned {
		err = ErrStopping
	} else if !first {
		err = ErrSettled
	} else if err = p.await(ctx); err == nil && p.result == gone {
		err = ErrGone
	}
	if err != nil {
		return failed(err, "stop process %s of queue %q", p.ID(), p.Queue())
	}
	return nil
}

// ask has the outcome sent, unless one was asked for before. It reports whether this call did, and
// the outcome that counts.
func (p *Process) ask(o outcome) (first bool, asked outcome) {
	if first, asked = p.claim(o); first {
		if err := p.of.outbox.add(p); err != nil {
			p.of.finished("", err, p)
		}
	}
	return first, asked
}

// unknown is why there is no answer: an outcome that may have been sent is not known. Why nothing
// more was heard is told as text only: ErrLapsed, as an error, says that the process was not
// finished.
func (p *Process) unknown(why error) error {
	if p.unsure {
		return fmt.Errorf("%w: %v", ErrUnknown, why)
	}
	return why
}

// claim decides the outcome and sends nothing.
func (p *Process) claim(o outcome) (first bool, asked outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	first = p.outcome == ""
	if first {
		p.outcome = o
	}
	return first, p.outcome
}

// asked returns the outcome that was asked for, or "".
func (p *Process) asked() outcome {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.outcome
}

// await waits until it is known what became of the process. A handler gives the process's own
// context, or a child of it: that this one ends, by the settling itself too, cuts nothing short.
// The settler has an end in every case.
func (p *Process) await(ctx context.Context) error {
	p.mu.Lock()
	if p.known {
		p.mu.Unlock()
		return p.err
	}
	if p.settled == nil {
		p.settled, p.refusal = make(chan struct{}), make(chan error, 1)
	}
	settled, refusal := p.settled, p.refusal
	p.mu.Unlock()
	signal(p.of.outbox.filled) // it goes now, and not with the next take
	select {
	case <-refusal: // of an earlier attempt
	default:
	}
	ended := ctx.Done()
	for {
		select {
		case <-settled:
			return p.err
		case err := <-refusal:
			return err
		case <-ended:
		}
		if cause := p.ended(); cause == nil || context.Cause(ctx) != cause {
			break
		}
		ended = nil
	}
	select {
	case <-settled:
		return p.err
	default:
	}
	cause := context.Cause(ctx)
	if lost(cause) || errors.Is(cause, ErrStopping) { // of another process's context: no fact about this one
		return fmt.Errorf("%w: %v", ErrUnknown, cause)
	}
	return fmt.Errorf("%w: %w", ErrUnknown, cause)
}

// refused informs who waits that the server refuses, for now.
func (p *Process) refused(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case p.refusal <- err:
	default: // the one before was not read, or nobody waits
	}
}

// conclude records what became of the process, and calls the hook.
func (p *Process) conclude(result outcome, err error) {
	p.record(result, err)
	p.of.life.w.hooks.settle(p)
}

// record is called once, by whoever took the process out of the membership's books.
func (p *Process) record(result outcome, err error) {
	p.mu.Lock()
	p.result, p.err, p.known = result, err, true
	if p.settled != nil {
		close(p.settled)
	}
	p.mu.Unlock()
	p.end(ErrSettled)
}

// fingerprint is the name under which a cancel marks this task.
func (p *Process) fingerprint() string {
	if p.sum == "" {
		p.sum = wire.Fingerprint(p.task)
	}
	return p.sum
}

// canceledBy ends the context when a cancel of this task came after the take. The caller has the
// membership's mu.
func (p *Process) canceledBy(e events.Event) {
	if p.token > e.Token || len(p.task) != e.Size || !bytes.HasPrefix(p.task, e.Task) {
		return
	}
	if e.Sum == "" || e.Sum == p.fingerprint() {
		p.end(ErrCanceled)
	}
}
