package wire

import "errors"

// What a script refuses with. Package worqr makes the first six its own.
var (
	ErrFenced     = errors.New("worqr: fenced out of the queue")
	ErrInvalid    = errors.New("worqr: invalid argument")
	ErrConfig     = errors.New("worqr: configuration")
	ErrRedisFull  = errors.New("worqr: redis is full: raise maxmemory or drain the queues")
	ErrWrongType  = errors.New("worqr: a key of the mesh holds a foreign value")
	ErrSuperseded = errors.New("worqr: superseded by a later call")

	ErrPersistent = errors.New("the queue is one of persistent tasks")
	ErrPlain      = errors.New("the queue is not one of persistent tasks")
	ErrLost       = errors.New("the heartbeat is gone")
	ErrStale      = errors.New("a membership was closed meanwhile")
	ErrAlive      = errors.New("the worker has a heartbeat")
)

// words are the first words of refusals that have an error of their own.
var words = map[string]error{
	"FENCED":     ErrFenced,
	"LOST":       ErrLost,
	"ALIVE":      ErrAlive,
	"STALE":      ErrStale,
	"INVALID":    ErrInvalid,
	"FULL":       ErrRedisFull,
	"OOM":        ErrRedisFull,
	"CONFIG":     ErrConfig,
	"WRONGTYPE":  ErrWrongType,
	"PERSISTENT": ErrPersistent,
	"PLAIN":      ErrPlain,
	"SUPERSEDED": ErrSuperseded,
}
