package subscribe

import (
	"slices"
	"sync"
)

// wanted holds what is listened to and how far the server has confirmed it.
//
// It is level-triggered: registering and stopping only change what is wanted; the writer of the
// connection then compares that with what it has sent, so a stop that races an On of the same
// channel ends right whoever comes first. The server answers every channel of every SUBSCRIBE and
// UNSUBSCRIBE once and in order, so a channel is confirmed when its last command was a SUBSCRIBE
// and no answer is outstanding.
//
// It does no I/O and calls nobody.
type wanted struct {
	changed chan struct{} // has room for one: compare again

	mu      sync.Mutex
	subs    map[string]*subscription // by topic.key; wanted, or still to be unsubscribed
	dirty   map[*subscription]bool   // where wanted and sent may differ
	open    int                      // how many subs are wanted
	missing int                      // how many subs are wanted and not confirmed
	asked   uint64                   // rises with everything that OnReady has to follow
	told    uint64                   // the value of asked when OnReady was last called
	onReady []*handler
}

// subscription is one channel. The fields after handlers are those of the present connection.
type subscription struct {
	topic    topic
	handlers []*handler // only appended to or replaced: the reader walks it without the lock
	sent     bool       // the last command sent for it was SUBSCRIBE
	pending  int        // commands sent and not answered
}

func (s *subscription) wanted() bool  { return len(s.handlers) > 0 }
func (s *subscription) missing() bool { return s.wanted() && (!s.sent || s.pending > 0) }

func newWanted() *wanted {
	return &wanted{
		changed: make(chan struct{}, 1),
		subs:    make(map[string]*subscription),
		dirty:   make(map[*subscription]bool),
	}
}

// change applies f to s and keeps the counts right. The caller holds mu.
func (w *wanted) change(s *subscription, f func()) {
	count := func(sign int) {
		if s.wanted() {
			w.open += sign
		}
		if s.missing() {
			w.missing += sign
		}
	}
	count(-1)
	f()
	count(+1)
	if !s.wanted() && !s.sent && s.pending == 0 {
		delete(w.subs, s.topic.key())
		delete(w.dirty, s)
	} else if s.wanted() != s.sent {
		w.dirty[s] = true
	} else {
		delete(w.dirty, s)
	}
}

// poke has the writer compare again.
func (w *wanted) poke() {
	select {
	case w.changed <- struct{}{}:
	default: // a comparison is due already, and it will see this change too
	}
}

// add registers h for topics.
func (w *wanted) add(h *handler, topics []topic) {
	w.mu.Lock()
	for _, t := range topics {
		s := w.subs[t.key()]
		if s == nil {
			s = &subscription{topic: t}
			w.subs[t.key()] = s
		}
		w.change(s, func() { s.handlers = append(s.handlers, h) })
	}
	w.asked++
	w.mu.Unlock()
	w.poke()
}

// remove undoes add. To call it twice does no harm.
func (w *wanted) remove(h *handler, topics []topic) {
	w.mu.Lock()
	for _, t := range topics {
		if s := w.subs[t.key()]; s != nil {
			w.change(s, func() { s.handlers = without(s.handlers, h) })
		}
	}
	w.mu.Unlock()
	w.poke()
}

func (w *wanted) addReady(h *handler) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.onReady = append(w.onReady, h)
}

func (w *wanted) removeReady(h *handler) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.onReady = without(w.onReady, h)
}

// without returns a copy of hs that has no h.
func without(hs []*handler, h *handler) []*handler {
	return slices.DeleteFunc(slices.Clone(hs), func(x *handler) bool { return x == h })
}

// lost is called when the connection is gone, with all that was sent and confirmed on it.
func (w *wanted) lost() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked++
	for _, s := range w.subs {
		w.change(s, func() { s.sent, s.pending = false, 0 })
	}
}

// plan is what the writer has to send so that the server knows what is wanted.
type plan struct {
	subscribe, unsubscribe []string // keys
	probe                  bool     // all is confirmed, and OnReady waits for the reader to be woken
	idle                   bool     // nothing is wanted: the connection may go
}

// next returns the plan. What it names counts as sent: when the sending fails the connection has
// failed, and the next one begins anew.
func (w *wanted) next() plan {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open == 0 {
		return plan{idle: true}
	}
	var p plan
	for s := range w.dirty {
		if s.wanted() {
			p.subscribe = append(p.subscribe, s.topic.key())
		} else {
			p.unsubscribe = append(p.unsubscribe, s.topic.key())
		}
		w.change(s, func() { s.sent, s.pending = s.wanted(), s.pending+1 })
	}
	p.probe = w.missing == 0 && w.told != w.asked
	return p
}

// confirm notes one answer of the server.
func (w *wanted) confirm(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.subs[key]; s != nil && s.pending > 0 {
		w.change(s, func() { s.pending-- })
	}
}

// find returns what a channel is about and who is to be called.
func (w *wanted) find(key string) (topic, []*handler) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.subs[key]; s != nil {
		return s.topic, s.handlers
	}
	return topic{}, nil // stopped while the message was on its way
}

// any reports whether at least one channel is wanted.
func (w *wanted) any() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.open > 0
}

// ready reports whether something is wanted and all of it is confirmed, so that there is a
// connection too.
func (w *wanted) ready() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.isReady()
}

func (w *wanted) isReady() bool { return w.open > 0 && w.missing == 0 }

// announce reports, once for all that was asked since, that everything is confirmed, and returns
// who is to be called.
func (w *wanted) announce() (now bool, handlers []*handler) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.isReady() || w.told == w.asked {
		return false, nil
	}
	w.told = w.asked
	return true, w.onReady
}
