package worqr

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/wire"
)

// line is a connection of its own, for what must not wait behind other commands.
type line struct {
	at     *whereabouts
	closed atomic.Bool
	mu     sync.Mutex // held while a command is under way
	conn   redis.Conn
	turn   uint64 // when conn was dialled
}

// Eval sends once. After an error of the connection, and after a turn, the next call dials anew.
func (l *line) Eval(ctx context.Context, s *wire.Script, words []any) (reply any, repeated bool, err error) {
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
			return nil, false, err
		}
		l.conn, l.turn = conn, turn
	}
	reply, _, err = s.Run(func(name string, words []any) (any, bool, error) {
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
	return reply, false, why
}

// close drops the connection: now, or when the command that is under way has ended.
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
	reply, err := redis.DoContext(conn, ctx, "INFO", "server")
	if err, refused := wire.Classify(err); refused {
		return "", nil
	} else if err != nil {
		return "", err
	}
	return wire.RunID(reply), nil
}
