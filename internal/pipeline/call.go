package pipeline

import (
	"context"
	"sync/atomic"
)

// call is a request with one caller, who waits for it.
type call struct {
	name  string
	args  []any
	state atomic.Int32
	done  chan struct{} // one token: the reply came
	late  chan struct{} // one token: the reply is late

	reply any
	sent  bool
	err   error
}

// The states of a call.
const (
	waiting int32 = iota
	written
	withdrawn
)

func newCall() any { return &call{done: make(chan struct{}, 1), late: make(chan struct{}, 1)} }

// Do sends a command and waits for its reply, or until ctx ends. The end of ctx frees the caller
// and leaves the connection to the others. With an error, sent reports whether the server may have
// run the command. A refusal by the server is a redis.Error.
//
// After an error of ctx, args may still be read for as long as a write takes.
func (p *Pipe) Do(ctx context.Context, name string, args ...any) (reply any, sent bool, err error) {
	return p.call(ctx, true, name, args)
}

// Try is like Do, but once the command is written it waits for a reply no longer than
// Config.Patience. After that it returns ErrLate, and the next request goes over another
// connection. It is for a command that may be sent twice. args may then still be read, as after an
// error of ctx.
func (p *Pipe) Try(ctx context.Context, name string, args ...any) (reply any, sent bool, err error) {
	return p.call(ctx, false, name, args)
}

func (p *Pipe) call(ctx context.Context, patient bool, name string, args []any) (reply any, sent bool, err error) {
	if ctx.Err() != nil {
		return nil, false, context.Cause(ctx)
	}
	c := p.calls.Get().(*call)
	c.name, c.args = name, args
	p.Send(c)
	late := c.late
	if patient {
		late = nil
	}
	select {
	case <-c.done:
		reply, sent, err = c.reply, c.sent, c.err
		select {
		case <-c.late:
		default:
		}
		c.name, c.args, c.reply, c.err = "", nil, nil, nil
		c.state.Store(waiting)
		p.calls.Put(c) // nobody else has it any more
		return reply, sent, err
	case <-late:
		return nil, true, ErrLate
	case <-ctx.Done():
		sent = !c.state.CompareAndSwap(waiting, withdrawn)
		return nil, sent, context.Cause(ctx)
	}
}

func (c *call) Command() (string, []any, int) {
	if !c.state.CompareAndSwap(waiting, written) {
		return "", nil, 0
	}
	return c.name, c.args, 1
}

func (c *call) Answered(reply any, sent bool, err error) {
	c.reply, c.sent, c.err = reply, sent, err
	c.done <- struct{}{}
}

// Late is called when the reply has not come for some time. It is not called after Answered.
func (c *call) Late() { c.late <- struct{}{} }
