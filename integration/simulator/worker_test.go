package simulator

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// worker behaves as package worqr's does, in as few lines as its commands need: one life after the
// other, in each the memberships of its queues. Two coroutines share it, as takes and settles run
// side by side there.
type worker struct {
	w            *world
	name         string
	id           string
	alive        bool             // it may trust its heartbeat
	first        []func(a *actor) // what it does first
	present      bool             // its presence connection stands
	retiring     bool
	members      map[string]*member
	left         map[string]bool // queues that its workmap has let go
	rest         []*member       // closed, and not yet taken out of Redis
	edit, opened int
	main         *actor
	settler      *actor
}

// member is a membership.
type member struct {
	worker   *worker
	queue    string
	id       string
	ended    bool
	settling bool
	next     int64
	pending  int64
	inHand   map[int64]*handled
	seen     int64
	heeds    bool  // the loss of its worker's presence, as peers may take over then
	granted  int64 // how many persistent tasks it was told to give up
}

// handled is a process as its worker knows it.
type handled struct {
	process
	number   int64
	asked    string
	unsure   bool
	canceled bool

	// Of a persistent task:
	moves   bool   // it is offered to others
	leaving string // how it is to end next
	why     string // why the hold before it ended
	written int64  // how many checkpoints
}

func (w *world) newWorker() *worker {
	k := &worker{w: w, name: fmt.Sprintf("W%d", len(w.workers))}
	w.workers = append(w.workers, k)
	k.main = w.spawn(k.name, k.live)
	k.settler = w.spawn(k.name+"'s settler", k.settles)
	return k
}

// end ends the present life. Its memberships are left to peers.
func (k *worker) end() {
	k.alive = false
	delete(k.w.trusting, k.id)
	for _, m := range k.members {
		m.ended = true
	}
}

// live runs one life after the other.
func (k *worker) live(a *actor) {
	for !k.retiring {
		k.w.lives++
		k.id, k.edit, k.opened = fmt.Sprintf("%sv%d", k.name, k.w.lives), 0, 0
		k.present = false
		k.members, k.left, k.rest = map[string]*member{}, map[string]bool{}, nil
		a.over = nil
		k.w.trusting[k.id] = true // a join is given up before the heartbeat of its first copy can end
		r, _, known := a.call("join", "", nil, k.id, lapse, "1", "", "pid", "1")
		if !known || r.refused != "" {
			delete(k.w.trusting, k.id)
			continue // given up for a new id
		}
		k.alive = true
		a.over = func() bool { return !k.alive }
		untilEnded(func() { k.life(a) })
		k.end()
	}
}

func (k *worker) life(a *actor) {
	if k.w.persistent {
		k.holdLife(a)
		return
	}
	first := pick(k.w, k.w.names)
	k.open(a, first)
	if m := k.members[first]; m != nil {
		m.take(a, 1+k.w.rng.Int64N(6), true)
	}
	for {
		if k.retiring {
			k.leave(a)
			return
		}
		queue := pick(k.w, k.w.names)
		m := k.members[queue]
		switch x := k.w.rng.IntN(100); {
		case len(k.rest) > 0:
			k.closeRest(a)
		case m == nil && (len(k.members) == 0 || x < 50):
			k.open(a, queue)
		case m == nil || x < 6:
			k.beat(a)
		case x < 58:
			m.take(a, 1+k.w.rng.Int64N(3), k.w.chance(0.5))
		case x < 75:
			m.look(a)
		case x < 78:
			a.call("wake", queue, nil)
		case x < 95:
			k.close(a, m)
		default:
			k.leave(a)
			return
		}
	}
}

// lost is told that the heartbeat is gone.
func (k *worker) lost() {
	k.end()
	panic(ended{})
}

func (k *worker) beat(a *actor) {
	if r, _, known := a.call("beat", "", nil, k.id, lapse, "0"); known && word(r.refused) == "LOST" {
		k.lost()
	}
}

// workmap edits the list of queues that this worker serves.
func (k *worker) workmap(a *actor, script, queue string) (known bool) {
	k.edit++
	delete(k.left, queue)
	r, _, known := a.call(script, "", nil, k.id, queue, strconv.Itoa(k.edit))
	if known && word(r.refused) == "LOST" {
		k.lost()
	}
	if known && script == "unserve" {
		k.left[queue] = true
	}
	return known
}

func (k *worker) open(a *actor, queue string) {
	ticket, _, known := a.call("newest", queue, nil)
	if !known || !k.workmap(a, "serve", queue) {
		return
	}
	k.opened++
	m := &member{worker: k, queue: queue, id: fmt.Sprintf("%s.%d", k.id, k.opened), next: 1, inHand: map[int64]*handled{}}
	r, _, known := a.call("open", queue, nil, append([]string{m.id, ticket.words[0]}, k.w.terms()...)...)
	if word(r.refused) == "STALE" {
		return
	}
	if !known || r.refused != "" {
		m.ended = true
		k.rest = append(k.rest, m)
		return
	}
	m.seen = integer(r.words[0])
	k.members[queue] = m
}

// close ends a membership. What was being settled is waited for, or left where it is.
func (k *worker) close(a *actor, m *member) {
	for m.settling && k.w.chance(0.7) {
		a.pause()
		if !k.alive {
			panic(ended{})
		}
	}
	m.ended = true
	delete(k.members, m.queue)
	if !k.giveUp(a, m) {
		k.rest = append(k.rest, m)
	}
}

// giveUp takes a membership out of Redis.
func (k *worker) giveUp(a *actor, m *member) bool {
	if !a.reclaim(m.queue, m.id, "drain", "0") {
		return false
	}
	return k.members[m.queue] != nil || k.workmap(a, "unserve", m.queue)
}

func (k *worker) closeRest(a *actor) bool {
	rest := k.rest
	k.rest = nil
	for i, m := range rest {
		if !k.giveUp(a, m) {
			k.rest = append(k.rest, rest[i:]...)
			return false
		}
	}
	return true
}

// leave closes everything and ends the registration.
func (k *worker) leave(a *actor) {
	for _, queue := range slices.Sorted(maps.Keys(k.members)) {
		k.close(a, k.members[queue])
	}
	if k.closeRest(a) {
		a.call("leave", "", nil, k.id, "left")
	}
}
