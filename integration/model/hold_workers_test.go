package model

import (
	"slices"
	"time"

	"github.com/worqr/worqr-go/worqr"
)

func (c *crew) startWork(s step) {
	hosts := c.running()
	if len(hosts) == 0 {
		c.start(s)
		return
	}
	c.serve(pick(hosts, s.a), c.roll(s.b))
}

func (c *crew) serve(h *host, q *roll) {
	c.did("%s starts work on %q", h.name, q.name)
	ctx, cancel := c.within()
	defer cancel()
	c.expect("start work", h.worker.StartWork(ctx, q.name), nil)
	c.model.startWork(h.life, c.model.queues[q.name])
}

func (c *crew) stopWork(s step) {
	hosts := c.running()
	if len(hosts) == 0 {
		c.start(s)
		return
	}
	h, q := pick(hosts, s.a), c.roll(s.b)
	if len(c.serving(q)) < 2 && s.c%2 == 0 { // else there is soon nobody who could take
		c.start(s)
	}
	c.leave(h, q)
}

func (c *crew) leave(h *host, q *roll) {
	c.did("%s stops work on %q", h.name, q.name)
	ctx, cancel := c.within()
	defer cancel()
	c.setDrained(h, q.name, false)
	err := h.worker.StopWork(ctx, q.name)
	if !h.life.serves[q.name] {
		c.expect("stop work", err, worqr.ErrNotWorking)
		return
	}
	c.expect("stop work", err, nil)
	delete(h.life.serves, q.name)
}

// drain has a worker give up all that it holds.
func (c *crew) drain(s step) {
	hosts := c.running()
	if len(hosts) == 0 {
		c.start(s)
		return
	}
	h := pick(hosts, s.a)
	c.did("%s is drained", h.name)
	ctx, cancel := c.within()
	defer cancel()
	c.expect("drain", h.worker.Drain(ctx), nil)
	for _, name := range holdQueues {
		if h.life.serves[name] {
			c.setDrained(h, name, true)
		}
		for _, t := range c.turnsOn(name) {
			if t.host == h && t.p.Valid() {
				c.fatalf("%s is drained, and goes on with %s", h.name, t)
			}
		}
	}
}

// setDrained notes that nothing may begin on a worker any more, or that it may again.
func (c *crew) setDrained(h *host, queue string, drained bool) {
	c.ledger.mu.Lock()
	defer c.ledger.mu.Unlock()
	if h.drained == nil {
		h.drained = map[string]bool{}
	}
	h.drained[queue] = drained
}

// start starts a further worker; four run at most. Most serve a queue from the start.
func (c *crew) start(s step) {
	if len(c.running()) >= 4 {
		c.startWork(s)
		return
	}
	h := c.fleet.start()
	c.hosts = append(c.hosts, h)
	c.did("%s starts", h.name)
	if s.a%4 != 0 {
		c.serve(h, c.roll(s.a))
	}
	if s.b%2 != 0 {
		c.serve(h, c.roll(s.b+1))
	}
}

func (c *crew) failOwn(s step) {
	if hosts := c.running(); len(hosts) > 0 {
		c.end(pick(hosts, s.a))
	} else {
		c.start(s)
	}
}

// failOther ends a worker by its id: it stops, and joins again as another.
func (c *crew) failOther(s step) {
	hosts := c.victims(s)
	if len(hosts) == 0 {
		c.start(s)
		return
	}
	h := pick(hosts, s.a)
	c.did("%s is failed by its id", h.name)
	ctx, cancel := c.within()
	defer cancel()
	c.forfeit(h, false, c.world.now())
	c.expect("fail", c.client.mesh.Fail(ctx, h.life.id), nil)
	h.life.byHand = c.world.now()
	c.returns(h, h.life.byHand)
}

// kill ends workers without their leaving, now and then two at once.
func (c *crew) kill(s step) {
	hosts := c.victims(s)
	if len(hosts) == 0 {
		c.start(s)
		return
	}
	n := 1 + (s.c+1)%2
	for i := range min(n, len(hosts)) {
		h := pick(hosts, s.a+i)
		c.did("%s dies", h.name)
		c.forfeit(h, true, c.world.now())
		c.die(h)
	}
}

// victims are the running workers whose end would say something: mostly only those that hold.
func (c *crew) victims(s step) []*host {
	if !c.world.mortal {
		return nil
	}
	hosts := c.running()
	if s.b%8 == 0 {
		return hosts
	}
	holds := map[*host]bool{}
	for _, name := range holdQueues {
		for _, t := range c.turnsOn(name) {
			holds[t.host] = true
		}
	}
	return slices.DeleteFunc(hosts, func(h *host) bool { return !holds[h] })
}

// lapse takes the network from a worker for longer than its lease lasts, and gives it back: before
// its peers have taken over, or after.
func (c *crew) lapse(s step) {
	hosts := c.victims(s)
	if len(hosts) == 0 || !c.world.virtual {
		c.start(s)
		return
	}
	h, condition, how := pick(hosts, s.a), refusing, "refuses"
	if s.b%2 == 0 {
		condition, how = silent, "is silent"
	}
	d := c.world.worker.Lapse + time.Duration(s.c%2000)*time.Millisecond
	c.did("the network of %s %s for %v", h.name, how, d)
	died := c.world.now()
	c.forfeit(h, false, c.world.now())
	h.net.set(condition)
	c.pass(d)
	if h.worker.Alive() {
		c.fatalf("%s is alive after its lapse", h.name)
	}
	h.net.set(up)
	c.returns(h, died)
}

// returns waits until a worker that has lost its heartbeat is there again, under a new id. When it
// opens its queues is its own affair: see the rest.
func (c *crew) returns(h *host, died time.Time) {
	old := h.life
	c.until(soon, h.name+" has joined again", func() bool { return h.worker.ID() != old.id && h.worker.Alive() })
	c.forfeit(h, false, died)
	c.model.lapse(old, died)
	c.register(h)
	for name := range old.serves {
		h.life.serves[name] = true
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.reasons) != 1 {
		c.fatalf("%s was told of %d lapses: %v; want one", h.name, len(h.reasons), h.reasons)
	}
	h.reasons = nil
	c.tally.add("a worker came back", 1)
}

// flicker breaks all connections of a worker once. Whoever beats on has lost nothing.
func (c *crew) flicker(s step) {
	hosts := c.running()
	if len(hosts) == 0 || !c.world.virtual {
		c.enqueue(s)
		return
	}
	h := pick(hosts, s.a)
	c.did("the connections of %s break", h.name)
	h.net.cut()
	if s.b%2 == 0 {
		c.pass(c.world.worker.Beat)
	}
}

// moment lets a short time pass.
func (c *crew) moment(s step) {
	if d := time.Duration(50+s.a%800) * time.Millisecond; c.world.virtual {
		c.did("%v pass", d)
		c.pass(d)
	}
}

// long lets the dead be reclaimed, if anybody is alive to do so, else a lapse go by.
func (c *crew) long(step) {
	if dead := c.dead(); len(dead) > 0 && len(c.running()) > 0 {
		c.did("the dead are reclaimed")
		c.buried(dead)
		for _, l := range dead {
			c.model.unregister(l)
		}
	} else if c.world.virtual {
		c.did("%v pass", c.world.worker.Lapse)
		c.pass(c.world.worker.Lapse)
	}
}

// lossy does another step while the next command of each host meets a fault. All are sent again,
// and have one effect.
func (c *crew) lossy(s step) {
	kind := pick([]fault{lostAway, lostReply}, s.b)
	do := pick([]func(*crew, step){
		(*crew).enqueue, (*crew).reconcile, (*crew).cancel, (*crew).deleteQueue, (*crew).handlerReturns, (*crew).handlerIsDone,
		(*crew).finish, (*crew).stop, (*crew).checkpoint, (*crew).startWork, (*crew).stopWork, (*crew).drain, (*crew).start,
		(*crew).failOwn, (*crew).moment, (*crew).list,
	}, s.c)
	hosts := slices.Clone(c.all)
	c.did("from here on each host's next command loses %s", map[fault]string{lostAway: "its way", lostReply: "its reply"}[kind])
	for _, h := range hosts {
		h.net.arm(kind)
	}
	c.losing = kind
	do(c, s)
	for _, h := range hosts {
		h.net.arm(none)
	}
	c.losing = none
}
