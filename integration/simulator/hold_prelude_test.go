package simulator

import (
	"fmt"
	"slices"
	"strconv"
)

// spawnHold adds who takes part only where tasks are persistent.
func (w *world) spawnHold() {
	w.spawn("R0", w.reconciles)
	w.spawn("J0", w.watches)
	if w.chance(0.3) {
		w.spawn("R1", w.reconciles)
		w.spawn("J1", w.watches)
	}
}

// holdPrelude brings a schedule to where it matters, and reports whether it did.
func (w *world) holdPrelude(x int) bool {
	switch {
	case x < 45 && w.overlap:
		w.handOver()
	case x < 60:
		w.vanish()
	case x < 68:
		w.killers()
	default:
		return false
	}
	return true
}

// vanish: a worker that holds tasks is gone, and peers may take over before its lapse.
func (w *world) vanish() {
	w.names = queues[:1]
	k := w.workers[0]
	k.first = append(k.first, func(a *actor) { k.appear(a) }, func(a *actor) { k.open(a, w.names[0]) }, func(a *actor) {
		if m := k.members[w.names[0]]; m != nil {
			m.allow(a)
		}
	})
	w.holder()
	if w.chance(0.6) {
		w.killWorker(k)
	} else {
		w.stands(k.id, false)
		w.lonely(k)
	}
	for _, a := range slices.Clone(w.actors) {
		for n := w.rng.IntN(10); a.name == "J0" && n > 0; n-- {
			w.resume(a)
		}
	}
	if k.alive && w.chance(0.5) {
		k.first = append(k.first, func(a *actor) { k.appear(a) })
		w.resume(k.main)
		w.resume(k.main)
	}
}

// killers: some tasks have ended three workers, one after the other.
func (w *world) killers() {
	w.names = queues[:1]
	queue := w.names[0]
	run := func(script string, args ...string) reply {
		return w.execute(&command{script: script, queue: queue, args: args, by: "prelude"}, "")
	}
	w.execute(&command{script: "note", args: []string{queue}, by: "prelude"}, "")
	run("generation")
	w.enqueue(queue, w.some()...)
	for i := range 2 + w.rng.IntN(3) {
		m := fmt.Sprintf("ghost%d.1", i)
		run("open", m, run("newest").words[0], "1", "0", "1", "0")
		run("hold_take", m, "1", strconv.Itoa(1+w.rng.IntN(4)))
		run("reclaim", m, "500", "death", "4000")
		w.passTime(queue)
	}
}

// handOver: a worker offers what it holds, and another one serves the queue.
func (w *world) handOver() {
	w.names = queues[:1]
	w.holder()
	k := w.workers[0]
	m := k.members[w.names[0]]
	if m == nil {
		return
	}
	m.giveUp(2)
	if len(w.workers) < 2 {
		w.newWorker()
	}
	for range 5 {
		w.resume(w.workers[1].main)
	}
	for range 5 {
		w.resume(k.main)
	}
}
