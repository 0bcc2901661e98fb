// Package events has the events of a mesh: work arrived, a task was canceled or finished, a worker
// joined, left or lapsed.
//
// Mesh.Listener of package worqr returns the [Listener] of a mesh. Callbacks are registered there:
//
//	stop := mesh.Listener().On("orders", func(e events.Event) {
//		log.Printf("%s finished by %s", e.Task, e.Worker)
//	}, events.Done)
//	defer stop()
//
// All callbacks of a mesh share one Redis connection, which does nothing but subscribe. There is
// one as long as anything is registered, by a caller or by a worker of the mesh.
//
// # An event is a hint, never the truth
//
// Redis keeps no published message. What is published while the connection is down is gone, and so
// is what overflows the buffer of a callback. A Cancel may come twice. So an event is a reason to
// look, and what must not be missed is read from the mesh: once after [Listener.OnReady] has
// called, and again each time that it calls. That is after every new connection, and after every
// later registration. From that call on all events are received until the connection breaks.
//
// An event carries no more than the first 4096 bytes of a task. [Event.Size] is the size of the
// whole task. Redis ends the connection of a subscriber for whom too much waits, and whole tasks of
// megabytes would soon be too much.
//
// # Order
//
// The events of one registration come one at a time, in the order in which Redis published them,
// over all its kinds. Between two registrations there is no order. A call of OnReady comes between
// what was received before it and what is received later, but a callback of On or OnMesh may still
// be behind.
//
// # A callback that is too slow
//
// Each callback of On and OnMesh has a goroutine and a buffer of 1024 events of its own. It may
// block, may be slow, and may use the mesh. When its buffer is full, the newest event is dropped,
// for that callback alone. [Listener.Dropped] counts it, and a line in the log of the mesh names
// the queue, the kind, and how long the call in progress has been running. If one callback is late,
// that callback is at fault. If all are late, a function of OnReady blocks, or the Logger of the
// mesh.
//
// # Goroutines
//
// The connection is used from the first Mesh.Listener or Worker.Start on, until Mesh.Close. Then
// the events that still wait are discarded and no new call begins. Close waits for the calls in
// progress, for 5 s at the most, so a callback should not call it.
//
// A callback may register, stop, and call any method of the Listener. A panic in it is logged with
// its stack, and the next event is delivered.
package events
