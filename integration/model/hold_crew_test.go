package model

import (
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/worqr/worqr-go/worqr"
)

// crew is a real mesh of persistent queues beside its model. Who holds what the model leaves open,
// as the library does: it says which tasks there are, and what each holder has to find.
type crew struct {
	*fleet
	terms  terms
	rolls  map[string]*roll // by queue
	ledger ledger
}

// terms are how the workers of a sequence serve all its queues.
type terms struct {
	takeover worqr.Takeover
	overlap  bool // MakeBeforeBreak
}

func (t terms) String() string {
	if t.overlap {
		return t.takeover.String() + ", make before break"
	}
	return t.takeover.String()
}

// allTerms are drawn from: most sequences are of the default.
var allTerms = []terms{
	{takeover: worqr.TakeoverStrict}, {takeover: worqr.TakeoverStrict, overlap: true}, {takeover: worqr.TakeoverFast},
	{takeover: worqr.TakeoverStrict}, {takeover: worqr.TakeoverStrict, overlap: true}, {takeover: worqr.TakeoverFast},
	{takeover: worqr.TakeoverStrict}, {takeover: worqr.TakeoverFast, overlap: true},
}

// holdQueues share a slot.
var holdQueues = []string{"q", "q/r"}

// slack is how long every other worker's handlers need to end what they hold. It is well below the
// margin.
const slack = 120 * time.Millisecond

// playHolds runs a sequence of persistent queues in a world.
func playHolds(t *rapid.T, w world, on terms, seen *tally, sequence []step) {
	f := &fleet{t: t, world: w, tally: seen, model: newMesh(holdQueues...), lives: map[*life]*host{}}
	c := &crew{fleet: f, terms: on, rolls: map[string]*roll{}}
	c.ledger.gone, c.ledger.passed = map[*host]bool{}, map[*turn]bool{}
	f.equip = c.equipped
	for _, name := range holdQueues {
		c.rolls[name] = newRoll(name)
	}
	f.client = f.newHost("client")
	f.eye = newEye(f)
	defer f.close()
	f.did("takeover %v", on)
	c.run(sequence)
}

// equipped configures a worker of the crew.
func (c *crew) equipped(h *host, cfg *worqr.WorkerConfig) {
	h.slow, h.ready = c.world.virtual && c.born%2 == 0, c.born%3 != 0
	cfg.Queues = map[string]worqr.Queue{}
	for _, name := range holdQueues {
		cfg.Queues[name] = worqr.Queue{
			Handler: c.handler(h), Persistent: true, Takeover: c.terms.takeover,
			Hold: worqr.Hold{Settle: c.world.calm, MakeBeforeBreak: c.terms.overlap},
		}
	}
}

// run runs a sequence. It begins with two workers, of which one serves both queues.
func (c *crew) run(sequence []step) {
	for i, name := range holdQueues {
		c.reconcileTo(c.rolls[name], universe[:3+i])
	}
	c.check("the first tasks")
	for i := range 2 {
		c.start(step{})
		c.startWork(step{a: i, b: 0})
	}
	c.startWork(step{a: 0, b: 1})
	c.check("the first workers")
	for i, s := range sequence {
		for _, v := range holdVerbs {
			if v.name == s.verb {
				v.do(c, s)
				c.tally.add(v.name, 1)
			}
		}
		c.check(fmt.Sprintf("step %d, %s", i+1, s.verb))
	}
	if len(sequence)%3 == 0 { // it costs as much as the sequence
		c.wind()
	}
}

// holdVerbs are those of persistent queues.
var holdVerbs = []act[*crew]{
	{"nothing", 1, func(*crew, step) {}},
	{"enqueue", 8, (*crew).enqueue},
	{"reconcile", 10, (*crew).reconcile},
	{"reconcile at once", 2, (*crew).reconcileAtOnce},
	{"cancel", 8, (*crew).cancel},
	{"delete", 3, (*crew).deleteQueue},
	{"list", 6, (*crew).list},
	{"checkpoint", 10, (*crew).checkpoint},
	{"return", 8, (*crew).handlerReturns},
	{"break", 4, (*crew).handlerBreaks},
	{"done", 4, (*crew).handlerIsDone},
	{"finish", 4, (*crew).finish},
	{"stop", 5, (*crew).stop},
	{"start work", 7, (*crew).startWork},
	{"stop work", 5, (*crew).stopWork},
	{"drain", 4, (*crew).drain},
	{"start", 8, (*crew).start},
	{"fail own", 3, (*crew).failOwn},
	{"fail other", 3, (*crew).failOther},
	{"die", 9, (*crew).kill},
	{"lapse", 4, (*crew).lapse},
	{"flicker", 3, (*crew).flicker},
	{"a moment", 9, (*crew).moment},
	{"long", 12, (*crew).long},
	{"lossy", 9, (*crew).lossy},
	{"misuse", 3, (*crew).misuse},
}

// roll picks one of the queues.
func (c *crew) roll(n int) *roll { return c.rolls[pick(holdQueues, n)] }

// serving are the running hosts that serve a queue, by the model.
func (c *crew) serving(q *roll) []*host {
	return slices.DeleteFunc(c.running(), func(h *host) bool { return !h.life.serves[q.name] })
}
