package simulator

import (
	"fmt"
	"slices"
	"strings"
)

// roll is who is in a queue, as audit tells.
type roll struct {
	waiting, marks int64
	oldest         string
	members        []string // sorted
	returning      map[string]bool
}

func (a *actor) roll(queue string) (roll, bool) {
	r, _, known := a.call("audit", queue, nil, "0")
	if !known {
		return roll{}, false
	}
	all := roll{waiting: integer(r.words[1]), marks: integer(r.words[2]), oldest: r.words[3], returning: map[string]bool{}}
	for row := range slices.Chunk(r.words[4:], 3) {
		all.members = append(all.members, row[0])
		all.returning[row[0]] = row[1] == "returning"
	}
	slices.Sort(all.members)
	return all, true
}

// reclaim takes a membership out of its queue, in small steps. why is for persistent tasks.
func (a *actor) reclaim(queue, m string, why ...string) bool {
	if !a.w.persistent {
		why = nil
	}
	for {
		r, _, known := a.call("reclaim", queue, nil, append([]string{m, pick(a.w, []string{"1", "1", "2", "4"})}, why...)...)
		if !known {
			return false
		}
		if r.words[2] == "0" {
			return true
		}
	}
}

// supervises looks after dead workers and examines queues, until it dies itself.
func (w *world) supervises(a *actor) {
	for {
		if a.w.chance(0.5) {
			a.buries()
		} else {
			a.examine(pick(w, w.names), a.notes())
		}
	}
}

// buries finds a worker without a heartbeat and returns what it holds. That the worker itself has
// stopped before is the judge's business (package heartbeat): here it is known.
func (a *actor) buries() {
	r, _, known := a.call("sweep", "", nil, a.name, lapse, "0", "0", lapse)
	if !known {
		return
	}
	var dead []string
	for row := range slices.Chunk(r.words[7:], 3) {
		if !a.w.trusting[row[0]] {
			dead = append(dead, row[0])
		}
	}
	if len(dead) == 0 {
		return
	}
	slices.Sort(dead)
	a.bury(pick(a.w, dead))
}

func (a *actor) bury(id string) bool {
	served, known := a.read("SMEMBERS", meshKey+":workmap:"+id)
	if !known {
		return false
	}
	for _, queue := range served {
		roll, known := a.roll(queue)
		if !known {
			return false
		}
		for _, m := range roll.members {
			if workerOf(m) == id && !a.reclaim(queue, m, deaths(a.w)...) {
				return false
			}
		}
	}
	_, _, known = a.call("leave", "", nil, id, "reclaimed")
	return known
}

// examine is the rota's look at one queue. notes was read before.
func (a *actor) examine(queue, notes string) bool {
	noted := a.w.notes
	roll, known := a.roll(queue)
	if !known || notes == "" {
		return false
	}
	orphans, known := a.orphans(queue, roll)
	if !known {
		return false
	}
	for _, m := range orphans {
		if !a.reclaim(queue, m, "lapse") {
			return false
		}
	}
	return a.tidy(queue, roll, notes, noted)
}

// notes tells how many notes there were, "" when it is not known.
func (a *actor) notes() string {
	list, known := a.read("HGET", meshKey+":mesh", "notes")
	if !known {
		return ""
	}
	return strings.Replace(list[0], "(nil)", "0", 1)
}

// tidy drops old marks, and the queue from the list when it is empty and unserved. notes and noted
// are the same number, as Redis told it and as this schedule counts.
func (a *actor) tidy(queue string, r roll, notes string, noted int) bool {
	if r.marks == 0 && (r.waiting > 0 || len(r.members) > 0) {
		return true
	}
	trimmed, _, known := a.call("trim", queue, nil, r.oldest)
	if known && trimmed.words[1] == "1" {
		_, _, known = a.call("forget", "", noted, queue, notes)
	}
	return known
}

// orphans are the members without an owner: see package worqr.
func (a *actor) orphans(queue string, r roll) (orphans []string, known bool) {
	newest := map[string]string{}
	var owners []string
	for _, m := range r.members {
		owner := workerOf(m)
		switch other := newest[owner]; {
		case r.returning[m]:
			orphans = append(orphans, m)
		case other == "":
			newest[owner] = m
			owners = append(owners, owner)
		default:
			older := other
			if numberOf(m) < numberOf(other) {
				older = m
			} else {
				newest[owner] = m
			}
			orphans = append(orphans, older)
		}
	}
	if len(owners) == 0 {
		return orphans, true
	}
	served, _, known := a.call("served", "", nil, append([]string{queue}, owners...)...)
	if !known {
		return nil, false
	}
	for i, owner := range owners {
		if served.words[i] == "0" {
			orphans = append(orphans, newest[owner])
		}
	}
	return orphans, true
}

// produces notes queues and enqueues tasks, now and then equal ones.
func (w *world) produces(a *actor) {
	noted := map[string]bool{}
	for {
		queue := pick(w, w.names)
		if !noted[queue] {
			if _, _, known := a.call("note", "", nil, queue); !known {
				continue
			}
			noted[queue] = true
		}
		if w.persistent {
			if r, _, known := a.call("add", queue, nil, append([]string{""}, w.some()...)...); known && r.refused == "" && r.words[1] == "1" {
				a.call("note", "", nil, queue)
			}
			continue
		}
		var tasks []string
		for range 1 + w.rng.IntN(4) {
			if len(w.tasks) == 0 || w.chance(0.8) {
				w.tasks = append(w.tasks, fmt.Sprintf("t%d", len(w.tasks)))
				tasks = append(tasks, w.tasks[len(w.tasks)-1])
			} else {
				tasks = append(tasks, pick(w, w.tasks))
			}
		}
		r, _, known := a.call("enqueue", queue, nil, tasks...)
		if known && r.words[1] == "1" {
			a.call("note", "", nil, queue)
		}
	}
}

// meddles cancels tasks, deletes queues, and fails workers by hand.
func (w *world) meddles(a *actor) {
	for {
		queue := pick(w, w.names)
		switch x := w.rng.IntN(10); {
		case w.persistent && w.chance(0.2):
			a.looksAround(queue)
		case x == 0:
			if known := w.trusted(); len(known) > 0 {
				a.call("fail", "", nil, pick(w, known))
				continue
			}
			fallthrough
		case x < 8:
			if len(w.tasks) == 0 {
				a.pause()
				continue
			}
			if newest, _, known := a.call("newest", queue, nil); known {
				a.call("cancel", queue, nil, pick(w, w.tasks), newest.words[0])
			}
		default:
			if newest, _, known := a.call("newest", queue, nil); known {
				if _, _, known := a.call("delete", queue, nil, newest.words[0]); known {
					notes, noted := a.notes(), w.notes
					if r, known := a.roll(queue); known && notes != "" {
						a.tidy(queue, r, notes, noted)
					}
				}
			}
		}
	}
}

// trusted lists the workers that may trust their heartbeat.
func (w *world) trusted() []string {
	var list []string
	for _, k := range w.workers {
		if k.alive {
			list = append(list, k.id)
		}
	}
	return list
}
