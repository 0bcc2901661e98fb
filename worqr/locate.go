package worqr

import (
	"context"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/wire"
)

// Location is where a persistent task is.
type Location struct {
	// State is "held"; "ending": cancelled, and its holder has not let go of it; "waiting";
	// "delayed": its handler returned; or "suspect": three workers died soon after they had begun
	// to hold it.
	State   string
	Worker  string // who holds it
	Process string
	Token   int64
	Since   time.Time // when the hold began, by the server's clock
	Due     time.Time // when a delayed or suspect one is tried again, by the server's clock
	Deaths  int       // how many workers in a row died soon after they had begun to hold it
}

// Locate tells where a persistent task is.
// Errors: ErrGone when the queue has no such task. ErrInvalid, ErrClosed, or what the connection
// answered.
func (m *Mesh) Locate(ctx context.Context, queue string, task []byte) (Location, error) {
	err := m.usable(queue)
	var location Location
	if err == nil {
		location, err = m.locate(ctx, queue, task)
	}
	if err != nil {
		return Location{}, failed(err, "locate a task of queue %q", wire.Clip(queue))
	}
	return location, nil
}

func (m *Mesh) locate(ctx context.Context, queue string, task []byte) (Location, error) {
	if task == nil {
		task = []byte{}
	}
	answer, err := redis.Values(m.queue(ctx, locateScript, queue, task))
	if err != nil {
		return Location{}, err
	}
	if len(answer) == 0 {
		return Location{}, ErrGone
	}
	var l Location
	var due int64
	if _, err := redis.Scan(answer, &l.State, &l.Process, &l.Token, &due, &l.Deaths); err != nil {
		return Location{}, err
	}
	if i := strings.LastIndexByte(l.Process, '.'); i >= 0 {
		l.Worker = wire.WorkerOf(l.Process[:i])
		l.Since = time.UnixMicro(l.Token) // a token is no lower than the clock at which it was drawn
	}
	const never = 9e15 // see hold.lua
	if due > 0 && due < never {
		l.Due = time.UnixMicro(due)
	}
	return l, nil
}
