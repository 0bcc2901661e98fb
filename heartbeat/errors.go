package heartbeat

import "errors"

var (
	// ErrLost ends a lease that is gone for ever. A Beat returns it, as it is or wrapped, when the
	// server does not know the lease any more. Keep then returns that error, and it is the cause of
	// the lease's context.
	ErrLost = errors.New("heartbeat: lease lost")

	// ErrExpired ends a lease that was not renewed before its deadline. Keep returns it, and it is
	// the cause of the lease's context. The server may still list the lease. That changes nothing:
	// a deadline that has passed is final.
	ErrExpired = errors.New("heartbeat: lease expired")

	// ErrConfig is returned by Config.WithDefaults and New for a configuration that cannot be kept
	// safely. The text names the field, its value and the value that it has to fit.
	ErrConfig = errors.New("heartbeat: invalid configuration")
)

// Mistakes of the caller. No program can handle them except by a change of its code, so they are
// not exported.
var (
	errKept = errors.New("heartbeat: Keep: a lease is kept once, this one was kept before")
	errSent = errors.New("heartbeat: Keep: the join must be sent after New and before Keep")
)
