package worqr

import (
	"errors"
	"fmt"
	"strings"

	"github.com/worqr/worqr-go/internal/wire"
)

// The errors that callers decide by, with errors.Is. Every error of this package names the
// operation and its subject and wraps one of these, or the error of the connection.
var (
	// ErrEmpty: Take found no task.
	ErrEmpty = errors.New("worqr: the queue is empty")
	// ErrNotStarted: the worker was not started, so it can serve no queue.
	ErrNotStarted = errors.New("worqr: the worker is not started: call Start or Run first")
	// ErrStarted: the worker runs already.
	ErrStarted = errors.New("worqr: the worker is started already")
	// ErrNotWorking: the worker does not serve this queue; call StartWork first.
	ErrNotWorking = errors.New("worqr: the worker does not serve the queue: call StartWork first")
	// ErrFenced: this membership was taken out of the queue, by peers who found its worker dead or
	// by hand. Its processes belong to others. The worker opens the queue again by itself.
	ErrFenced = wire.ErrFenced
	// ErrLapsed: the worker could not renew its heartbeat in time, so its processes may belong to
	// others. The daemon joins again as a new worker by itself.
	ErrLapsed = errors.New("worqr: the worker has lapsed")
	// ErrGone: what was named is not there: an unknown worker, or a process that is not in hand any
	// more.
	ErrGone = errors.New("worqr: gone")
	// ErrCanceled is the cause of a process context whose task was canceled.
	ErrCanceled = errors.New("worqr: the task was canceled")
	// ErrStopping is the cause of a process context whose worker stops, or stops serving the queue.
	ErrStopping = errors.New("worqr: the worker is stopping")
	// ErrHandover is the cause of a process context whose task moves to another worker.
	ErrHandover = errors.New("worqr: the task is handed over")
	// ErrDone: a handler that returns it, wrapped or not, has finished its persistent task for
	// good.
	ErrDone = errors.New("worqr: the task is done")
	// ErrSuperseded: a later Reconcile of the same queue has begun, so this one did no more.
	ErrSuperseded = wire.ErrSuperseded
	// ErrSettled: the process was finished or stopped before.
	ErrSettled = errors.New("worqr: the process is settled already")
	// ErrUnknown: the command was sent and no answer came, so it may or may not have taken effect.
	ErrUnknown = errors.New("worqr: outcome unknown: the command was sent and no answer came")
	// ErrInvalid: an argument is refused; nothing was done.
	ErrInvalid = wire.ErrInvalid
	// ErrRedisFull: Redis is out of memory and evicts nothing; nothing was stored.
	ErrRedisFull = wire.ErrRedisFull
	// ErrWrongType: one of the mesh's keys holds a value of another type, written by something
	// else; nothing was done.
	ErrWrongType = wire.ErrWrongType
	// ErrClosed: the mesh or the worker was closed.
	ErrClosed = errors.New("worqr: closed")
	// ErrConfig: the configuration is refused, or contradicts the mesh or the server.
	ErrConfig = wire.ErrConfig

	errHeld = fmt.Errorf("%w: handlers of persistent tasks have not returned, and keep these tasks", ErrStopping)

	errOvertaken = fmt.Errorf("%w: a StopWork of the queue came meanwhile", ErrStopping)
)

// failed names which operation on what has failed. Sentinels lose their prefix inside, so it stands
// once.
func failed(err error, format string, args ...any) error {
	return &opError{fmt.Sprintf(format, args...), err}
}

type opError struct {
	what string
	err  error
}

func (e *opError) Error() string {
	return "worqr: " + e.what + ": " + strings.ReplaceAll(e.err.Error(), "worqr: ", "")
}

func (e *opError) Unwrap() error { return e.err }

// BatchError reports how far an Enqueue of more than one chunk came: the first Accepted tasks are
// stored. Of the rest nothing is, unless Err is ErrUnknown: then one chunk of up to 500 may be.
type BatchError struct {
	Accepted int
	Err      error
}

func (e *BatchError) Error() string {
	return fmt.Sprintf("%v (%d tasks were accepted before)", e.Err, e.Accepted)
}

// Unwrap returns what stopped the batch.
func (e *BatchError) Unwrap() error { return e.Err }
