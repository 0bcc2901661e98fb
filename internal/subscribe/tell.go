package subscribe

import (
	"context"

	"github.com/worqr/worqr-go/events"
)

// Registration is one On, for the mesh, which also gives the callback what the connection missed.
type Registration struct {
	// Stop ends it, as the stop of On does.
	Stop func()

	l *Listener
	h *handler
}

// Register is On, and returns the registration.
func (l *Listener) Register(
	queue string, fn func(events.Event), kinds ...events.Kind,
) *Registration {
	if len(kinds) == 0 {
		kinds = []events.Kind{events.Work, events.Cancel, events.Delete, events.Done}
	}
	h := &handler{fn: fn, kinds: bits(kinds), limit: l.cfg.Buffer}
	return &Registration{Stop: l.add(h, queueTopics("On", queue, kinds)...), l: l, h: h}
}

// Tell delivers e to the callback as if it had been received, after the events that wait already.
// Nothing is published: it is for a fact that was found by reading, when its event may have been
// missed. It does nothing while Run does not run.
func (r *Registration) Tell(e events.Event) {
	r.l.telling.RLock()
	defer r.l.telling.RUnlock()
	if r.l.tellUntil != nil {
		r.l.deliver(r.l.tellUntil, r.h, e)
	}
}

// tellWhile lets Tell work until the function that it returns is called. After that no callback
// begins by Tell.
func (l *Listener) tellWhile(ctx context.Context) (end func()) {
	set := func(ctx context.Context) {
		l.telling.Lock()
		defer l.telling.Unlock()
		l.tellUntil = ctx
	}
	set(ctx)
	return func() { set(nil) }
}
