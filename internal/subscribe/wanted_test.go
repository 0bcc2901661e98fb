package subscribe

import (
	"math/rand/v2"
	"testing"

	"github.com/worqr/worqr-go/events"
)

// Against a model of the server (which answers in order) and in any interleaving of registering,
// stopping, sending and answering: Ready is never true while a wanted channel is not subscribed,
// and once all is answered the server has what is wanted and everybody has been told.
func TestWantedConverges(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 7))
		w := newWanted()
		topics := []topic{{events.Work, "a"}, {events.Done, "a"}, {events.Work, "b"}, {mesh, ""}}
		type registration struct {
			h  *handler
			on []topic
		}
		var have []registration
		var stale []registration // stopped already
		type command struct {
			key string
			on  bool
		}
		var wire []command // sent, not yet answered
		server := map[string]bool{}
		told := uint64(0)
		live := false
		send := func() {
			p := w.next()
			for _, k := range p.subscribe {
				wire = append(wire, command{k, true})
			}
			for _, k := range p.unsubscribe {
				wire = append(wire, command{k, false})
			}
			if p.probe {
				wire = append(wire, command{})
			}
		}
		answer := func() {
			c := wire[0]
			wire = wire[1:]
			if c.key != "" {
				if server[c.key] = c.on; !c.on {
					delete(server, c.key)
				}
				w.confirm(c.key)
			}
			if now, _ := w.announce(); now {
				told = w.asked
			}
		}
		check := func() {
			t.Helper()
			open := map[string]bool{}
			for _, r := range have {
				for _, x := range r.on {
					open[x.key()] = true
				}
			}
			missing := 0
			for k := range open {
				if !server[k] {
					missing++
				}
			}
			if ready := w.ready(); ready && (missing > 0 || !live || len(open) == 0) {
				t.Fatalf("seed %d: ready with %d of %d missing, live %v", seed, missing, len(open), live)
			}
			if w.open != len(open) || w.any() != (len(open) > 0) {
				t.Fatalf("seed %d: open is %d, want %d", seed, w.open, len(open))
			}
		}
		for range 200 {
			switch rng.IntN(8) {
			case 0, 1:
				r := registration{&handler{}, nil}
				for _, i := range rng.Perm(len(topics))[:1+rng.IntN(2)] {
					r.on = append(r.on, topics[i])
				}
				w.add(r.h, r.on)
				have = append(have, r)
			case 2, 3:
				if len(have) > 0 {
					i := rng.IntN(len(have))
					w.remove(have[i].h, have[i].on)
					stale = append(stale, have[i])
					have = append(have[:i], have[i+1:]...)
				}
			case 4, 5:
				if live {
					send()
				}
			case 6:
				if len(wire) > 0 {
					answer()
				}
			case 7:
				switch rng.IntN(5) {
				case 0:
					wire, server, live = nil, map[string]bool{}, false
					w.lost()
				case 1:
					live = true
				case 2:
					if len(stale) > 0 {
						r := stale[rng.IntN(len(stale))]
						w.remove(r.h, r.on)
					}
				}
			}
			check()
		}
		w.add(&handler{}, topics[:1])
		have = append(have, registration{nil, topics[:1]})
		live = true
		for send(); len(wire) > 0; send() {
			answer()
		}
		check()
		w.confirm(topics[0].key()) // nobody asked
		if w.subs[topics[0].key()].pending != 0 {
			t.Fatalf("seed %d: an answer to nothing was counted", seed)
		}
		if !w.ready() || told != w.asked || len(server) != w.open || len(w.subs) != w.open || len(w.dirty) != 0 {
			t.Fatalf("seed %d: ready %v, told %d of %d, the server has %v, want %d channels, %d kept, %d dirty",
				seed, w.ready(), told, w.asked, server, w.open, len(w.subs), len(w.dirty))
		}
	}
}
