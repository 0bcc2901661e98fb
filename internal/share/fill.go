package share

import (
	"cmp"
	"slices"
)

// countAt is how many tasks a member of that weight, with room for that many, has at a level: how
// far the one order of next tasks is handed out. At level L those are all k with (2k+1)*MaxWeight
// <= 2*weight*L: so from one level to the next a member gets one task at most. L is taken apart as
// it goes up to 2^50: in one piece the product could exceed 2^63.
func countAt(level, weight, room int64) int64 {
	halves := 2*weight*(level/MaxWeight) + 2*weight*(level%MaxWeight)/MaxWeight
	return min(room, (halves+1)/2)
}

// fill answers the targets. It searches the last level that does not hand out too many, then deals
// the few that are left, in order: some fifty looks at each member, however many tasks there are.
func fill(members []Member, tasks int64) []int64 {
	counts := make([]int64, len(members)) // how many it has room for, and in the end the targets
	for i, m := range members {
		counts[i] = room(m, tasks)
	}
	within := func(level int64) bool { // stops before the sum can grow too large
		left := tasks
		for i, m := range members {
			if left -= countAt(level, int64(m.Weight), counts[i]); left < 0 {
				return false
			}
		}
		return true
	}
	low, high := int64(0), (tasks+1)*MaxWeight // at high everybody has all there is room for
	if within(high) {
		return counts
	}
	for high-low > 1 {
		if mid := low + (high-low)/2; within(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	var next []int // who gets a task between the two levels, if there is one left
	left := tasks
	for i, m := range members {
		most := countAt(high, int64(m.Weight), counts[i])
		counts[i] = countAt(low, int64(m.Weight), counts[i])
		left -= counts[i]
		if most > counts[i] {
			next = append(next, i)
		}
	}
	slices.SortFunc(next, func(i, j int) int { return order(members[i], counts[i], members[j], counts[j]) })
	for _, i := range next[:left] {
		counts[i]++
	}
	return counts
}

// room is how many of all tasks a member may hold at all.
func room(m Member, tasks int64) int64 {
	n := tasks
	if m.Limit > 0 {
		n = min(n, int64(m.Limit))
	}
	if m.Joining {
		n = min(n, int64(m.Held))
	}
	if m.Weight == 0 {
		n = 0
	}
	return n
}

// order compares the next task of a, which has k so far, with that of b, which has l: below 0 when
// a's comes first. Equal costs: whoever holds that task already, then the lower rank, then the
// lower ID. It does not matter how much more somebody holds: that changes while a plan is carried
// out, and the order must not.
func order(a Member, k int64, b Member, l int64) int {
	return cmp.Or(
		cmp.Compare(int64(b.Weight)*(2*k+1), int64(a.Weight)*(2*l+1)),
		cmp.Compare(lacks(a, k), lacks(b, l)),
		cmp.Compare(a.Rank, b.Rank),
		cmp.Compare(a.ID, b.ID),
	)
}

// lacks is 1 when the member would have to take its task number k, 0 when it holds it already.
func lacks(m Member, k int64) int64 { return max(0, min(1, k+1-int64(m.Held))) }
