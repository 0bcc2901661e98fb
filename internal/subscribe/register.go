package subscribe

import (
	"fmt"
	"slices"

	"github.com/worqr/worqr-go/events"
)

// On implements [events.Listener].
func (l *Listener) On(queue string, fn func(events.Event), kinds ...events.Kind) (stop func()) {
	return l.Register(queue, fn, kinds...).Stop
}

// OnMesh implements [events.Listener].
func (l *Listener) OnMesh(fn func(events.Event), kinds ...events.Kind) (stop func()) {
	if len(kinds) == 0 {
		kinds = []events.Kind{events.Joined, events.Left, events.Lapsed, events.Reclaimed}
	}
	for _, k := range kinds {
		if !ofMesh(k) {
			panic(fmt.Sprintf("events: OnMesh: %v is not a kind of the mesh", word(k)))
		}
	}
	return l.add(&handler{fn: fn, kinds: bits(kinds), limit: l.cfg.Buffer}, topic{kind: mesh})
}

// OnHint calls fn with the queue's events of one kind (Work, Cancel, Delete or Done) on the
// goroutine that reads the connection. fn must not block: it is for setting a flag. No event that
// was read is dropped. For the rest it is as On.
func (l *Listener) OnHint(queue string, kind events.Kind, fn func(events.Event)) (stop func()) {
	kinds := []events.Kind{kind}
	h := &handler{fn: fn, hint: true, kinds: bits(kinds)}
	return l.add(h, queueTopics("OnHint", queue, kinds)...)
}

// OnWake calls fn when one worker is to look at a queue or, with failed and no queue, when it was
// failed by hand. As with OnHint, fn must not block. A worker's id never ends in ":work" or another
// kind of a queue, as ids are UUIDs.
func (l *Listener) OnWake(worker string, fn func(queue string, failed bool)) (stop func()) {
	call := func(e events.Event) { fn(e.Queue, e.Kind == fail) }
	h := &handler{hint: true, kinds: bits([]events.Kind{wake, fail}), fn: call}
	return l.add(h, topic{kind: wake, name: worker})
}

// OnGive calls fn when one worker is to give up n persistent tasks of a queue, as long as it holds
// more than down. As with OnHint, fn must not block.
func (l *Listener) OnGive(worker string, fn func(queue string, n, down int)) (stop func()) {
	call := func(e events.Event) { fn(e.Queue, e.Count, int(e.Token)) }
	h := &handler{hint: true, kinds: bits([]events.Kind{give}), fn: call}
	return l.add(h, topic{kind: wake, name: worker})
}

// OnReady implements [events.Listener].
func (l *Listener) OnReady(fn func()) (stop func()) {
	h := &handler{hint: true, kinds: bits([]events.Kind{ready}), fn: func(events.Event) { fn() }}
	l.want.addReady(h)
	return func() {
		h.stop()
		l.want.removeReady(h)
	}
}

// Ready implements [events.Listener].
func (l *Listener) Ready() bool { return l.want.ready() }

// Connections returns how many connections were made since New: when it has changed, anything may
// have been missed.
func (l *Listener) Connections() uint64 { return l.connected.Load() }

// Dropped implements [events.Listener].
func (l *Listener) Dropped() uint64 { return l.dropped.Load() }

// Malformed implements [events.Listener].
func (l *Listener) Malformed() uint64 { return l.malformed.Load() }

func (l *Listener) add(h *handler, topics ...topic) (stop func()) {
	l.want.add(h, topics)
	return func() {
		h.stop()
		l.want.remove(h, topics)
	}
}

func queueTopics(who, queue string, kinds []events.Kind) []topic {
	var topics []topic
	for _, k := range kinds {
		if !ofQueue(k) {
			panic(fmt.Sprintf("events: %s: %v is not a kind of a queue", who, word(k)))
		}
		if t := (topic{kind: k, name: queue}); !slices.Contains(topics, t) {
			topics = append(topics, t)
		}
	}
	return topics
}
