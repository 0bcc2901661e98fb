package share

import (
	"fmt"
	"testing"
)

// Every small snapshot is compared with every way to divide its tasks: the targets are fair, and no
// fair ones need fewer moves. Fair means what doc.go defines, not what the code does: all tasks
// that have room, at the least sum of weight*(load-mean)^2, which is the least sum of
// count^2/weight.
func TestPlanAgainstAllWays(t *testing.T) {
	kinds := []Member{}
	for weight := range 4 {
		for limit := range 3 {
			for held := range 4 {
				kinds = append(kinds, Member{Weight: weight, Limit: limit, Held: held})
			}
		}
	}
	for weight := 1; weight < 4; weight += 2 {
		for held := range 3 {
			kinds = append(kinds, Member{Weight: weight, Held: held, Joining: true})
		}
	}
	snapshots := 0
	for i := range kinds {
		for j := range kinds {
			for k := range kinds {
				if !testing.Short() || (i+7*j+31*k)%10 == 0 {
					members := []Member{kinds[i], kinds[j], kinds[k]}
					for m := range members {
						members[m].ID = fmt.Sprint(m)
					}
					for waiting := range 3 {
						againstAllWays(t, members, waiting)
						snapshots++
					}
				}
			}
		}
	}
	// Five members: ties among more of them than two.
	for n := range 3 * 3 * 3 * 3 * 3 * 32 {
		if testing.Short() && n%10 != 0 {
			continue
		}
		members, rest := make([]Member, 5), n
		for m := range members {
			members[m] = Member{ID: fmt.Sprint(m), Held: rest % 3}
			rest /= 3
		}
		for m := range members {
			members[m].Weight = 1 + rest%2
			rest /= 2
		}
		againstAllWays(t, members, n%2)
		snapshots++
	}
	t.Logf("%d snapshots", snapshots)
}

func againstAllWays(t *testing.T, members []Member, waiting int) {
	tasks := waiting
	for _, m := range members {
		tasks += m.Held
	}
	room := make([]int, len(members))
	all := 0
	for i, m := range members {
		room[i] = tasks
		if m.Limit > 0 {
			room[i] = min(room[i], m.Limit)
		}
		if m.Joining {
			room[i] = min(room[i], m.Held)
		}
		if m.Weight == 0 {
			room[i] = 0
		}
		all += room[i]
	}
	handed := min(tasks, all)
	const lcm = 6 // of all weights here: sums of count^2/weight in whole sixths
	best, fewest := -1, 0
	counts := make([]int, len(members))
	var try func(i, left, cost, moves int)
	try = func(i, left, cost, moves int) {
		if i == len(members) {
			if left == 0 && (best < 0 || cost < best || cost == best && moves < fewest) {
				best, fewest = cost, moves
			}
			return
		}
		for n := 0; n <= min(room[i], left); n++ {
			counts[i] = n
			more := 0
			if n > 0 {
				more = n * n * lcm / members[i].Weight
			}
			try(i+1, left-n, cost+more, moves+max(0, members[i].Held-n))
		}
	}
	try(0, handed, 0, 0)

	parts := plan(t, members, waiting)
	sum, cost := 0, 0
	for i, p := range parts {
		m := members[i] // these are sorted
		if p.ID != m.ID || p.Target < 0 || p.Target > room[i] || p.Surplus != max(0, m.Held-p.Target) || p.Take != max(0, p.Target-m.Held) {
			t.Fatalf("%+v: %+v", m, p)
		}
		sum += p.Target
		if p.Target > 0 {
			cost += p.Target * p.Target * lcm / m.Weight
		}
	}
	if sum != handed || cost != best || Moves(parts) != fewest {
		t.Fatalf("%+v and %d waiting: %s hands out %d of %d at a cost of %d in %d moves; the best is %d in %d",
			members, waiting, text(parts), sum, handed, cost, Moves(parts), best, fewest)
	}
}
