package simulator

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// never is the date of a task that was added again, and waits until its canceled process ends.
const never = 9e15

// holdState is what a queue of persistent tasks has besides. By fingerprint, where nothing is said.
type holdState struct {
	policy      map[string]string
	unique      map[string]bool
	fast        map[string]bool // memberships
	holders     map[string]string
	offers      map[string]string
	present     map[string]string // the tasks
	delayed     map[string]int64  // by task: the date
	past        map[string]record
	checkpoints map[string]checkpoint
	fates       map[string]string // by membership
	shares      map[string]share  // by membership
	blamed      map[string]bool   // memberships
	clock       bool              // the queue has one of its own
	claims      []string          // keys that end by themselves
}

// record is what is kept of the holds of a task.
type record struct {
	why                  string
	token, fails, deaths int64
}

func (r record) String() string {
	return fmt.Sprintf("%s %d %d %d", r.why, r.token, r.fails, r.deaths)
}

// checkpoint is one as it is stored. Those of a later process are later, whatever their count.
type checkpoint struct {
	token, count int64
	data         string
}

func (c checkpoint) before(o checkpoint) bool {
	return c.token < o.token || c.token == o.token && c.count < o.count
}

// share is what open told of a membership.
type share struct{ weight, limit int64 }

// read reads a key that only a queue of persistent tasks has, and reports whether it is one.
func (h *holdState) read(kind, id string, values []string) (bool, error) {
	switch kind {
	case "policy":
		h.policy = pairs(values)
		delete(h.policy, "full") // of the budget
	case "unique":
		h.unique = set(values)
	case "fast":
		h.fast = set(values)
	case "holders":
		h.holders = pairs(values)
	case "offers":
		h.offers = pairs(values)
	case "present":
		h.present = pairs(values)
	case "fates":
		h.fates = pairs(values)
	case "delayed":
		h.delayed = map[string]int64{}
		for i := 0; i < len(values); i += 2 {
			date, err := score(values[i+1])
			if err != nil {
				return true, err
			}
			h.delayed[values[i]] = date
		}
	case "past":
		h.past = map[string]record{}
		for fp, text := range pairs(values) {
			var r record
			if _, err := fmt.Sscan(text, &r.why, &r.token, &r.fails, &r.deaths); err != nil {
				return true, fmt.Errorf("%q: %w", text, err)
			}
			h.past[fp] = r
		}
	case "checkpoints":
		h.checkpoints = map[string]checkpoint{}
		for fp, text := range pairs(values) {
			var c checkpoint
			head, data, _ := strings.Cut(text, "\n")
			if _, err := fmt.Sscan(head, &c.token, &c.count); err != nil {
				return true, fmt.Errorf("%q: %w", text, err)
			}
			c.data = data
			h.checkpoints[fp] = c
		}
	case "shares":
		h.shares = map[string]share{}
		for m, text := range pairs(values) {
			var s share
			if _, err := fmt.Sscan(text, &s.weight, &s.limit); err != nil {
				return true, fmt.Errorf("%q: %w", text, err)
			}
			h.shares[m] = s
		}
	case "blamed":
		if h.blamed == nil {
			h.blamed = map[string]bool{}
		}
		h.blamed[id] = true
	case "clock":
		h.clock = true
	case "round":
		h.claims = append(h.claims, kind)
	case "trial":
		h.claims = append(h.claims, kind+":"+id)
	default:
		return false, nil
	}
	return true, nil
}

func (h *holdState) equal(o *holdState) bool {
	return maps.Equal(h.unique, o.unique) && maps.Equal(h.fast, o.fast) && maps.Equal(h.holders, o.holders) &&
		maps.Equal(h.offers, o.offers) && maps.Equal(h.present, o.present) && maps.Equal(h.delayed, o.delayed) &&
		maps.Equal(h.past, o.past) && maps.Equal(h.checkpoints, o.checkpoints) && maps.Equal(h.fates, o.fates) &&
		maps.Equal(h.shares, o.shares) && maps.Equal(h.policy, o.policy)
}

func pairs(values []string) map[string]string {
	m := make(map[string]string, len(values)/2)
	for pair := range slices.Chunk(values, 2) {
		m[pair[0]] = pair[1]
	}
	return m
}

func set(values []string) map[string]bool {
	s := make(map[string]bool, len(values))
	fill(s, values)
	return s
}
