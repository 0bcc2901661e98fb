package simulator

import (
	"maps"
	"slices"
	"strconv"
)

// stands makes the presence connection of a worker stand, or ends it.
func (w *world) stands(id string, is bool) {
	if w.server.present[id] == is {
		return
	}
	if err := w.server.appear(id, is); err != nil {
		panic(err)
	}
	w.note("the presence connection of %s stands: %v", id, is)
}

// blip ends the presence connection of a worker. One that lives ends at once all that may be taken
// over from now on: it is quicker than any peer.
func (w *world) blip() {
	ids := slices.Sorted(maps.Keys(w.server.present))
	if len(ids) == 0 {
		return
	}
	id := pick(w, ids)
	w.stands(id, false)
	for _, k := range w.workers {
		if k.id == id {
			w.lonely(k)
		}
	}
}

// lonely is what a worker does that has lost its presence connection.
func (w *world) lonely(k *worker) {
	k.present = false
	for _, queue := range slices.Sorted(maps.Keys(k.members)) {
		if m := k.members[queue]; m.heeds {
			m.ended = true
			delete(k.members, queue)
			k.rest = append(k.rest, m)
		}
	}
}

// passTime lets time pass for what is delayed or claimed, or has Redis's clock step back: the
// queue's clock then goes on.
func (w *world) passTime(queue string) {
	h := &w.state.queues[queue].hold
	if len(h.delayed) == 0 && len(h.claims) == 0 {
		return
	}
	field, seconds := "skew", pick(w, []int{1, 1, 40, 4000})
	if h.clock && w.chance(0.2) {
		field = "last"
	}
	if len(h.delayed) > 0 {
		w.time("HINCRBY", queueKey(queue)+":clock", field, strconv.Itoa(seconds*1000000))
	}
	for _, claim := range slices.Sorted(slices.Values(h.claims)) {
		w.time("DEL", queueKey(queue)+":"+claim)
	}
}

// time has a command executed that stands for what time does.
func (w *world) time(args ...string) { w.execute(&command{args: args, by: "time"}, "") }
