package share

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Within these limits every product fits 64 bits, so the results are exact.
const (
	MaxWeight = 1 << 20 // the greatest weight
	MaxTasks  = 1 << 30 // the most tasks of one queue, in hand and waiting
)

// ErrInvalid is returned by Plan and WithDefaults for input that is refused. Nothing was planned
// then.
var ErrInvalid = errors.New("share: invalid argument")

// Member is one worker that serves the queue, as a snapshot shows it.
type Member struct {
	ID     string
	Weight int // in proportion to this is its share; 0: draining, takes none, gives up all
	Held   int // how many tasks of this queue it holds now
	Limit  int // the most it may hold; 0: no limit
	// Joining: seen, but not ready to take. It keeps what it holds up to its fair share. Nothing
	// waits for it, and nobody gives up a task for it. To keep its share free for it meanwhile,
	// declare it ready.
	Joining bool
	// Rank decides who gets an odd task that nobody holds: the lower rank, and the lower ID among
	// equals. A rank that differs from queue to queue (a hash of queue and ID) spreads the odd
	// tasks of many queues.
	Rank uint64
}

// Part is one member's part of a plan. At most one of Surplus and Take is above 0.
type Part struct {
	ID      string
	Target  int // its fair share
	Surplus int // how many it has to give up
	Take    int // how many it may still take
}

// Plan returns the part of each member, sorted by ID, whatever the order of members. waiting is how
// many tasks of the queue nobody holds. A surplus task on its way out may be counted as held or as
// waiting: the targets are the same. The targets add up to all tasks, or to as many as the limits
// leave room for. The error wraps ErrInvalid.
func Plan(members []Member, waiting int) ([]Part, error) {
	sorted := slices.Clone(members)
	slices.SortFunc(sorted, func(a, b Member) int { return cmp.Compare(a.ID, b.ID) })
	tasks, err := check(sorted, waiting)
	if err != nil {
		return nil, err
	}
	targets := fill(sorted, int64(tasks))
	parts := make([]Part, len(sorted))
	for i, m := range sorted {
		n := int(targets[i])
		parts[i] = Part{ID: m.ID, Target: n, Surplus: max(0, m.Held-n), Take: max(0, n-m.Held)}
	}
	return parts, nil
}

// Moves returns how many tasks the plan asks to give up: the fewest that lead to a fair plan.
func Moves(parts []Part) int {
	n := 0
	for _, p := range parts {
		n += p.Surplus
	}
	return n
}

// check returns how many tasks there are. The members are sorted by ID.
func check(members []Member, waiting int) (int, error) {
	if waiting < 0 || waiting > MaxTasks {
		return 0, fmt.Errorf("%w: plan: %d tasks waiting, not in 0..%d", ErrInvalid, waiting, MaxTasks)
	}
	tasks := waiting
	for i, m := range members {
		var wrong string
		switch {
		case m.ID == "":
			wrong = "its ID is empty"
		case i > 0 && m.ID == members[i-1].ID:
			wrong = "listed twice: list each member once"
		case m.Weight < 0 || m.Weight > MaxWeight:
			wrong = fmt.Sprintf("Weight %d is not in 0..%d", m.Weight, MaxWeight)
		case m.Held < 0:
			wrong = fmt.Sprintf("Held %d is below 0", m.Held)
		case m.Limit < 0:
			wrong = fmt.Sprintf("Limit %d is below 0: 0 means no limit, Weight 0 means no tasks", m.Limit)
		case m.Held > MaxTasks-tasks:
			wrong = fmt.Sprintf("Held %d makes it more than %d tasks", m.Held, MaxTasks)
		}
		if wrong != "" {
			return 0, fmt.Errorf("%w: plan: member %q: %s", ErrInvalid, m.ID, wrong)
		}
		tasks += m.Held
	}
	return tasks, nil
}
