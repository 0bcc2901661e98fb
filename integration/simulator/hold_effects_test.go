package simulator

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// checkHold is check for a queue of persistent tasks.
func (s *step) checkHold() error {
	if err := errors.Join(s.common(), s.supersede()); err != nil {
		return err
	}
	if s.reply.refused != "" {
		return s.refusedRightly()
	}
	e := s.expect()
	err := s.mutate(e)
	// The invariants come first: what they say is said best.
	if wrong := errors.Join(s.after.hold.wellFormed(s.after, s.books), s.checkpointsStay()); wrong != nil {
		return wrong
	}
	if err != nil {
		return err
	}
	return e.met()
}

// mutate brings what is expected from before the command to after it.
func (s *step) mutate(e *expectedHold) error {
	switch s.command.script {
	case "add":
		return s.add(e)
	case "hold_take":
		return s.holdTake(e)
	case "hold_settle":
		return s.holdSettle(e)
	case "hold_look":
		return errors.Join(e.promote(), s.holdLook())
	case "reclaim":
		return s.holdReclaim(e)
	case "rescue":
		return s.rescue()
	case "cancel":
		return s.holdCancel(e)
	case "drop":
		return s.drop(e)
	case "delete":
		return s.holdDelete(e)
	case "offer":
		return s.offer(e)
	case "ready":
		return s.ready(e)
	case "checkpoint":
		return s.checkpoint()
	case "generation":
		if s.after.hold.policy["generation"] != s.reply.words[0] || integer(s.reply.words[0]) <= s.before.token {
			return fmt.Errorf("it answered %v, and the policy is %v", s.reply, s.after.hold.policy)
		}
	case "weigh":
		if got := s.after.hold.shares[s.command.args[0]].weight; got != integer(s.command.args[1]) {
			return fmt.Errorf("the weight is %d", got)
		}
	case "allow":
		if !s.after.hold.fast[s.command.args[0]] {
			return errors.New("it is not Fast")
		}
	}
	return nil
}

// refusedRightly checks why a command was refused, and that it changed nothing.
func (s *step) refusedRightly() error {
	if !s.before.equal(s.after) {
		return fmt.Errorf("it was refused with %q, and changed the queue", s.reply.refused)
	}
	is := false
	switch word(s.reply.refused) {
	case "FENCED":
		_, member := s.before.members[s.command.args[0]]
		is = !member
	case "PLAIN":
		is = s.before.hold.policy["persistent"] != "1"
	case "SUPERSEDED":
		is = s.before.hold.policy["generation"] != s.command.args[0]
	case "STALE":
		is = s.before.closed > 0
	}
	if !is {
		return fmt.Errorf("it was refused with %q; members %v, policy %v", s.reply.refused, s.before.members, s.before.hold.policy)
	}
	return nil
}

func (s *step) add(e *expectedHold) error {
	added := 0
	for _, task := range s.command.args[1:] {
		fp := fingerprint(task)
		p, held := e.holders[fp]
		switch {
		case e.unique[fp], held && !s.before.ended(task, s.before.tokenOf(p)):
			continue
		case held:
			e.delayed[task] = never
		default:
			e.forget(fp)
			e.tasks = append([]string{task}, e.tasks...)
		}
		e.unique[fp] = true
		e.present[fp] = task
		added++
	}
	if want := fmt.Sprint(added); s.reply.words[2] != want {
		return fmt.Errorf("it answered %v, want %s added", s.reply.words, want)
	}
	return nil
}

// holdCancel: see mark, which does the same for one-shot tasks.
func (s *step) holdCancel(e *expectedHold) error {
	task := s.command.args[0]
	fp := fingerprint(task)
	again, err := s.drawnMark(fp, s.books.marks[task])
	if err != nil || again {
		return err
	}
	s.books.marks[task] = integer(s.reply.words[1])
	var want []string
	for _, p := range []string{e.holders[fp], e.offers[fp]} {
		if token := s.before.tokenOf(p); token > 0 && !slices.Contains(want, p) {
			want = append(want, p, strconv.FormatInt(token, 10))
		}
	}
	if got := s.reply.words[2:]; got[0] != "1" || !slices.Equal(got[1:], want) {
		return fmt.Errorf("it named %v, in hand were %v", got, want)
	}
	waited := "0"
	if e.unique[fp] {
		waited = "1"
		e.stopWaiting(task)
		e.tidy()
	}
	if s.reply.words[0] != waited {
		return fmt.Errorf("it answered %v, want %s waiting", s.reply.words, waited)
	}
	return nil
}

// stopWaiting ends a task that waits, is delayed or was added again.
func (e *expectedHold) stopWaiting(task string) {
	e.unwait(task)
	if fp := fingerprint(task); e.holders[fp] == "" {
		e.forget(fp)
	}
}

// drawnMark checks the mark of a cancel or a delete, or that a second copy did nothing.
func (s *step) drawnMark(mark string, last int64) (again bool, err error) {
	removed, token := s.reply.words[0], integer(s.reply.words[1])
	if last > integer(s.command.args[len(s.command.args)-1]) {
		if removed != "0" || token != last || !s.before.equal(s.after) {
			return true, fmt.Errorf("a second copy answered %v", s.reply.words)
		}
		return true, nil
	}
	if token <= s.before.token || s.after.marks[mark] != token {
		return false, fmt.Errorf("its mark is %d, stored %d, and the last token was %d", token, s.after.marks[mark], s.before.token)
	}
	return false, nil
}

func (s *step) holdDelete(e *expectedHold) error {
	again, err := s.drawnMark("*", s.books.wiped)
	if err != nil || again {
		return err
	}
	s.books.wiped = integer(s.reply.words[1])
	if want := strconv.Itoa(len(e.tasks) + len(e.delayed)); s.reply.words[0] != want {
		return fmt.Errorf("it answered %v, want %s", s.reply.words, want)
	}
	for fp := range e.unique {
		if e.holders[fp] == "" {
			e.forget(fp)
		}
	}
	e.tasks = nil
	clear(e.unique)
	clear(e.delayed)
	e.tidy()
	return nil
}

func (s *step) drop(e *expectedHold) error {
	n := 0
	for _, task := range s.command.args[1:] {
		fp := fingerprint(task)
		found := e.unique[fp]
		if found {
			e.stopWaiting(task)
		}
		// The mark of a deleted queue ends no process.
		if p := e.holders[fp]; p != "" && s.before.marks[fp] < s.before.tokenOf(p) {
			found = true
			if s.after.marks[fp] <= s.before.token {
				return fmt.Errorf("task %s is held by %s and got no mark", task, p)
			}
			s.books.marks[task] = s.after.marks[fp]
		}
		if found {
			n++
		}
	}
	e.tidy()
	if want := strconv.Itoa(n); s.reply.words[0] != want {
		return fmt.Errorf("it answered %v, want %s", s.reply.words, want)
	}
	return nil
}

func (s *step) offer(e *expectedHold) error {
	m, number, token := s.command.args[0], s.command.args[1], integer(s.command.args[2])
	p := m + "." + number
	task := s.before.task(p)
	fp, want := fingerprint(task), ""
	switch holder := e.holders[fp]; {
	case s.before.tokenOf(p) != token || holder == p && s.before.ended(task, token):
		want = "gone"
	case holder == p:
		want = "offered"
		if !e.unique[fp] {
			e.unique[fp] = true
			e.tasks = append(e.tasks, task)
			e.offers[fp] = p
			r := e.past[fp]
			e.past[fp] = record{"rebalance", token, r.fails, r.deaths}
		}
	case holder == "" && e.unique[fp]: // who took it gave it back
		want = "offered"
	case holder == "" || e.offers[fp] == "ready "+holder:
		want = "ready"
	default:
		want = "taken"
	}
	if s.reply.words[0] != want {
		return fmt.Errorf("it answered %v, want %s; the task is held by %q", s.reply.words, want, e.holders[fp])
	}
	return nil
}

func (s *step) ready(e *expectedHold) error {
	p, fp := s.command.args[0]+"."+s.command.args[1], fingerprint(s.command.args[2])
	want := "gone"
	if e.holders[fp] == p {
		want = "OK"
		if before := e.offers[fp]; before != "" && before != p && !strings.HasPrefix(before, "ready ") {
			e.offers[fp] = "ready " + p
		}
	}
	if s.reply.words[0] != want {
		return fmt.Errorf("it answered %v, want %s", s.reply.words, want)
	}
	return nil
}

// checkpoint checks a command with one checkpoint.
func (s *step) checkpoint() error {
	m, number, token, count := s.command.args[0], s.command.args[1], integer(s.command.args[2]), integer(s.command.args[3])
	p := m + "." + number
	fp := fingerprint(s.before.task(p))
	want := "gone"
	if s.before.tokenOf(p) == token && s.before.hold.holders[fp] == p {
		want = "kept"
		is := checkpoint{token, count, s.command.args[4]}
		if got := s.after.hold.checkpoints[fp]; got.before(is) {
			return fmt.Errorf("%v is kept, and not %v", got, is)
		}
	}
	if s.reply.words[0] != want {
		return fmt.Errorf("it answered %v, want %s", s.reply.words, want)
	}
	return nil
}
