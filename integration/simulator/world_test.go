package simulator

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// odds differ from schedule to schedule, so that each kind of trouble has schedules of its own.
type odds struct {
	twice, lost, late, refused float64 // of a command: executed again later; reply lost; itself late; not sent
	deliver, kill, lapse, stop float64 // of a step: a late copy arrives; an actor dies; a live worker lapses; a heart stops
	blip, pass                 float64 // of a step, of persistent tasks: a presence connection ends; time passes
}

var odds0 odds // nothing goes wrong

// world is one schedule: who takes part, what is on the way, and what is known.
type world struct {
	server *server
	rng    *rand.Rand
	odds   odds
	books  map[string]*books
	state  *state

	actors   []*actor
	workers  []*worker
	bag      []*command // copies that were sent and have not arrived
	trusting map[string]bool
	trues    map[string]bool // processes for which a Finish answered true
	tasks    []string        // every task that was made

	rare            map[string]int // how often what the schedules are for has come about
	names           []string       // the queues that are used
	notes           int            // how many notes and serves have taken effect
	lives, commands int
	log             []entry

	persistent bool // the queues are of persistent tasks
	draining   bool // only the janitor is left
	overlap    bool // and these are handed over without a gap: MakeBeforeBreak
}

// entry is one line of the log: an executed command, or an event.
type entry struct {
	command *command
	how     string
	reply   reply
	event   string
}

// violation ends a schedule.
type violation struct{ error }

func newWorld(s *server, seed uint64, persistent bool) *world {
	kind := uint64(0)
	if persistent {
		kind = 1
	}
	w := &world{
		server: s, rng: rand.New(rand.NewPCG(seed, kind)), persistent: persistent, books: map[string]*books{},
		trusting: map[string]bool{}, trues: map[string]bool{}, rare: map[string]int{},
	}
	w.state, _ = newState(nothing, nil)
	for _, q := range queues {
		w.books[q] = newBooks()
	}
	w.names = queues[:1+w.rng.IntN(2)]
	few := func(most float64) float64 { return most * w.rng.Float64() * w.rng.Float64() }
	w.odds = odds{
		twice: few(0.9), lost: few(0.5), late: few(0.5), refused: few(0.1),
		deliver: 0.05 + few(0.6), kill: few(0.15), lapse: few(0.1), stop: 0.02 + few(0.2),
	}
	if persistent {
		w.overlap = w.chance(0.6)
		w.odds.blip, w.odds.pass = few(0.1), 0.01+few(0.1)
		w.tasks = holdTasks
	}
	return w
}

func (w *world) chance(p float64) bool { return w.rng.Float64() < p }

// pick returns one of a list at random.
func pick[T any](w *world, list []T) T { return list[w.rng.IntN(len(list))] }

// fail ends the schedule.
func (w *world) fail(format string, args ...any) { panic(violation{fmt.Errorf(format, args...)}) }

func (w *world) note(format string, args ...any) {
	w.log = append(w.log, entry{event: fmt.Sprintf(format, args...)})
}

// execute has a command executed, and judges what it did.
func (w *world) execute(c *command, how string) reply {
	r, after, err := w.server.run(c, w.state)
	if err != nil {
		panic(err) // the connection, or a dump that nobody can read
	}
	switch word(r.refused) {
	case "", "FENCED", "STALE", "LOST", "ALIVE", "SUPERSEDED", "PLAIN":
	default:
		w.fail("%s: %s", c, r.refused)
	}
	w.commands++
	w.log = append(w.log, entry{command: c, how: how, reply: r})
	w.tell(c, r)
	if after == nil {
		return r
	}
	before := w.state
	w.state = after
	if err := after.wellFormed(); err != nil {
		w.fail("%w", err)
	}
	for _, q := range queues {
		s := &step{c, r, before.queues[q], after.queues[q], w.books[q], w.server.listens}
		if q == c.queue && w.persistent {
			err = s.checkHold()
		} else if q == c.queue {
			err = s.check()
		} else if !s.before.equal(s.after) {
			err = errors.New("it is not its queue, and has changed")
		}
		if err == nil && !w.persistent && (q == c.queue || s.before != s.after) {
			err = w.books[q].conserved(s.after)
		}
		if err != nil {
			w.fail("queue %s: %w", q, err)
		}
	}
	w.deathsAreFinal(before, c)
	w.listIsKept(before, c, r)
	w.holdersAreSafe()
	return r
}

// deathsAreFinal checks that no heartbeat is made again.
func (w *world) deathsAreFinal(before *state, c *command) {
	for id := range w.state.beating {
		if !before.beating[id] && before.registered[id] {
			w.fail("%s lives again", id)
		}
	}
}

// listIsKept checks that no queue leaves the list by a forget that was decided before the last
// note.
func (w *world) listIsKept(before *state, c *command, r reply) {
	switch c.script {
	case "note":
		w.notes++
	case "serve":
		if r.refused == "" && r.words[0] == "OK" {
			w.notes++
		}
	case "forget":
		if queue := c.args[0]; before.listed[queue] && !w.state.listed[queue] && c.about != any(w.notes) {
			w.fail("queue %s is forgotten, as was decided after %v notes, and there were %d", queue, c.about, w.notes)
		}
	}
}

// holdersAreSafe checks that whoever may trust its heartbeat still has what it holds.
func (w *world) holdersAreSafe() {
	for _, k := range w.workers {
		if !k.alive {
			continue
		}
		for queue := range k.left {
			if slices.Contains(w.state.workmap[k.id], queue) {
				w.fail("%s serves queue %s no more, and its workmap is %v", k.id, queue, w.state.workmap[k.id])
			}
		}
		for queue, m := range k.members {
			q := w.state.queues[queue]
			if _, member := q.members[m.id]; !member {
				w.fail("%s lives, and its membership %s was taken out of queue %s", k.id, m.id, queue)
			}
			if !slices.Contains(w.state.workmap[k.id], queue) {
				w.fail("%s serves queue %s, and its workmap is %v", k.id, queue, w.state.workmap[k.id])
			}
			for _, p := range m.inHand {
				if p.asked == "" && q.tokenOf(p.id) != p.token {
					w.fail("%s lives and works on process %s, and it is no longer its own", k.id, p.id)
				}
				if holder := q.hold.holders[fingerprint(p.task)]; w.persistent && p.asked == "" && !p.moves && holder != p.id {
					w.fail("%s lives and holds %s by process %s, and its holder is %q", k.id, p.task, p.id, holder)
				}
			}
		}
	}
}

// finished books that a Finish answered true.
func (w *world) finished(queue string, p *handled) {
	if w.trues[p.id] || !w.books[queue].done[p.id] {
		w.fail("Finish of process %s answered true; before: %v; it was finished: %v", p.id, w.trues[p.id], w.books[queue].done[p.id])
	}
	w.trues[p.id] = true
}

// deliver lets one copy arrive that is on the way.
func (w *world) deliver() {
	i := w.rng.IntN(len(w.bag))
	c := w.bag[i]
	w.bag = slices.Delete(w.bag, i, i+1)
	w.execute(c, "late")
}

// stopHeart ends a heartbeat that nobody keeps any more.
func (w *world) stopHeart(id string) {
	w.execute(&command{args: []string{"DEL", meshKey + ":worker:" + id}, by: "time"}, "")
}

// history is the log for people.
func (w *world) history() string {
	var text strings.Builder
	for _, e := range w.log {
		if e.command == nil {
			fmt.Fprintf(&text, "  %s\n", e.event)
			continue
		}
		answer := fmt.Sprintf("%q", e.reply.words)
		if e.reply.refused != "" {
			answer = e.reply.refused
		}
		fmt.Fprintf(&text, "  %-9s%s -> %s\n", e.how, e.command, answer)
	}
	return text.String()
}
