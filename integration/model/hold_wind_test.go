package model

import "strings"

// wind ends a sequence: all is well again, so each task is held, and the shares are even. Then all
// tasks end, everybody leaves, and nothing stays.
func (c *crew) wind() {
	c.did("the end begins")
	if len(c.running()) == 0 {
		c.start(step{})
	}
	if len(c.dead()) > 0 {
		c.long(step{})
		c.check("the last reclaim")
	}
	for _, name := range holdQueues {
		q := c.rolls[name]
		for _, h := range c.running() {
			if h.life.serves[name] {
				c.leave(h, q) // it may have been drained
			}
			c.serve(h, q)
		}
		c.reconcileTo(q, universe)
	}
	c.check("all serve")
	if c.world.virtual {
		for _, name := range holdQueues {
			c.until(2*soon, "the shares of "+name+" are even", func() bool { return c.even(name) })
			c.check("the shares are even")
		}
	}
	for _, name := range holdQueues {
		c.reconcileTo(c.rolls[name], nil)
	}
	c.check("all tasks are canceled")
	for _, h := range c.running() {
		c.end(h)
	}
	c.check("the end")
	c.nothingStays()
}

// even reports whether no worker holds two tasks more of a queue than another.
func (c *crew) even(name string) bool {
	holds := map[string]int{}
	for _, p := range c.eye.stock(name).holders {
		holds[c.workerOf(p)]++
	}
	least, most := len(universe), 0
	for _, h := range c.running() {
		n := holds[h.life.id]
		least, most = min(least, n), max(most, n)
	}
	return most-least < 2
}

// nothingStays looks for keys that are left when everybody has left.
func (c *crew) nothingStays() {
	for _, key := range c.eye.all() {
		switch key[strings.LastIndex(key, ":")+1:] {
		case "queues", "mesh":
			continue
		}
		if c.eye.ttl(key) == -1 {
			c.fatalf("key %q is left at the end", key)
		}
	}
}
