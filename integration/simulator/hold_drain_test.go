package simulator

import (
	"maps"
	"slices"
)

// holdOff holds all tasks of a queue, and ends them. Now and then it is given other ones before.
func (w *world) holdOff(a *actor, k *worker, queue string) {
	present := func() []string { return slices.Sorted(maps.Values(w.state.queues[queue].hold.present)) }
	desired := present()
	if w.chance(0.5) {
		desired = w.some()
		if !a.reconcile(queue, desired) {
			w.fail("the only one to reconcile did not come to an end")
		}
		slices.Sort(desired)
		if !slices.Equal(present(), desired) {
			w.fail("after a reconcile %v are present, want %v", present(), desired)
		}
	}
	if len(desired) == 0 {
		return
	}
	k.open(a, queue)
	m := k.members[queue]
	for range 20 {
		m.holdTake(a, 500)
		if len(m.inHand) >= len(desired) {
			break
		}
		w.time("HINCRBY", queueKey(queue)+":clock", "skew", "4000000000")
		for _, claim := range slices.Sorted(slices.Values(w.state.queues[queue].hold.claims)) {
			w.time("DEL", queueKey(queue)+":"+claim)
		}
	}
	var batch []*handled
	for n := int64(1); n < m.next; n++ {
		if p := m.inHand[n]; p != nil {
			p.asked = "finish"
			batch = append(batch, p)
		}
	}
	if len(batch) != len(desired) {
		w.fail("%v are present, and %d can be held: %+v", desired, len(batch), *w.state.queues[queue])
	}
	m.settle(a, batch)
	k.close(a, m)
}
