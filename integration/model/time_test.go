package model

import (
	"errors"
	"slices"
	"time"

	"github.com/worqr/worqr-go/worqr"
)

// moment lets a short time pass, in which nothing may change.
func (f *fleet) moment(s step) {
	d := time.Duration(50+s.a%800) * time.Millisecond
	if !f.world.virtual {
		return
	}
	f.room(d)
	f.did("%v pass", d)
	f.pass(d)
}

func (f *fleet) pass(d time.Duration) {
	f.aged = true
	f.world.pass(d)
}

// room makes sure that nothing is reclaimed in the next d: when something might be, it lets all of
// it be reclaimed first.
func (f *fleet) room(d time.Duration) {
	lapse, beat := f.world.worker.Lapse, f.world.worker.Beat
	for _, dead := range f.dead() {
		for _, h := range f.running() {
			// Its last heartbeat may be older than its death by a beat and a retry. A judge is in
			// doubt for a whole lapse from its start, and also about whoever was failed by hand.
			earliest := dead.died.Add(lapse - beat - beat/2)
			if doubted := h.life.joined.Add(lapse - beat/10); doubted.After(earliest) {
				earliest = doubted
			}
			if f.world.now().Add(d).After(earliest) {
				f.long(step{})
				return
			}
		}
	}
}

func (f *fleet) dead() (list []*life) {
	for _, l := range f.model.lives {
		if l.dead() {
			list = append(list, l)
		}
	}
	return list
}

// long lets the dead be reclaimed, if anybody is alive to do so, else a lapse go by.
func (f *fleet) long(step) {
	f.aged = true
	dead := f.dead()
	if len(dead) == 0 || len(f.running()) == 0 {
		if f.world.virtual {
			f.did("%v pass", f.world.worker.Lapse)
			f.pass(f.world.worker.Lapse)
		}
		return
	}
	f.did("the dead are reclaimed")
	f.buried(dead)
	f.reclaimed(dead)
}

// buried waits until the dead are no longer registered.
func (f *fleet) buried(dead []*life) {
	f.until(f.patience(), "the dead are reclaimed", func() bool { return !f.eye.registered(dead) })
}

// patience is how long a lapse and its reclaim take at most: when everybody is in doubt, two
// lapses, and then a round. Where others use the machine too, it says nothing.
func (f *fleet) patience() time.Duration {
	if !f.world.virtual {
		return soon
	}
	return 2*f.world.worker.Lapse + 3*f.world.worker.Sweep
}

// reclaimed adopts what peers have put back.
func (f *fleet) reclaimed(dead []*life) {
	if err := f.model.reclaim(dead, f.eye.look().waiting, f.tally); err != nil {
		f.fatalf("%v", err)
	}
}

// kill ends workers without their leaving, now and then two at once.
func (f *fleet) kill(s step) {
	hosts := f.victims(s)
	if len(hosts) == 0 {
		f.take(s)
		return
	}
	first := pick(hosts, s.a)
	f.did("%s dies", first.name)
	f.die(first)
	if second := pick(hosts, s.a+1); second != first && s.c%2 == 0 {
		f.did("%s dies too", second.name)
		f.die(second)
	}
	f.resolve()
}

// victims are the running workers whose end would say something: mostly only those with something
// in hand.
func (f *fleet) victims(s step) (list []*host) {
	if !f.world.mortal {
		return nil
	}
	for _, h := range f.mine() {
		if !slices.Contains(list, h.host) {
			list = append(list, h.host)
		}
	}
	if s.b%8 == 0 {
		return f.running()
	}
	return list
}

// resolve waits, where time cannot be stopped, until the dead are reclaimed: else it would happen
// in the middle of a step.
func (f *fleet) resolve() {
	if !f.world.virtual && len(f.dead()) > 0 && len(f.running()) > 0 {
		f.long(step{})
	}
}

// lapse takes the network from a worker for longer than its lease lasts, and gives it back.
func (f *fleet) lapse(s step) {
	hosts := f.victims(s)
	if len(hosts) == 0 || !f.world.virtual {
		f.take(s)
		return
	}
	h, condition, how := pick(hosts, s.a), refusing, "refuses"
	if s.b%2 == 0 {
		condition, how = silent, "is silent"
	}
	d := f.world.worker.Lapse + time.Duration(s.c%2000)*time.Millisecond
	f.did("the network of %s %s for %v", h.name, how, d)
	died := f.world.now()
	dead := append(f.dead(), h.life)
	h.net.set(condition)
	f.pass(d)
	f.model.lapse(h.life, died)
	f.withoutNetwork(h)
	if len(f.running()) > 1 {
		f.did("its peers reclaim it")
		f.buried(dead)
		f.reclaimed(dead)
	}
	h.net.set(up)
	f.rejoined(h, died)
	f.did("%s is back", h.name)
}

// withoutNetwork asks a lapsed worker for what it must refuse by itself.
func (f *fleet) withoutNetwork(h *host) {
	if h.worker.Alive() {
		f.fatalf("%s is alive after its lapse", h.name)
	}
	ctx, cancel := f.within()
	defer cancel()
	for _, name := range f.model.names {
		want := worqr.ErrNotWorking
		if h.life.serves[name] {
			want = worqr.ErrLapsed
		}
		if p, err := h.worker.Take(ctx, name); !errors.Is(err, want) {
			f.fatalf("take by the lapsed %s from %q: %v, %v; want %v", h.name, name, p, err, want)
		}
	}
	for _, taken := range f.handles {
		if taken.host == h && taken.model.asked == "" {
			f.settle(taken, finish)
			return
		}
	}
}

// flicker breaks all connections of a worker once. Whoever beats on has lost nothing.
func (f *fleet) flicker(s step) {
	hosts := f.running()
	if len(hosts) == 0 || !f.world.virtual {
		f.take(s)
		return
	}
	d := f.world.worker.Beat + f.world.worker.Beat/10 // the pool tries what has rested for a second
	f.room(d)
	h := pick(hosts, s.a)
	f.did("the connections of %s break, %v pass", h.name, d)
	h.net.cut()
	f.pass(d)
}

// failOther ends a worker by its id, or tries to end one that is not there.
func (f *fleet) failOther(s step) {
	lives := f.model.lives
	ctx, cancel := f.within()
	defer cancel()
	if len(lives) == 0 || s.b%4 == 0 {
		id := pick(append(f.former(), "nobody"), s.a)
		f.did("fail of the unknown %s", id)
		if err := f.client.mesh.Fail(ctx, id); !errors.Is(err, worqr.ErrGone) {
			f.fatalf("fail of the unknown worker %q: %v, want ErrGone", id, err)
		}
		return
	}
	l := pick(lives, s.a)
	if !l.dead() && !f.world.mortal {
		f.take(s)
		return
	}
	h, d := f.lives[l], f.world.worker.Beat*3/2
	if !l.dead() {
		f.room(d)
	}
	if !f.registered(l) { // making room has reclaimed it
		return
	}
	f.did("%s is failed by its id", h.name)
	if err := f.client.mesh.Fail(ctx, l.id); err != nil {
		f.fatalf("fail of %s: %v", h.name, err)
	}
	l.byHand = f.world.now()
	if l.dead() {
		return
	}
	f.aged = true
	f.rejoined(h, l.byHand)
	f.resolve()
}
