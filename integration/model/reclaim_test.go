package model

import (
	"fmt"
	"slices"
)

// reclaim returns what dead lives hold. Where they stand among each other at the front is the one
// thing that the model leaves open: each one's own tasks stay in their order, in front of what
// waited. What is there is then adopted.
func (m *mesh) reclaim(dead []*life, found map[string][]string, seen *tally) error {
	for _, name := range m.names {
		q := m.queues[name]
		var returned [][]string
		for _, l := range dead {
			var tasks []string
			for _, p := range q.held(l) {
				p.leaveHand()
				switch {
				case !p.dropped():
					tasks = append(tasks, p.task)
					seen.add("a peer returned a task", 1)
				case p.canceled:
					seen.add("a peer dropped a canceled task", 1)
				default:
					seen.add("a peer dropped a task of a deleted queue", 1)
				}
			}
			if len(tasks) > 0 {
				returned = append(returned, tasks)
			}
		}
		if len(returned) > 1 {
			seen.add("two dead at once on one queue", 1)
		}
		n := 0
		for _, tasks := range returned {
			n += len(tasks)
		}
		got := found[name]
		if len(got) != n+len(q.waiting) || !slices.Equal(got[n:], q.waiting) || !interleaved(got[:n], returned) {
			return fmt.Errorf("after a reclaim queue %q is %q, which is no merge of %q in front of %q", name, got, returned, q.waiting)
		}
		q.waiting = slices.Clone(got)
	}
	for _, l := range dead {
		m.unregister(l)
	}
	return nil
}

// interleaved reports whether got is a merge of the parts, each in its own order.
func interleaved(got []string, parts [][]string) bool {
	failed := map[string]bool{}
	var match func(at []int, n int) bool
	match = func(at []int, n int) bool {
		if n == len(got) {
			return true
		}
		key := fmt.Sprint(at)
		if failed[key] {
			return false
		}
		for i, part := range parts {
			if at[i] < len(part) && part[at[i]] == got[n] {
				next := slices.Clone(at)
				next[i]++
				if match(next, n+1) {
					return true
				}
			}
		}
		failed[key] = true
		return false
	}
	return match(make([]int, len(parts)), 0)
}
