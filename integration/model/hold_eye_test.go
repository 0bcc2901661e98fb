package model

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// stock is a persistent queue as it lies in Redis. Tasks are named by themselves where they are
// known, else by their fingerprints.
type stock struct {
	waiting, unique                         map[string]int
	delayed                                 map[string]int64
	holders, present, past, writing, offers map[string]string // writing: checkpoints
	weights                                 map[string]int    // by membership
	returning                               []string
	processes                               map[string]held
}

// never is the date of a task that was added again while a canceled process winds down.
const never = 9e15

// mark is what Redis has of a checkpoint.
type mark struct {
	token, count int64
	number       int // what the model wrote
}

func (m mark) before(o mark) bool {
	return m.token < o.token || m.token == o.token && m.count < o.count || m.number < o.number
}

// stock reads a queue, in two steps: nothing may be under way, or it is to be read again.
func (e *eye) stock(name string) *stock {
	q := e.queue(name)
	r := e.ask([]any{"LRANGE", q + ":tasks", 0, -1}, []any{"SMEMBERS", q + ":unique"}, []any{"HGETALL", q + ":holders"},
		[]any{"HGETALL", q + ":present"}, []any{"HGETALL", q + ":past"}, []any{"HGETALL", q + ":checkpoints"},
		[]any{"HGETALL", q + ":offers"}, []any{"HGETALL", q + ":shares"}, []any{"ZRANGE", q + ":delayed", 0, -1, "WITHSCORES"},
		[]any{"HKEYS", q + ":workers"}, []any{"SMEMBERS", q + ":returning"})
	tasks := pairs(r[3], nil)
	called := func(fp string) string {
		if task, ok := tasks[fp]; ok {
			return task
		}
		return fp
	}
	s := &stock{
		waiting: map[string]int{}, unique: map[string]int{}, delayed: map[string]int64{}, weights: map[string]int{},
		holders: pairs(r[2], called), past: pairs(r[4], called), writing: pairs(r[5], called), offers: pairs(r[6], called),
		present: map[string]string{}, returning: r[10], processes: map[string]held{},
	}
	for fp, task := range tasks {
		s.present[task] = fp
		if fp != fingerprint(task) {
			e.f.fatalf("present of %q has %q under %s", name, task, fp)
		}
	}
	for _, task := range r[0] {
		s.waiting[task]++
	}
	for _, fp := range r[1] {
		s.unique[called(fp)]++
	}
	for m, share := range pairs(r[7], nil) {
		weight, _, _ := strings.Cut(share, " ")
		s.weights[m] = e.number(weight)
	}
	for i := 0; i < len(r[8]); i += 2 {
		date, err := strconv.ParseFloat(r[8][i+1], 64)
		if err != nil {
			e.f.fatalf("the date of %q: %v", r[8][i], err)
		}
		s.delayed[r[8][i]] = int64(date)
	}
	e.lookAtHolds(q, append(r[9], r[10]...), s)
	return s
}

// lookAtHolds reads what memberships have in hand.
func (e *eye) lookAtHolds(q string, members []string, s *stock) {
	if len(members) == 0 {
		return
	}
	var commands, tasks [][]any
	for _, m := range members {
		commands = append(commands, []any{"ZRANGE", q + ":processes:" + m, 0, -1, "WITHSCORES"})
	}
	var found []held
	for i, row := range e.ask(commands...) {
		for j := 0; j < len(row); j += 2 {
			token, err := strconv.ParseFloat(row[j+1], 64)
			if err != nil {
				e.f.fatalf("the token of %s.%s: %v", members[i], row[j], err)
			}
			h := held{id: members[i] + "." + row[j], member: members[i], token: int64(token)}
			found = append(found, h)
			tasks = append(tasks, []any{"LRANGE", q + ":process:" + h.id, 0, -1})
		}
	}
	if len(found) == 0 {
		return
	}
	for i, task := range e.ask(tasks...) {
		if len(task) == 1 {
			found[i].task = task[0]
			s.processes[found[i].id] = found[i]
		} else {
			s.processes[found[i].id] = held{task: fmt.Sprintf("%d tasks: %q", len(task), task)}
		}
	}
}

// checkpoint reads what Redis has of a task's checkpoint.
func (s *stock) checkpoint(task string) (m mark) {
	_, _ = fmt.Sscanf(s.writing[task], "%d %d\n%d", &m.token, &m.count, &m.number) // none is 0
	return m
}

// deaths reads how many early deaths Redis has counted for a task.
func (s *stock) deaths(task string) (n int) {
	var why string
	var token, fails int
	_, _ = fmt.Sscanf(s.past[task], "%s %d %d %d", &why, &token, &fails, &n) // no past: none
	return n
}

func (e *eye) number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		e.f.fatalf("%q is no number", text)
	}
	return n
}

// pairs makes a map of a flat list.
func pairs(list []string, name func(string) string) map[string]string {
	m := make(map[string]string, len(list)/2)
	for i := 0; i+1 < len(list); i += 2 {
		key := list[i]
		if name != nil {
			key = name(key)
		}
		m[key] = list[i+1]
	}
	return m
}

func fingerprint(task string) string {
	sum := sha1.Sum([]byte(task))
	return hex.EncodeToString(sum[:])
}
