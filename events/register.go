package events

import (
	"fmt"
	"slices"
)

// On calls fn with the queue's events of these kinds (Work, Cancel, Delete,
// Done; none named means all four), in order and one at a time, on a goroutine
// of its own. fn may block: Config.Buffer events wait for it, then the newest is
// dropped.
//
// After stop has returned no call begins, except one that had been taken out of
// the buffer already; stop does not wait for a call in progress, discards what
// waits, and may be called twice and from within fn.
//
// On and stop are safe at any time and from any goroutine, before, during and
// after Run. A Kind that is no queue's is a mistake in the program: On panics.
func (l *Listener) On(queue string, fn func(Event), kinds ...Kind) (stop func()) {
	return l.Register(queue, fn, kinds...).Stop
}

// OnMesh calls fn with what becomes of the mesh's workers (Joined, Left, Lapsed,
// Reclaimed; none named means all four). For the rest it is as On.
func (l *Listener) OnMesh(fn func(Event), kinds ...Kind) (stop func()) {
	if len(kinds) == 0 {
		kinds = []Kind{Joined, Left, Lapsed, Reclaimed}
	}
	for _, k := range kinds {
		if !k.ofMesh() {
			panic(fmt.Sprintf("events: OnMesh: %v is not a kind of the mesh", k))
		}
	}
	return l.add(&handler{fn: fn, kinds: bits(kinds), limit: l.cfg.Buffer}, topic{kind: mesh})
}

// OnHint calls fn with the queue's events of one kind (Work, Cancel, Delete or
// Done) on the goroutine that reads the connection. fn must not block: it is
// for setting a flag. No event that was read is dropped. For the rest it is as
// On.
func (l *Listener) OnHint(queue string, kind Kind, fn func(Event)) (stop func()) {
	kinds := []Kind{kind}
	return l.add(&handler{fn: fn, hint: true, kinds: bits(kinds)}, queueTopics("OnHint", queue, kinds)...)
}

// OnWake calls fn with what is said to one worker: look at this queue, or (with
// failed, and no queue) you were failed by hand. As OnHint, fn must not block.
// A worker's id never ends in ":work" or another queue kind, as ids are UUIDs.
func (l *Listener) OnWake(worker string, fn func(queue string, failed bool)) (stop func()) {
	h := &handler{hint: true, kinds: bits([]Kind{wake, fail}), fn: func(e Event) { fn(e.Queue, e.Kind == fail) }}
	return l.add(h, topic{kind: wake, name: worker})
}

// OnGive calls fn when one worker is told to give up n persistent tasks of a
// queue, as long as it holds more than down. As OnHint, fn must not block.
func (l *Listener) OnGive(worker string, fn func(queue string, n, down int)) (stop func()) {
	h := &handler{hint: true, kinds: bits([]Kind{give}), fn: func(e Event) { fn(e.Queue, e.Count, int(e.Token)) }}
	return l.add(h, topic{kind: wake, name: worker})
}

// OnReady calls fn each time that every wanted channel has become confirmed:
// after every (re)connect, and again after every later registration. It means:
// read the truth again now. One call answers for all registrations before it, but
// many in a row may cause many calls: make it set a flag. It is called on the
// goroutine that reads the connection, and must not block.
//
// What was reached before OnReady is not told again: register first, then ask
// Ready.
func (l *Listener) OnReady(fn func()) (stop func()) {
	h := &handler{hint: true, kinds: bits([]Kind{ready}), fn: func(Event) { fn() }}
	l.want.addReady(h)
	return func() {
		h.stop()
		l.want.removeReady(h)
	}
}

// Ready tells whether there is a connection on which every wanted channel is
// confirmed. It is false when nothing is wanted, and it may be true for 2*Ping
// on a connection that has died silently.
func (l *Listener) Ready() bool { return l.want.ready() }

// Connections is how many connections were made since New: when it has changed,
// anything may have been missed.
func (l *Listener) Connections() uint64 { return l.connected.Load() }

// Dropped is how many events were not delivered because a callback's buffer was
// full, over all callbacks since New.
func (l *Listener) Dropped() uint64 { return l.dropped.Load() }

// Malformed is how many messages could not be read, and were passed over, since
// New. Above 0 something else than this library publishes on its channels.
func (l *Listener) Malformed() uint64 { return l.malformed.Load() }

func (l *Listener) add(h *handler, topics ...topic) (stop func()) {
	l.want.add(h, topics)
	return func() {
		h.stop()
		l.want.remove(h, topics)
	}
}

func queueTopics(who, queue string, kinds []Kind) []topic {
	var topics []topic
	for _, k := range kinds {
		if !k.ofQueue() {
			panic(fmt.Sprintf("events: %s: %v is not a kind of a queue", who, k))
		}
		if t := (topic{kind: k, name: queue}); !slices.Contains(topics, t) {
			topics = append(topics, t)
		}
	}
	return topics
}
