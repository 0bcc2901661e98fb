package simulator

import (
	"maps"
	"slices"
	"strconv"
)

// holdTasks are the tasks of all schedules with persistent ones.
var holdTasks = []string{"t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7"}

// deaths is why the memberships of a dead worker go back, as its judge sees it.
func deaths(w *world) []string {
	return pick(w, [][]string{{"death", "4000"}, {"death", "4000"}, {"lapse"}, {"death"}})
}

// some picks tasks, none of them twice.
func (w *world) some() []string {
	list := slices.Clone(w.tasks)
	w.rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list[:1+w.rng.IntN(len(list)-1)]
}

// reconciles makes the tasks of queues equal to lists, again and again.
func (w *world) reconciles(a *actor) {
	for {
		a.reconcile(pick(w, w.names), w.some())
	}
}

// reconcile reports whether it came to its end.
func (a *actor) reconcile(queue string, desired []string) bool {
	if _, _, known := a.call("note", "", nil, queue); !known {
		return false
	}
	g, _, known := a.call("generation", queue, nil)
	if !known {
		return false
	}
	generation := g.words[0]
	for chunk := range slices.Chunk(desired, 4) {
		r, _, known := a.call("add", queue, nil, append([]string{generation}, chunk...)...)
		if !known || r.refused != "" {
			return false
		}
	}
	page, _, known := a.call("present", queue, nil, "0")
	if !known {
		return false
	}
	extra := map[string]bool{}
	for _, task := range page.words[1:] {
		if !slices.Contains(desired, task) {
			extra[task] = true
		}
	}
	for chunk := range slices.Chunk(slices.Sorted(maps.Keys(extra)), 3) {
		r, _, known := a.call("drop", queue, nil, append([]string{generation}, chunk...)...)
		if !known || r.refused != "" {
			return false
		}
	}
	return true
}

// watches watches who is present, and takes over from whom it misses twice with the same heartbeat.
func (w *world) watches(a *actor) {
	missed := map[string]string{}
	for {
		if w.chance(0.6) {
			a.pause() // there are many others
			continue
		}
		r, _, known := a.call("watch", "", nil, a.name, lapse)
		if !known {
			continue
		}
		if r.words[1] != "watcher" {
			clear(missed)
			a.looksAround(pick(w, w.names))
			continue
		}
		now := map[string]string{}
		for row := range slices.Chunk(r.words[3:], 3) {
			if ends := row[2]; row[1] == "0" && ends != "0" {
				now[row[0]] = ends
			}
		}
		for _, id := range slices.Sorted(maps.Keys(now)) {
			if first := missed[id]; first != "" && near(first, now[id]) {
				now[id] = first
				a.rescue(id, first)
			}
		}
		missed = now
	}
}

// near reports whether two dates differ by no more than an answer may take.
func near(a, b string) bool {
	d := integer(a) - integer(b)
	return d >= -5000 && d <= 5000
}

// rescue takes over from a worker what may be taken over Fast.
func (a *actor) rescue(id, ends string) {
	served, known := a.read("SMEMBERS", meshKey+":workmap:"+id)
	if !known {
		return
	}
	for _, queue := range served {
		roll, known := a.roll(queue)
		if !known {
			return
		}
		for _, m := range roll.members {
			if workerOf(m) != id {
				continue
			}
			r, _, known := a.call("rescue", queue, nil, m, meshKey+":worker:"+id, ends, "300")
			if known && r.words[0] == "OK" {
				a.reclaim(queue, m, "death", "300")
			}
		}
	}
}

// looksAround asks where a task is, and compares that with what is stored.
func (a *actor) looksAround(queue string) {
	task := pick(a.w, a.w.tasks)
	r, _, known := a.call("locate", queue, nil, task)
	if !known {
		return
	}
	q := a.w.state.queues[queue]
	h, fp := &q.hold, fingerprint(task)
	p, held := h.holders[fp]
	date, delayed := h.delayed[task]
	want := []string{}
	switch deaths := strconv.FormatInt(h.past[fp].deaths, 10); {
	case held:
		state := "held"
		if q.ended(task, q.tokenOf(p)) {
			state = "ending"
		}
		want = []string{state, p, strconv.FormatInt(q.tokenOf(p), 10), "0", deaths}
	case delayed && date < never:
		state := "delayed"
		if h.past[fp].deaths > 2 {
			state = "suspect"
		}
		want = []string{state, "", "0", r.words[3], deaths}
	case h.unique[fp]:
		want = []string{"waiting", "", "0", "0", deaths}
	}
	if !slices.Equal(r.words, want) {
		a.w.fail("locate of %s answered %q, want %q", task, r.words, want)
	}
}
