package worqr

import (
	"context"
	"time"

	"github.com/worqr/worqr-go/internal/wire"
)

// Location is where a persistent task is.
type Location struct {
	State   State
	Worker  string // the id of its holder, "" when nobody holds it
	Process string // the id of the hold
	Token   int64
	Since   time.Time // when the hold began, by the server's clock
	Due     time.Time // when a delayed or suspect one is tried again, by the server's clock
	Deaths  int       // how many workers in a row died soon after they had begun to hold it
}

// State is the state of a persistent task.
type State string

// The states.
const (
	StateWaiting State = "waiting" // for a worker with room
	StateHeld    State = "held"
	StateEnding  State = "ending"  // canceled, and its holder has not let go of it
	StateDelayed State = "delayed" // its handler returned, and it is tried again when it is due
	StateSuspect State = "suspect" // three workers in a row died soon after they had begun to hold it
)

// Locate returns where a persistent task is.
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
	found, err := m.wire.Hold(queue).Locate(ctx, task)
	if err == nil && found.State == "" {
		err = ErrGone
	}
	if err != nil {
		return Location{}, err
	}
	l := Location{State: State(found.State), Process: found.Process, Token: found.Token, Due: found.Due, Deaths: found.Deaths}
	if found.Process != "" {
		l.Worker = wire.WorkerOf(found.Process)
		l.Since = time.UnixMicro(found.Token) // a token is no lower than the clock at which it was drawn
	}
	return l, nil
}
