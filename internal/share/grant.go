package share

import (
	"cmp"
	"slices"
	"sort"
)

// Grant allows one member to begin to give up tasks.
type Grant struct {
	ID   string
	Give int // how many
	Down int // how many it holds then: a grant seen twice gives up nothing twice
}

// Grants shares out n moves among the members with a surplus. Each goes to the member with the
// largest surplus left, so that the most loaded come down first, and together. Among equals the one
// that began with the larger surplus comes first, then the lower ID. The grants are sorted in that
// order. Members that get none are left out.
func Grants(parts []Part, n int) []Grant {
	givers := slices.DeleteFunc(slices.Clone(parts), func(p Part) bool { return p.Surplus <= 0 })
	if len(givers) == 0 || n <= 0 {
		return nil
	}
	slices.SortFunc(givers, func(a, b Part) int {
		return cmp.Or(cmp.Compare(b.Surplus, a.Surplus), cmp.Compare(a.ID, b.ID))
	})
	left := func(level int) int { // how many of n are left when all come down to level; below 0: too few
		left := n
		for _, p := range givers {
			if left -= max(0, p.Surplus-level); left < 0 {
				break
			}
		}
		return left
	}
	level := sort.Search(givers[0].Surplus, func(level int) bool { return left(level) >= 0 })
	odd := left(level) // too few for one more from each at or above this level, which come first
	var grants []Grant
	for _, p := range givers {
		give := max(0, p.Surplus-level)
		if odd > 0 && give < p.Surplus {
			give++
			odd--
		}
		if give > 0 {
			grants = append(grants, Grant{ID: p.ID, Give: give, Down: p.Target + p.Surplus - give})
		}
	}
	return grants
}
