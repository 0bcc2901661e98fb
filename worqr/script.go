package worqr

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/pipeline"
	"github.com/worqr/worqr-go/internal/wire"
)

type script = wire.Script

var (
	joinScript       = wire.Named("join")
	beatScript       = wire.Named("beat")
	serveScript      = wire.Named("serve")
	unserveScript    = wire.Named("unserve")
	noteScript       = wire.Named("note")
	forgetScript     = wire.Named("forget")
	leaveScript      = wire.Named("leave")
	failScript       = wire.Named("fail")
	sweepScript      = wire.Named("sweep")
	rosterScript     = wire.Named("roster")
	servedScript     = wire.Named("served")
	checkScript      = wire.Named("check")
	appearScript     = wire.Named("appear")
	watchScript      = wire.Named("watch")
	openScript       = wire.Named("open")
	enqueueScript    = wire.Named("enqueue")
	takeScript       = wire.Named("take")
	settleScript     = wire.Named("settle")
	reclaimScript    = wire.Named("reclaim")
	lookScript       = wire.Named("look")
	wakeScript       = wire.Named("wake")
	newestScript     = wire.Named("newest")
	cancelScript     = wire.Named("cancel")
	tellScript       = wire.Named("tell")
	deleteScript     = wire.Named("delete")
	auditScript      = wire.Named("audit")
	heldScript       = wire.Named("held")
	trimScript       = wire.Named("trim")
	rescueScript     = wire.Named("rescue")
	allowScript      = wire.Named("allow")
	addScript        = wire.Named("add")
	holdTakeScript   = wire.Named("hold_take")
	holdSettleScript = wire.Named("hold_settle")
	holdLookScript   = wire.Named("hold_look")
	grantScript      = wire.Named("grant")
	weighScript      = wire.Named("weigh")
	generationScript = wire.Named("generation")
	presentScript    = wire.Named("present")
	dropScript       = wire.Named("drop")
	locateScript     = wire.Named("locate")
	offerScript      = wire.Named("offer")
	readyScript      = wire.Named("ready")
	admitScript      = wire.Named("admit")
	checkpointScript = wire.Named("checkpoint")
)

// attempts and pauses of a command that was not answered. All but the last attempt wait for a
// quarter of the time that an answer may take: the connection may be mute, and the next attempt
// goes over another.
var pauses = []time.Duration{0, 20 * time.Millisecond, 100 * time.Millisecond}

// commander sends commands over connections that all callers share. Nothing else in this package
// does, but a line, and serverOf.
type commander struct{ pipe *pipeline.Pipe }

// eval runs a script, and runs it again when no answer came: a copy has no further effect. A script
// that may run only once is not sent twice; its error is ErrUnknown then. repeated tells that a
// copy before the one that was answered may have run.
func (c commander) eval(ctx context.Context, s *script, words []any) (reply any, repeated bool, err error) {
	return c.try(ctx, s.Once, func(last bool) (any, bool, error) {
		return s.Run(func(name string, words []any) (any, bool, error) { return c.do(ctx, last, name, words) }, words)
	})
}

// read sends one command that changes nothing.
func (c commander) read(ctx context.Context, command string, args ...any) (any, error) {
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

// try sends until there is an answer. send tells with an error whether the server may have run the
// command.
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

// line is a connection of its own, for what must not wait behind other commands.
type line struct {
	at     *whereabouts
	closed atomic.Bool
	mu     sync.Mutex // held while a command is under way
	conn   redis.Conn
	turn   uint64 // when conn was dialled
}

// eval sends once. After an error of the connection, and after a turn, the next call dials anew.
func (l *line) eval(ctx context.Context, s *script, words []any) (any, error) {
	l.mu.Lock()
	defer l.tidy()
	defer l.mu.Unlock()
	if l.turn != l.at.turn.Load() {
		l.drop()
	}
	if l.conn == nil {
		turn := l.at.turn.Load()
		conn, err := l.at.dial(ctx)
		if err != nil {
			return nil, err
		}
		l.conn, l.turn = conn, turn
	}
	reply, _, err := s.Run(func(name string, words []any) (any, bool, error) {
		reply, err := redis.DoContext(l.conn, ctx, name, words...)
		return reply, true, err
	}, words)
	why, refused := wire.Classify(err)
	switch {
	case wire.Misled(err):
		l.drop()
		l.at.wrong(l.turn, err)
	case err != nil && !refused:
		l.drop()
	}
	return reply, why
}

// close gives the connection up: now, or when the command that is under way has ended.
func (l *line) close() {
	l.closed.Store(true)
	l.tidy()
}

// tidy drops the connection of a line that was closed, unless a command is under way: that one
// comes here too.
func (l *line) tidy() {
	if l.closed.Load() && l.mu.TryLock() {
		l.drop()
		l.mu.Unlock()
	}
}

// drop: the caller has mu.
func (l *line) drop() {
	if l.conn != nil {
		_ = l.conn.Close() // it is given up
		l.conn = nil
	}
}

// serverOf asks to which run of which server a connection leads; "": it does not say.
func serverOf(ctx context.Context, conn redis.Conn) (string, error) {
	info, err := redis.String(redis.DoContext(conn, ctx, "INFO", "server"))
	var refusal redis.Error
	if err != nil && !errors.As(err, &refusal) {
		return "", err
	}
	return infoField(info, "run_id"), nil
}
