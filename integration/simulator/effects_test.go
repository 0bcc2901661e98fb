package simulator

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// step is one executed command, with the state of its queue before and after.
type step struct {
	command *command
	reply   reply
	before  *queueState
	after   *queueState
	books   *books
	listens bool
}

// process is one process as the states tell of it.
type process struct {
	id    string
	token int64
	task  string
}

// minus returns the processes of a that are not in b, the newest token first.
func minus(a, b *queueState) []process {
	var list []process
	for _, held := range a.held {
		for _, h := range held {
			if b.tokenOf(h.process) != h.token {
				list = append(list, process{h.process, h.token, a.task(h.process)})
			}
		}
	}
	slices.SortFunc(list, func(x, y process) int { return cmp.Compare(y.token, x.token) })
	return list
}

// check tells what this command may not have done, and books what it did.
func (s *step) check() error {
	if err := s.common(); err != nil {
		return err
	}
	switch s.command.script {
	case "enqueue":
		return s.enqueue()
	case "take":
		return s.take()
	case "settle":
		return s.settle()
	case "reclaim":
		return s.reclaim()
	case "cancel", "delete":
		return s.mark()
	case "open", "trim": // a mark of a day ago is never there
		return s.tasksUnmoved()
	case "wake":
		return errors.Join(s.tasksUnmoved(), s.woken(len(s.before.idle), min(1, len(s.before.tasks))))
	default: // the others only read
		if !s.before.equal(s.after) {
			return errors.New("it changed the queue")
		}
		return nil
	}
}

// common holds for every script: who may come and go, and that tokens only rise.
func (s *step) common() error {
	script, before, after := s.command.script, s.before, s.after
	takes := script == "take" || script == "hold_take"
	fences := script == "reclaim" || script == "rescue"
	if after.token < before.token {
		return fmt.Errorf("the token fell from %d to %d", before.token, after.token)
	}
	for m, n := range after.members {
		old, was := before.members[m]
		switch {
		case !was && (script != "open" || m != s.command.args[0]):
			return fmt.Errorf("%s has become a member", m)
		case !was && s.books.closed[m]:
			return fmt.Errorf("%s is a member again after it was taken out", m)
		case was && n != old && (!takes || m != s.command.args[0] || n < old):
			return fmt.Errorf("the number of %s went from %d to %d", m, old, n)
		}
	}
	for m := range before.members {
		if _, is := after.members[m]; !is {
			if !fences || m != s.command.args[0] {
				return fmt.Errorf("%s is no member any more", m)
			}
			s.books.closed[m] = true
		}
	}
	for m := range after.returning {
		if _, was := before.members[m]; !before.returning[m] && (!fences || m != s.command.args[0] || !was) {
			return fmt.Errorf("%s is returning", m)
		}
	}
	for m := range before.returning {
		if !after.returning[m] && script != "reclaim" && script != "take" {
			return fmt.Errorf("%s is not returning any more", m)
		}
	}
	for _, p := range minus(after, before) {
		if !takes || membershipOf(p.id) != s.command.args[0] {
			return fmt.Errorf("process %s has appeared", p.id)
		}
		if _, twice := s.books.drawn[p.id]; twice || p.token <= before.token {
			return fmt.Errorf("process %s has appeared with token %d, the last was %d; it existed before: %v", p.id, p.token, before.token, twice)
		}
		s.books.drawn[p.id] = p.token
	}
	for mark, token := range after.marks {
		if was := before.marks[mark]; token != was && (token <= before.token || script != "cancel" && script != "delete" && script != "drop") {
			return fmt.Errorf("mark %s went from %d to %d", mark, was, token)
		}
	}
	for mark := range before.marks {
		if after.marks[mark] == 0 {
			return fmt.Errorf("mark %s has gone", mark)
		}
	}
	return nil
}

func (s *step) tasksUnmoved() error {
	if !slices.Equal(s.before.tasks, s.after.tasks) {
		return fmt.Errorf("waiting tasks went from %q to %q", s.before.tasks, s.after.tasks)
	}
	if gone := minus(s.before, s.after); len(gone) > 0 {
		return fmt.Errorf("processes have gone: %v", gone)
	}
	return nil
}

// tasksAre checks the list of waiting tasks, which the step's rules foretell.
func (s *step) tasksAre(want []string) error {
	if !slices.Equal(want, s.after.tasks) {
		return fmt.Errorf("waiting tasks went from %q to %q, want %q (the front last)", s.before.tasks, s.after.tasks, want)
	}
	return nil
}

// woken checks how many of the idle ones were told: one for each of n, or all when nobody listens.
func (s *step) woken(idle, n int) error { return s.left(idle - s.told(idle, n)) }

func (s *step) told(idle, n int) int {
	if n > 0 && !s.listens {
		return idle
	}
	return min(n, idle)
}

// left checks how many are idle now.
func (s *step) left(want int) error {
	if n := len(s.after.idle); n != want {
		return fmt.Errorf("%d memberships were idle and %d are, want %d", len(s.before.idle), n, want)
	}
	return nil
}

func (s *step) enqueue() error {
	if s.reply.refused != "" {
		return errors.New(s.reply.refused)
	}
	want := slices.Clone(s.command.args)
	slices.Reverse(want)
	for _, t := range want {
		s.books.accepted[t]++
		delete(s.books.order, t) // from here on copies cannot be told apart
	}
	if gone := minus(s.before, s.after); len(gone) > 0 {
		return fmt.Errorf("processes have gone: %v", gone)
	}
	return errors.Join(s.tasksAre(append(want, s.before.tasks...)), s.woken(len(s.before.idle), len(s.command.args)))
}

// mark checks a cancel or a delete.
func (s *step) mark() error {
	if gone := minus(s.before, s.after); len(gone) > 0 {
		return fmt.Errorf("processes have gone: %v", gone)
	}
	cancel, answered := s.command.script == "cancel", len(s.reply.words)
	if !cancel && answered != 2 || cancel && (answered < 3 || answered%2 != 1) {
		return fmt.Errorf("it answered %v", s.reply)
	}
	removed, token := integer(s.reply.words[0]), integer(s.reply.words[1])
	task, mark := "", "*"
	last := s.books.wiped
	since := integer(s.command.args[len(s.command.args)-1])
	if cancel {
		task = s.command.args[0]
		mark, last = fingerprint(task), s.books.marks[task]
	}
	if last > since { // it has run, or a later one has
		if cancel && !slices.Equal(s.reply.words[2:], []string{"0"}) {
			return fmt.Errorf("a second copy answered %v", s.reply.words)
		}
		if removed != 0 || token != last || !s.before.equal(s.after) {
			return fmt.Errorf("a second copy answered %v and did something", s.reply.words)
		}
		return nil
	}
	if token <= s.before.token || s.after.marks[mark] != token {
		return fmt.Errorf("its mark is %d, stored %d, and the last token was %d", token, s.after.marks[mark], s.before.token)
	}
	var want []string
	n := 0
	for _, t := range s.before.tasks {
		switch {
		case task == "":
			s.books.deleted[t]++
			n++
		case task == t:
			s.books.canceled[t]++
			n++
		default:
			want = append(want, t)
		}
	}
	if task == "" {
		s.books.wiped = token
	} else {
		s.books.marks[task] = token
	}
	if int64(n) != removed {
		return fmt.Errorf("it answered %d, there were %d", removed, n)
	}
	if !maps.Equal(s.before.idle, s.after.idle) {
		return errors.New("it changed who is idle")
	}
	if cancel {
		if err := s.named(task, s.reply.words[2:]); err != nil {
			return err
		}
	}
	return s.tasksAre(want)
}

// named checks that a cancel names every copy that was in hand, with its token.
func (s *step) named(task string, words []string) error {
	var want, got []string
	for _, held := range s.before.held {
		for _, h := range held {
			if s.before.task(h.process) == task {
				want = append(want, h.process+" "+strconv.FormatInt(h.token, 10))
			}
		}
	}
	for i := 1; i+1 < len(words); i += 2 {
		got = append(got, words[i]+" "+words[i+1])
	}
	slices.Sort(want)
	slices.Sort(got)
	if words[0] != "1" || !slices.Equal(want, got) {
		return fmt.Errorf("it named %v, in hand were %v", words, want)
	}
	return nil
}

func integer(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		panic("not a number: " + s)
	}
	return n
}

func numberOf(process string) int64 { return integer(process[len(membershipOf(process))+1:]) }
