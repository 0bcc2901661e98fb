package events

import "context"

// Registration is one On, for who also tells its callback what the listener did not hear.
type Registration struct {
	// Stop ends it, as On's stop does.
	Stop func()

	l *Listener
	h *handler
}

// Register is On, and answers the registration.
func (l *Listener) Register(queue string, fn func(Event), kinds ...Kind) *Registration {
	if len(kinds) == 0 {
		kinds = []Kind{Work, Cancel, Delete, Done}
	}
	h := &handler{fn: fn, kinds: bits(kinds), limit: l.cfg.Buffer}
	return &Registration{Stop: l.add(h, queueTopics("On", queue, kinds)...), l: l, h: h}
}

// Tell hands an event to the callback, behind what it has not been given yet, as if it had been
// received. Nothing is published: it is for who re-read the truth and found what no word came of.
// It does nothing while Run does not run.
func (r *Registration) Tell(e Event) {
	r.l.telling.RLock()
	defer r.l.telling.RUnlock()
	if r.l.tellUntil != nil {
		r.l.deliver(r.l.tellUntil, r.h, e)
	}
}

// tellWhile lets Tell work until the function that it returns is called, after which no callback
// begins by it.
func (l *Listener) tellWhile(ctx context.Context) (end func()) {
	set := func(ctx context.Context) {
		l.telling.Lock()
		defer l.telling.Unlock()
		l.tellUntil = ctx
	}
	set(ctx)
	return func() { set(nil) }
}
