package simulator

import (
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
)

// schedule runs one schedule from its seed to the end, and returns what went wrong.
func (w *world) schedule() (err error) {
	defer func() {
		for _, a := range slices.Clone(w.actors) {
			a.stop()
		}
		if r := recover(); r != nil {
			v, is := r.(violation)
			if !is { // an answer that no actor understands
				v.error = fmt.Errorf("%v\n%s", r, debug.Stack())
			}
			err = v.error
		}
	}()
	w.futureTokens()
	for range 1 + w.rng.IntN(4) {
		w.newWorker()
	}
	for i := range 1 + w.rng.IntN(2) {
		w.spawn(fmt.Sprintf("P%d", i), w.supervises)
	}
	w.spawn("producer", w.produces)
	if w.persistent {
		w.spawnHold()
	}
	if w.chance(0.6) {
		w.spawn("meddler", w.meddles)
	}
	w.prelude()
	w.play(15+w.rng.IntN(26), nil)
	for _, k := range w.workers {
		k.retiring = true
	}
	w.play(w.rng.IntN(15), w.retired)
	w.drain()
	return nil
}

// futureTokens lets some schedules begin with a token that the clock has not reached: it was set
// back since.
func (w *world) futureTokens() {
	if !w.chance(0.3) {
		return
	}
	for _, queue := range w.names {
		if _, err := w.server.conn.Do("SET", queueKey(queue)+":token", 1<<52, "PX", lapse); err != nil {
			panic(err)
		}
	}
	var err error
	if _, w.state, err = w.server.run(&command{args: []string{"PING"}}, w.state); err != nil {
		panic(err)
	}
}

// prelude brings most schedules to where it matters without trouble.
func (w *world) prelude() {
	odds := w.odds
	w.odds = odds0
	x := w.rng.IntN(100)
	switch {
	case x < 25:
	case w.persistent && w.holdPrelude(x):
	case x < 40:
		w.crowd()
	default:
		w.holder()
		w.odds = odds
		if w.chance(0.5) {
			w.killWorker(w.workers[0])
			w.stopHeart(w.workers[0].id)
		}
	}
	w.odds = odds
}

// holder: a worker holds tasks.
func (w *world) holder() {
	w.tasks = []string{"t0", "t1", "t2", "t3", "t4", "t5"}
	k := w.workers[0]
	for range 10 {
		w.resume(k.main)
		for _, queue := range w.names {
			if w.state.listed[queue] && len(w.books[queue].accepted)+len(w.state.queues[queue].hold.present) == 0 {
				w.enqueue(queue, w.tasks...)
			}
			if m := k.members[queue]; m != nil && len(m.inHand) > 0 {
				return
			}
		}
	}
}

// crowd: three workers are idle at one queue, and two tasks come.
func (w *world) crowd() {
	w.names = queues[:1]
	for len(w.workers) < 3 {
		w.newWorker()
	}
	for _, k := range w.workers[:3] {
		for range 6 {
			w.resume(k.main)
		}
	}
	if w.state.listed[w.names[0]] {
		w.tasks = []string{"t0", "t1"}
		w.enqueue(w.names[0], w.tasks...)
	}
}

func (w *world) enqueue(queue string, tasks ...string) {
	c := &command{script: "enqueue", queue: queue, args: tasks, by: "prelude"}
	if w.persistent {
		c.script, c.args = "add", append([]string{""}, tasks...)
	}
	w.execute(c, "")
}

// play makes random steps until so many commands were executed, or done says so.
func (w *world) play(commands int, done func() bool) {
	end := w.commands + commands
	for range 20 * commands {
		if w.commands >= end || done != nil && done() {
			return
		}
		w.step()
	}
}

func (w *world) retired() bool {
	return !slices.ContainsFunc(w.workers, func(k *worker) bool { return k.alive })
}

// step is one thing that happens.
func (w *world) step() {
	switch {
	case len(w.bag) > 0 && w.chance(w.odds.deliver):
		w.deliver()
	case w.chance(w.odds.kill):
		w.killSomebody()
	case w.chance(w.odds.lapse):
		if k := pick(w, w.workers); k.alive {
			w.note("%s lapses", k.id)
			k.end()
		}
	case w.chance(w.odds.blip):
		w.blip()
	case w.chance(w.odds.pass):
		w.passTime(pick(w, w.names))
	case w.chance(w.odds.stop):
		if lapsed := w.silent(); len(lapsed) > 0 {
			w.stopHeart(pick(w, lapsed))
		}
	default:
		if w.persistent && len(w.workers) > 0 && w.chance(0.3) {
			if k := pick(w, w.workers); slices.Contains(w.actors, k.main) {
				w.resume(k.main)
			}
		} else if len(w.actors) > 0 {
			w.resume(pick(w, w.actors))
		}
	}
}

// silent lists the workers that have a heartbeat which nobody keeps.
func (w *world) silent() []string {
	var list []string
	for _, id := range slices.Sorted(maps.Keys(w.state.beating)) {
		if !w.trusting[id] {
			list = append(list, id)
		}
	}
	return list
}

// killSomebody ends an actor between two of its commands; with a worker both of its coroutines, and
// another one starts.
func (w *world) killSomebody() {
	if len(w.actors) == 0 {
		return
	}
	a := pick(w, w.actors)
	w.note("%s dies", a.name)
	for _, k := range w.workers {
		if k.main == a || k.settler == a {
			w.killWorker(k)
			return
		}
	}
	w.kill(a)
	switch a.name[0] {
	case 'P':
		w.spawn(a.name+"'", w.supervises)
	case 'J':
		w.spawn(a.name, w.watches) // the same name: it has the same claim
	}
}

func (w *world) killWorker(k *worker) {
	w.kill(k.main)
	w.kill(k.settler)
	k.end()
	w.stands(k.id, false)
	if !k.retiring && len(w.workers) < 6 {
		w.newWorker()
	}
}
