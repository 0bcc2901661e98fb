package worqr

import (
	"context"
	"time"
)

// held is a process as its context. The context inside, which Done and the children need, is made
// when it is first asked for: a child of the membership's.
type held Process

// Deadline is never set: the lease moves on with each beat.
func (h *held) Deadline() (time.Time, bool) { return time.Time{}, false }

// Done is closed when the process is no longer this worker's to work on.
func (h *held) Done() <-chan struct{} { return (*Process)(h).context().Done() }

// Value finds what context.Cause and the children of this context ask for.
func (h *held) Value(key any) any { return (*Process)(h).context().Value(key) }

// Err ends the incarnation whose time is up.
func (h *held) Err() error {
	p := (*Process)(h)
	if p.ended() == nil && !p.of.life.lease.Valid() {
		p.of.life.lapse(nil)
		p.end(context.Cause(p.of.life.ctx)) // somebody else may be ending all of them, and not have come to this one
	}
	if p.ended() != nil {
		return context.Canceled
	}
	return nil
}

// context returns the context inside.
func (p *Process) context() context.Context {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx == nil {
		parent := p.of.ctx
		if p.cause != nil {
			parent = context.Background() // it had ended before, whatever became of the membership since
		}
		p.ctx, p.cancel = context.WithCancelCause(parent)
		if p.cause != nil {
			p.cancel(p.cause)
		}
	}
	return p.ctx
}

// ended returns why the context has ended, nil while it has not.
func (p *Process) ended() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.ctx != nil:
		return context.Cause(p.ctx)
	case p.cause != nil:
		return p.cause
	}
	return context.Cause(p.of.ctx)
}

// end ends the context, unless it has ended.
func (p *Process) end(cause error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.ctx != nil:
		p.cancel(cause)
	case p.cause == nil && p.of.ctx.Err() == nil:
		p.cause = cause
	case p.cause == nil:
		p.cause = context.Cause(p.of.ctx)
	}
}
