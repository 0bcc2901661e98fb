package share

import (
	"cmp"
	"slices"
)

// countAt returns how many tasks a member has at a level, given its weight and its room. A level is
// how far the one order of next tasks has been handed out. At level L the member has all k with
// (2k+1)*MaxWeight <= 2*weight*L, so from one level to the next it gets one task at most. L can be
// as large as 2^50 and is split, because the whole product could exceed 2^63.
func countAt(level, weight, room int64) int64 {
	halves := 2*weight*(level/MaxWeight) + 2*weight*(level%MaxWeight)/MaxWeight
	return min(room, (halves+1)/2)
}

// fill returns the targets. It searches the last level that does not hand out too many tasks, then
// hands out the few that are left, in order. That takes about fifty looks at each member, however
// many tasks there are.
func fill(members []Member, tasks int64) []int64 {
	counts := make([]int64, len(members)) // how many it has room for; in the end the targets
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
	low, high := int64(0), (tasks+1)*MaxWeight // at high all members have all they have room for
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
	var next []int // members that get a task between the two levels, if one is left
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

// room returns how many of all tasks a member may hold.
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

// order compares the next task of a, which has k so far, with that of b, which has l. It returns a
// negative number when a's comes first. At equal cost the member that holds that task already comes
// first, then the lower rank, then the lower ID. It does not matter how many more a member holds:
// that number changes while a plan is carried out, and the order must not.
func order(a Member, k int64, b Member, l int64) int {
	return cmp.Or(
		cmp.Compare(int64(b.Weight)*(2*k+1), int64(a.Weight)*(2*l+1)),
		cmp.Compare(lacks(a, k), lacks(b, l)),
		cmp.Compare(a.Rank, b.Rank),
		cmp.Compare(a.ID, b.ID),
	)
}

// lacks returns 1 if the member would have to take its task number k, and 0 if it holds it already.
func lacks(m Member, k int64) int64 { return max(0, min(1, k+1-int64(m.Held))) }
