package simulator

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// holdTold is one process as a take of persistent tasks tells of it.
type holdTold struct {
	process
	past string
}

// broughtHolds reads what a take of persistent tasks answered.
func broughtHolds(m string, r reply) ([]holdTold, error) {
	if len(r.words) < 4 || len(r.words)%2 != 0 {
		return nil, fmt.Errorf("it answered %v", r)
	}
	flat := reply{words: slices.Clone(r.words[:3])}
	for row := range slices.Chunk(r.words[4:], 2) {
		flat.words = append(flat.words, row[0])
	}
	list, err := brought(m, flat)
	var told []holdTold
	for i, p := range list {
		told = append(told, holdTold{p, r.words[5+2*i]})
	}
	return told, err
}

// pastOf is what a take has to tell of a task.
func pastOf(h *holdState, fp string) string {
	r, is := h.past[fp]
	c, kept := h.checkpoints[fp]
	switch {
	case is && kept:
		return fmt.Sprintf("%s %d\n%s", r.why, r.token, c.data)
	case is:
		return fmt.Sprintf("%s %d", r.why, r.token)
	case kept:
		return fmt.Sprintf(" %d\n%s", c.token, c.data)
	}
	return ""
}

func (s *step) holdTake(e *expectedHold) error {
	m, first, count := s.command.args[0], integer(s.command.args[1]), integer(s.command.args[2])
	last, stored := first+count-1, s.before.members[m]
	told, err := broughtHolds(m, s.reply)
	if err != nil {
		return err
	}
	var there []holdTold // what these numbers hold now
	for _, h := range s.after.held[m] {
		if n := numberOf(h.process); n >= first && n <= last {
			task := s.after.task(h.process)
			there = append(there, holdTold{process{h.process, h.token, task}, pastOf(&s.after.hold, fingerprint(task))})
		}
	}
	slices.SortFunc(there, func(a, b holdTold) int { return cmp.Compare(numberOf(a.id), numberOf(b.id)) })
	if !slices.Equal(told, there) {
		return fmt.Errorf("it told of %v and %v is there", told, there)
	}
	if err := e.promote(); err != nil {
		return err
	}
	from := max(first, stored+1)
	if from > last {
		if s.reply.words[1] != "OK" {
			return fmt.Errorf("it answered %v", s.reply.words)
		}
		return nil
	}
	if s.after.members[m] != last {
		return fmt.Errorf("its number is %d, want %d", s.after.members[m], last)
	}
	// Of what could go to several, M may have its part or not.
	least, most := e.fallTo(m, false), e.fallTo(m, true)
	for share := most; ; share-- {
		try, n, state := *e, min(share, last-from+1), "OK"
		try.tasks, try.holders, try.unique = slices.Clone(e.tasks), clone(e.holders), clone(e.unique)
		if try.draw(m, from, n); share > n {
			state = "MORE"
		}
		if s.reply.words[1] == state && try.met() == nil {
			*e = try
			return nil
		}
		if share == least {
			return fmt.Errorf("it answered %v with %q waiting; %d to %d fall to it: %w", s.reply.words, s.after.tasks, least, most, try.met())
		}
	}
}

// draw takes up to n tasks. What M offers itself stays with it, and of what killed its worker twice
// M may have to leave some: then it waits behind the others.
func (e *expectedHold) draw(m string, number, n int64) {
	for left := len(e.tasks); n > 0 && left > 0 && len(e.tasks) > 0; {
		task := e.tasks[len(e.tasks)-1]
		e.tasks = e.tasks[:len(e.tasks)-1]
		fp := fingerprint(task)
		p, held := e.holders[fp]
		r := e.past[fp]
		id := fmt.Sprintf("%s.%d", m, number)
		switch {
		case held && membershipOf(p) == m:
			delete(e.unique, fp)
		case !held && r.why == "death" && r.deaths > 1 && e.s.after.task(id) != task:
			e.tasks = append([]string{task}, e.tasks...)
			left--
		default:
			e.holders[fp] = id
			delete(e.unique, fp)
			number++
			n--
		}
	}
}

func (s *step) holdSettle(e *expectedHold) error {
	meant, words := s.command.about.(settling), outcomes(s.reply)
	if len(words) != len(meant.processes) {
		return fmt.Errorf("it answered %v", s.reply)
	}
	ended := map[string]bool{}
	for i, p := range meant.processes {
		if s.before.tokenOf(p.id) != p.token || ended[p.id] {
			if words[i] != "gone" {
				return fmt.Errorf("%v was meant and is not in hand; it answered %s", p, words[i])
			}
			continue
		}
		ended[p.id] = true
		want, err := e.letgo(p, fate{why: meant.outcomes[i]})
		if err != nil {
			return err
		}
		s.books.done[p.id] = meant.outcomes[i] == "finish" && want == "done"
		if words[i] != want {
			return fmt.Errorf("%v was meant; it answered %s, want %s", p, words[i], want)
		}
	}
	if gone := minus(s.before, s.after); len(gone) != len(ended) {
		return fmt.Errorf("processes %v have gone, want %v", gone, ended)
	}
	if len(ended) > 0 {
		e.tidy()
	}
	return nil
}

// holdReclaim: what goes back goes in the order of the tokens, each for the reason for which its
// membership was taken out first.
func (s *step) holdReclaim(e *expectedHold) error {
	m, budget := s.command.args[0], int(integer(s.command.args[1]))
	_, member := s.before.members[m]
	gone := minus(s.before, s.after)
	var due []process
	for one, held := range s.before.held {
		if s.before.returning[one] || one == m && member {
			for _, h := range held {
				due = append(due, process{h.process, h.token, s.before.task(h.process)})
			}
		}
	}
	slices.SortFunc(due, func(x, y process) int { return cmp.Compare(y.token, x.token) })
	if len(gone) != min(budget, len(due)) || !slices.Equal(gone, due[:len(gone)]) {
		return fmt.Errorf("put back: %v of %v, with a budget of %d", gone, due, budget)
	}
	dropped := 0
	for _, p := range gone {
		f, err := s.fateOf(membershipOf(p.id))
		if err != nil {
			return err
		}
		w, err := e.letgo(p, f)
		if err != nil {
			return err
		}
		if w == "dropped" {
			dropped++
		}
	}
	e.tidy()
	more, was := "0", "0"
	if s.after.returning[m] {
		more = "1"
	}
	if member {
		was = "1"
	}
	if want := []string{fmt.Sprint(len(gone) - dropped), fmt.Sprint(dropped), more, was}; !slices.Equal(want, s.reply.words) {
		return fmt.Errorf("it answered %v, want %v", s.reply.words, want)
	}
	return nil
}

// fateOf tells for which reason the processes of a membership go back: the first who took it out
// decided.
func (s *step) fateOf(m string) (f fate, err error) {
	if text := s.before.hold.fates[m]; text != "" {
		if _, err := fmt.Sscan(text, &f.why, &f.young); err != nil {
			return f, err
		}
		f.known, f.blames = true, f.young < never
		return f, nil
	}
	if m != s.command.args[0] {
		return f, fmt.Errorf("%s is on its way back, and nobody said why", m)
	}
	f.why = "drain"
	if len(s.command.args) > 2 {
		f.why = s.command.args[2]
	}
	switch f.why {
	case "lapse":
		f.why = "death"
	case "death":
		f.blames = len(s.command.args) > 3
	}
	return f, nil
}

// rescue: see package internal/presence for when it may.
func (s *step) rescue() error {
	m := s.command.args[0]
	_, member := s.before.members[m]
	switch got := s.reply.words[0]; {
	case !member && got == "GONE", member && !s.before.hold.fast[m] && got == "STRICT":
	case member && s.before.hold.fast[m] && got == "ALIVE":
		if !s.before.equal(s.after) {
			return errors.New("it changed the queue")
		}
	case member && s.before.hold.fast[m] && got == "OK":
		if held := len(s.before.held[m]) > 0; held != s.after.returning[m] || held && !strings.HasPrefix(s.after.hold.fates[m], "death ") {
			return fmt.Errorf("%s is returning: %v, with fates %v", m, s.after.returning[m], s.after.hold.fates)
		}
	default:
		return fmt.Errorf("it answered %s; %s is a member: %v, Fast: %v", got, m, member, s.before.hold.fast[m])
	}
	return nil
}

// holdLook checks what a look tells of the queue, the round left out.
func (s *step) holdLook() error {
	m := s.command.args[0]
	if len(s.after.held[m]) != int(integer(s.reply.words[0])) || len(s.after.tasks) != int(integer(s.reply.words[1])) {
		return fmt.Errorf("it answered %v; held are %v, waiting %q", s.reply.words, s.after.held[m], s.after.tasks)
	}
	round, _ := looked(s.reply)
	for _, row := range round {
		if len(s.after.held[row.m]) != row.held || s.after.hold.shares[row.m].weight != row.weight {
			return fmt.Errorf("it told of %v; held are %v, shares %v", row, s.after.held[row.m], s.after.hold.shares)
		}
	}
	if round != nil && len(round) != len(s.after.hold.shares) {
		return fmt.Errorf("it told of %v; shares are %v", round, s.after.hold.shares)
	}
	return nil
}

// roundRow is a membership as who plans the round is told of it.
type roundRow struct {
	m      string
	weight int64
	held   int
}

// looked takes the round and the marks out of the answer to a look, which the words have flat: a
// fingerprint has 40 digits or is a star, a membership has a point, and the clock has neither.
func looked(r reply) (round []roundRow, marks []string) {
	rest := r.words[3:]
	if len(rest) == 0 || len(rest[0]) == 40 || rest[0] == "*" {
		return nil, rest
	}
	round = []roundRow{}
	for rest = rest[2:]; len(rest) >= 5 && strings.Contains(rest[0], "."); rest = rest[5:] {
		round = append(round, roundRow{rest[0], integer(rest[1]), int(integer(rest[4]))})
	}
	slices.SortFunc(round, func(a, b roundRow) int { return strings.Compare(a.m, b.m) })
	return round, rest
}
