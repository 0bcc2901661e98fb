package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"
)

// What porcupine holds concurrent histories against: one queue as a plain value. Tasks of a history
// are all different, and are bytes here; so are the incarnations of workers.

// shelf is the state of the queue. It is comparable, which keeps the checker fast.
type shelf struct {
	waiting string // a byte a task, the front first
	inHand  string // three bytes a process, in the order of their takes: owner, task, '!' when it was canceled
	token   int64  // of the last take
	rank    int    // of the last enqueue
}

type verb string

const (
	enqueues verb = "enqueue"
	takes    verb = "take"
	finishes verb = "finish"
	stops    verb = "stop"         // to the front
	rotates  verb = "stop to back" // to the back
	cancels  verb = "cancel"
	fails    verb = "fail" // all that an incarnation holds goes to the front
	reads    verb = "read" // the whole state, at the end
)

type call struct {
	verb  verb
	owner byte
	tasks string // of an enqueue, else of one process
	ranks [2]int // of an enqueue: those of its first and its last task, see ranked
}

type reply struct {
	unknown bool // no answer came: it may have happened, now or later, or never
	done    bool // finish: true. cancel: the task waited. take: there was one
	task    byte // that was taken
	token   int64
	running bool // cancel: it found a holder
	open    bool // cancel: a reply was lost, and the copy that was answered does not know what the first one found
	state   shelf
}

// queueSpec is the sequential specification. An operation whose outcome is unknown returns at
// infinity: that it never happened is that it happened after all others.
var queueSpec = porcupine.Model{
	Init: func() any { return shelf{} },
	Step: func(state, input, output any) (bool, any) {
		ok, next := state.(shelf).step(input.(call), output.(reply))
		return ok, next
	},
	DescribeOperation: func(input, output any) string { return describeCall(input.(call), output.(reply)) },
	DescribeState: func(state any) string {
		return fmt.Sprintf("waiting %x, in hand %x", state.(shelf).waiting, state.(shelf).inHand)
	},
}

func (s shelf) step(c call, r reply) (bool, shelf) {
	switch c.verb {
	case enqueues:
		ordered := c.ranks[0] == 0 || c.ranks[0] > s.rank
		s.waiting, s.rank = s.waiting+c.tasks, max(s.rank, c.ranks[1])
		return ordered, s
	case takes:
		if s.waiting == "" || !r.done && !r.unknown {
			return r.unknown || s.waiting == "" && !r.done, s
		}
		task := s.waiting[0]
		s.waiting = s.waiting[1:]
		s.inHand += string([]byte{c.owner, task, ' '})
		if r.unknown {
			return true, s
		}
		rises := r.token > s.token
		s.token = r.token
		return rises && task == r.task, s
	case finishes:
		_, there, rest := s.part(c.owner, c.tasks[0])
		s.inHand = rest // the same when it was not there
		return r.unknown || there == r.done, s
	case stops, rotates:
		canceled, there, rest := s.part(c.owner, c.tasks[0])
		s.inHand = rest
		switch {
		case canceled || !there:
		case c.verb == stops:
			s.waiting = c.tasks + s.waiting
		default:
			s.waiting += c.tasks
		}
		return r.unknown || there == r.done, s
	case cancels:
		before := len(s.waiting)
		s.waiting = strings.ReplaceAll(s.waiting, c.tasks, "")
		holders := 0
		hand := []byte(s.inHand)
		for i := 0; i < len(hand); i += 3 {
			if hand[i+1] == c.tasks[0] {
				hand[i+2] = '!'
				holders++
			}
		}
		s.inHand = string(hand)
		// Holders are read after the mark was set: one that ends in between is not told, but none
		// is invented.
		counted := r.done == (len(s.waiting) < before) || r.open && !r.done
		return r.unknown || counted && (!r.running || holders > 0), s
	case fails:
		var back, rest string
		for i := 0; i < len(s.inHand); i += 3 {
			switch p := s.inHand[i : i+3]; {
			case p[0] != c.owner:
				rest += p
			case p[2] != '!':
				back += p[1:2]
			}
		}
		return true, shelf{back + s.waiting, rest, s.token, s.rank}
	case reads:
		return s.waiting == r.state.waiting && strings.ReplaceAll(s.inHand, "!", " ") == r.state.inHand, s
	}
	return false, s
}

// part returns whether a process is there and canceled, and what is in hand without it.
func (s shelf) part(owner, task byte) (canceled, there bool, rest string) {
	for i := 0; i < len(s.inHand); i += 3 {
		if s.inHand[i] == owner && s.inHand[i+1] == task {
			return s.inHand[i+2] == '!', true, s.inHand[:i] + s.inHand[i+3:]
		}
	}
	return false, false, s.inHand
}

// ranked tells the checker in which order tasks were enqueued, as far as that follows from the
// rest: what is taken first was enqueued first, a task's first take is meant, and takes are ordered
// by their tokens; what waits at the end came later, in the order in which it waits. A plain queue
// cannot do otherwise, so this changes no verdict. But without it the checker would try all orders
// of enqueues that overlap, and find out only at the end.
func ranked(history []porcupine.Operation) []porcupine.Operation {
	var first []porcupine.Operation
	waiting := ""
	for _, op := range history {
		switch in, out := op.Input.(call), op.Output.(reply); {
		case in.verb == takes && out.unknown:
			return history // its task was taken first, and nobody knows which
		case in.verb == takes && out.done:
			first = append(first, op)
		}
		waiting = op.Output.(reply).state.waiting // of a read, when that is the last operation
	}
	slices.SortFunc(first, func(a, b porcupine.Operation) int {
		return cmp.Compare(a.Output.(reply).token, b.Output.(reply).token)
	})
	order := ""
	for _, op := range first {
		order += string([]byte{op.Output.(reply).task})
	}
	ranks := map[byte]int{}
	for _, task := range []byte(order + waiting) {
		if ranks[task] == 0 {
			ranks[task] = len(ranks) + 1
		}
	}
	history = slices.Clone(history)
	for i, op := range history {
		in := op.Input.(call)
		if in.verb != enqueues {
			continue
		}
		for _, task := range []byte(in.tasks) {
			if r := ranks[task]; r > 0 {
				in.ranks[1] = r
				if in.ranks[0] == 0 {
					in.ranks[0] = r
				}
			}
		}
		history[i].Input = in
	}
	return history
}

func describeCall(c call, r reply) string {
	text := fmt.Sprintf("%s %x", c.verb, c.tasks)
	switch c.verb {
	case takes:
		text = fmt.Sprintf("take by %d: ", c.owner)
		if r.done {
			text += fmt.Sprintf("%02x", r.task)
		} else {
			text += "empty"
		}
	case reads:
		text = fmt.Sprintf("read: waiting %x, in hand %x", r.state.waiting, r.state.inHand)
	case fails:
		text = fmt.Sprintf("fail of %d", c.owner)
	case finishes, stops, rotates:
		text += fmt.Sprintf(" by %d: %v", c.owner, r.done)
	case cancels:
		text += fmt.Sprintf(": waited %v, running %v", r.done, r.running)
	}
	if r.unknown {
		text += " (unknown)"
	}
	return text
}
