package heartbeat

import "errors"

var (
	// ErrLost ends a lease that is gone for ever. A Beat reports it (wrapped or as it is) when the
	// server answered that it does not know the lease any more; Keep returns that error, and it is
	// the cause of the lease's context.
	ErrLost = errors.New("heartbeat: lease lost")

	// ErrExpired ends a lease that was not renewed before its deadline. Keep returns it, and it is
	// the cause of the lease's context. The server may still list the lease: that changes nothing,
	// a deadline that has passed is final.
	ErrExpired = errors.New("heartbeat: lease expired")

	// ErrConfig comes back from Config.WithDefaults and New for a configuration that cannot be kept
	// safely. The text names the field, its value and the value that it has to fit.
	ErrConfig = errors.New("heartbeat: invalid configuration")
)

// Mistakes of the caller, which no caller can handle but by mending its code: no names for them
// outside.
var (
	errKept = errors.New("heartbeat: Keep: a lease is kept once, this one was kept before")
	errSent = errors.New("heartbeat: Keep: the join must be sent after New and before Keep")
)
