package simulator

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// putback checks what went back from returning memberships, the newest first, and returns the list
// that should wait now.
func (s *step) putback(budget int, fenced string) (want []string, back, dropped int, err error) {
	gone := minus(s.before, s.after)
	var due []process
	for m, held := range s.before.held {
		if s.before.returning[m] || m == fenced {
			for _, h := range held {
				due = append(due, process{h.process, h.token, s.before.task(h.process)})
			}
		}
	}
	slices.SortFunc(due, func(x, y process) int { return cmp.Compare(y.token, x.token) })
	if len(gone) != min(budget, len(due)) || !slices.Equal(gone, due[:len(gone)]) {
		return nil, 0, 0, fmt.Errorf("put back: %v of %v, with a budget of %d", gone, due, budget)
	}
	want = slices.Clone(s.before.tasks)
	for _, p := range gone {
		if s.books.ended(p.task, p.token) {
			s.books.drop(p.task, p.token)
			dropped++
		} else {
			want = append(want, p.task)
			back++
			if s.books.accepted[p.task] == 1 { // copies cannot be told apart
				s.books.order[p.task] = place{membershipOf(p.id), p.token}
			}
		}
	}
	return want, back, dropped, nil
}

func (s *step) reclaim() error {
	m, budget := s.command.args[0], int(integer(s.command.args[1]))
	fenced, was := "", "0"
	if _, is := s.before.members[m]; is {
		fenced, was = m, "1"
	}
	want, back, dropped, err := s.putback(budget, fenced)
	if err != nil {
		return err
	}
	if len(s.reply.words) != 4 {
		return fmt.Errorf("it answered %v", s.reply)
	}
	more := "0"
	if s.after.returning[m] {
		more = "1"
	}
	if told := []string{fmt.Sprint(back), fmt.Sprint(dropped), more, was}; !slices.Equal(told, s.reply.words) {
		return fmt.Errorf("it answered %v, want %v", s.reply.words, told)
	}
	if _, is := s.after.members[m]; is {
		return fmt.Errorf("%s is still a member", m)
	}
	idle := len(s.before.idle)
	if s.before.idle[m] {
		idle--
	}
	wakes := back
	if more == "0" { // who died may have taken wake-ups with it: at the end one for each task that waits
		wakes = len(want)
	}
	return errors.Join(s.tasksAre(want), s.woken(idle, wakes))
}

// helpOfTaker is how many processes a take puts back while a reclaim is under way.
const helpOfTaker = 32

func (s *step) take() error {
	m, first, count, park := s.command.args[0], integer(s.command.args[1]), integer(s.command.args[2]), s.command.args[3] == "1"
	last := first + count - 1
	stored, member := s.before.members[m]
	if !member {
		if word(s.reply.refused) != "FENCED" || !s.before.equal(s.after) {
			return fmt.Errorf("%s is no member; it answered %v", m, s.reply)
		}
		return nil
	}
	told, err := brought(m, s.reply)
	if err != nil {
		return err
	}
	var listed []process // what these numbers hold now
	for _, h := range s.after.held[m] {
		if n := numberOf(h.process); n >= first && n <= last {
			listed = append(listed, process{h.process, h.token, s.after.task(h.process)})
		}
	}
	slices.SortFunc(listed, func(x, y process) int { return cmp.Compare(numberOf(x.id), numberOf(y.id)) })
	if !slices.Equal(told, listed) {
		return fmt.Errorf("it told of %v and %v is there", told, listed)
	}
	if last <= stored {
		if !s.before.equal(s.after) {
			return errors.New("a repeated take changed the queue")
		}
		return nil
	}
	want, back, _, err := s.putback(helpOfTaker, "")
	if err != nil {
		return err
	}
	drawn := minus(s.after, s.before)
	slices.Reverse(drawn)
	if len(s.after.returning) > 0 {
		if s.reply.words[1] != "HELP" || len(drawn) > 0 || s.after.members[m] != stored {
			return fmt.Errorf("a reclaim is under way: it answered %v", s.reply)
		}
		return errors.Join(s.tasksAre(want), s.woken(len(s.before.idle), back))
	}
	state := "OK"
	if len(s.after.tasks) > 0 {
		state = "MORE"
	}
	if s.reply.words[1] != state || s.after.members[m] != last {
		return fmt.Errorf("its number is %d, want %d; it answered %v", s.after.members[m], last, s.reply)
	}
	from := max(first, stored+1)
	n := min(len(want), int(last-from+1))
	if len(drawn) != n {
		return fmt.Errorf("it drew %v, want %d tasks", drawn, n)
	}
	for i, p := range drawn {
		front := want[len(want)-1]
		want = want[:len(want)-1]
		if p.task != front || p.id != fmt.Sprintf("%s.%d", m, from+int64(i)) {
			return fmt.Errorf("it drew %v, the front was %q", p, front)
		}
		if err := s.inOrder(p.task, want); err != nil {
			return err
		}
	}
	return errors.Join(s.tasksAre(want), s.afterTake(m, back, park && n < int(last-from+1)))
}

// afterTake checks who is idle now: one was woken for each task that came back, and one for what is
// left.
func (s *step) afterTake(m string, back int, parks bool) error {
	parked := parks && len(s.after.tasks) == 0
	if s.after.idle[m] != parked {
		return fmt.Errorf("%s is idle: %v, with %d tasks left", m, s.after.idle[m], len(s.after.tasks))
	}
	idle, told := len(s.before.idle), back
	if s.before.idle[m] {
		if back > 0 {
			return nil // it may have been woken itself, or have left by this take
		}
		idle--
	}
	if len(s.after.tasks) > 0 {
		told++
	}
	left := idle - s.told(idle, told)
	if parked {
		left++
	}
	return s.left(left)
}

// inOrder checks that a task that came back is taken before the younger ones of the membership that
// held it.
func (s *step) inOrder(task string, waiting []string) error {
	p, back := s.books.order[task]
	delete(s.books.order, task)
	if !back {
		return nil
	}
	for other, o := range s.books.order {
		if o.membership == p.membership && o.token < p.token && slices.Contains(waiting, other) {
			return fmt.Errorf("%s is taken before %s, which is older; both came back from %s", task, other, p.membership)
		}
	}
	return nil
}

// settling is what the sender of a settle meant.
type settling struct {
	processes []process
	outcomes  []string
}

func (s *step) settle() error {
	m, meant := s.command.args[0], s.command.about.(settling)
	if _, member := s.before.members[m]; !member {
		if word(s.reply.refused) != "FENCED" || !s.before.equal(s.after) {
			return fmt.Errorf("%s is no member; it answered %v", m, s.reply)
		}
		return nil
	}
	words := outcomes(s.reply)
	if len(words) != len(meant.processes) {
		return fmt.Errorf("it answered %v", s.reply)
	}
	want, back, ended := slices.Clone(s.before.tasks), 0, map[string]bool{}
	for i, p := range meant.processes {
		token, told := s.before.tokenOf(p.id), words[i]
		if ended[p.id] {
			token = 0
		}
		if there := token == p.token; there == (told == "gone") {
			return fmt.Errorf("%v was meant; in hand with token %d is task %q; it answered %s", p, token, s.before.task(p.id), told)
		}
		if told == "gone" {
			continue
		}
		ended[p.id] = true
		switch outcome := meant.outcomes[i]; {
		case outcome == "finish":
			if s.books.done[p.id] {
				return fmt.Errorf("process %s was finished twice", p.id)
			}
			s.books.done[p.id] = true
			s.books.finished[p.task]++
		case outcome == "cancel" && told == "done" && s.books.ended(p.task, token):
			s.books.drop(p.task, token)
		case s.books.ended(p.task, token):
			if told != "dropped" {
				return fmt.Errorf("process %s was canceled, and is put back: %s", p.id, told)
			}
			s.books.drop(p.task, token)
		case told != "done":
			return fmt.Errorf("process %s was not canceled: %s", p.id, told)
		case outcome == "front":
			want, back = append(want, p.task), back+1
		default:
			want, back = append([]string{p.task}, want...), back+1
		}
	}
	if gone := minus(s.before, s.after); len(gone) != len(ended) {
		return fmt.Errorf("processes %v have gone, want %v", gone, ended)
	}
	return errors.Join(s.tasksAre(want), s.woken(len(s.before.idle), back))
}

// word is the first word of a refusal.
func word(refusal string) string {
	for i, c := range refusal {
		if c == ' ' {
			return refusal[:i]
		}
	}
	return refusal
}
