package worqr

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/worqr/worqr-go/internal/pipeline"
	"github.com/worqr/worqr-go/internal/wire"
)

// attempts and pauses of a command that was not answered. All but the last attempt wait for a
// quarter of the time that an answer may take: the connection may be mute, and the next attempt
// goes over another.
var pauses = []time.Duration{0, 20 * time.Millisecond, 100 * time.Millisecond}

// commander sends commands over connections that all callers share. Nothing else in this package
// does, but a line, and serverOf. It is a wire.Sender.
type commander struct {
	pipe *pipeline.Pipe
	open context.Context // ends with the mesh
}

// Eval runs a script, and runs it again when no answer came: a copy has no further effect. A script
// that may run only once is not sent twice; its error is ErrUnknown then. repeated reports that a
// copy before the one that was answered may have run.
func (c commander) Eval(ctx context.Context, s *wire.Script, words []any) (reply any, repeated bool, err error) {
	if c.open.Err() != nil {
		return nil, false, ErrClosed
	}
	return c.try(ctx, s.Once, func(last bool) (any, bool, error) {
		return s.Run(func(name string, words []any) (any, bool, error) { return c.do(ctx, last, name, words) }, words)
	})
}

// Read sends one command that changes nothing.
func (c commander) Read(ctx context.Context, command string, args ...any) (any, error) {
	if c.open.Err() != nil {
		return nil, ErrClosed
	}
	reply, _, err := c.try(ctx, false, func(last bool) (any, bool, error) { return c.do(ctx, last, command, args) })
	return reply, err
}

// post sends a command that is made when the writer comes to it.
func (c commander) post(r pipeline.Request) { c.pipe.Send(r) }

func (c commander) do(ctx context.Context, patient bool, name string, words []any) (any, bool, error) {
	if patient {
		return c.pipe.Do(ctx, name, words...)
	}
	return c.pipe.Try(ctx, name, words...)
}

// try sends until there is an answer. send reports with an error whether the server may have run
// the command.
func (c commander) try(ctx context.Context, once bool, send func(last bool) (any, bool, error)) (reply any, unknown bool, err error) {
	var last error
	for i, pause := range pauses {
		if err := sleep(ctx, jitter(pause)); err != nil { // what failed together need not meet again
			break
		}
		reply, sent, err := send(i == len(pauses)-1)
		if err == nil {
			return reply, unknown, nil
		}
		err, refused := wire.Classify(err)
		switch {
		case refused:
			if !wire.Passes(err) && unknown {
				return nil, true, fmt.Errorf("%w: %w", ErrUnknown, err) // the copy before it may have run
			} else if !wire.Passes(err) {
				return nil, false, err
			}
		case sent:
			unknown = true
		case errors.Is(err, pipeline.ErrClosed):
			err = ErrClosed
		}
		last = err
		if ctx.Err() != nil || unknown && once {
			break
		}
	}
	if last == nil {
		last = context.Cause(ctx)
	}
	if unknown {
		return nil, true, fmt.Errorf("%w: %w", ErrUnknown, last)
	}
	return nil, false, last
}
