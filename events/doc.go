// Package events tells what happens in a mesh: work arrived, a task was
// cancelled or done, a worker joined or lapsed.
//
// A [Listener] has one Redis connection of its own, which does nothing but
// subscribe. Nothing in this package publishes: an event is published by the
// script that made it true.
//
//	l, err := events.New(events.Config{Namespace: "worqr", Dial: dial})
//	if err != nil { ... }
//	stop := l.On("orders", func(e events.Event) {
//		log.Printf("%s done by %s", e.Task, e.Worker)
//	}, events.Done)
//	defer stop()
//	return l.Run(ctx)
//
// # An event is a hint, never the truth
//
// Redis keeps no published message. Whatever is published while the connection
// is down is gone, and so is what overflows a callback's buffer. So the truth
// is read elsewhere, and it is read again whenever [Listener.OnReady] calls:
// after every (re)connect, and after every later On, OnMesh, OnHint or OnWake.
// From that call on every event of every wanted channel is seen, until the
// connection breaks; what was true before it has to be looked up.
//
// An event carries no more than the first 4096 bytes of a task; [Event.Size]
// says how many the task has. Redis gives up on a subscriber for whom too much
// waits, which whole tasks of megabytes soon do.
//
// # Two ways to be told
//
// On and OnMesh give each registration a buffer and a goroutine of its own.
// The callback may block, may be slow, may use Redis.
//
// OnHint, OnWake and OnReady are called by the goroutine that reads the
// connection. They are never dropped and cost no hand-over, but while one runs
// nothing is read: it must only set a flag or fill a channel that has room. It
// may not wait for anything, not even for another event.
//
// # Order
//
// The events of one registration come in the order in which Redis published
// them, over all its kinds, one at a time. Between two registrations there is
// no order. An OnReady call comes after all that was read before it and before
// anything that is read later (for hints; a buffered callback may lag behind).
//
// # Back-pressure, and who is at fault
//
// There is none towards Redis: a callback that is slower than its events fills
// its buffer (Config.Buffer events, of whatever size their tasks are), and then
// the newest event is dropped for that callback alone. [Listener.Dropped]
// counts it, and a log line names the queue, the kind and how long the call in
// progress has been running. If one callback is late, that callback is at
// fault. If all are late, a hint blocks the reader, or the Logger does.
//
// # Who owns which goroutine
//
// New starts nothing. Run owns all of them: the reader and the writer of each
// connection, and one for each callback that has events waiting (it ends when
// they are delivered). Run returns when all of them have returned, so a
// callback that never returns keeps Run from returning. When its context ends,
// the events that still wait are discarded: no new callback begins.
//
// A callback may register, stop, and ask anything of the Listener; it must not
// wait for Run to return. A panic in a callback is logged with its stack and
// the next event is delivered.
package events
