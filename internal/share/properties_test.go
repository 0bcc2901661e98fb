package share

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// snapshots returns snapshots of all sizes: few members with ties everywhere, and counts near the
// end of the range.
func snapshots() *rapid.Generator[[]Member] {
	return rapid.Custom(func(t *rapid.T) []Member {
		top := rapid.SampledFrom([]int{3, 3, 20, 1000, MaxWeight}).Draw(t, "top weight")
		most := rapid.SampledFrom([]int{3, 10, 10, 100, MaxTasks / 50}).Draw(t, "most")
		members := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Member {
			m := Member{Weight: rapid.IntRange(0, top).Draw(t, "weight"), Held: rapid.IntRange(0, most).Draw(t, "held")}
			switch rapid.IntRange(0, 5).Draw(t, "kind") {
			case 0:
				m.Limit = rapid.IntRange(1, most).Draw(t, "limit")
			case 1:
				m.Joining = true
			case 2:
				m.Rank = rapid.Uint64Range(0, 2).Draw(t, "rank")
			}
			return m
		}), 0, 12).Draw(t, "members")
		for i := range members {
			members[i].ID = string(rune('a' + i))
		}
		return members
	})
}

func drawWaiting(t *rapid.T) int {
	return rapid.OneOf(rapid.IntRange(0, 20), rapid.IntRange(0, MaxTasks/50)).Draw(t, "waiting")
}

func TestPlanProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members, waiting := snapshots().Draw(t, "snapshot"), drawWaiting(t)
		parts := plan(t, members, waiting)

		if shuffled := rapid.Permutation(members).Draw(t, "shuffled"); !slices.Equal(plan(t, shuffled, waiting), parts) {
			t.Fatal("another order of the members makes another plan")
		}
		fair(t, members, parts, waiting)

		for i, p := range plan(t, members, waiting+1) {
			if p.Target < parts[i].Target {
				t.Fatalf("one task more lowers %s from %d to %d", p.ID, parts[i].Target, p.Target)
			}
		}
		joiner := Member{ID: rapid.SampledFrom([]string{"A", "bb", "z"}).Draw(t, "joiner"), Weight: rapid.IntRange(0, MaxWeight).Draw(t, "its weight")}
		for _, p := range plan(t, append(slices.Clone(members), joiner), waiting) {
			if i := slices.IndexFunc(parts, func(q Part) bool { return q.ID == p.ID }); i >= 0 && p.Target > parts[i].Target {
				t.Fatalf("%s joins, and %s goes from %d to %d", joiner.ID, p.ID, parts[i].Target, p.Target)
			}
		}
	})
}

// fair checks the least sum in its other form: no transfer of one task makes it smaller. It is
// exact, in 128 bits.
func fair(t *rapid.T, members []Member, parts []Part, waiting int) {
	tasks, sum, room := waiting, 0, 0
	for _, m := range members {
		tasks += m.Held
	}
	for i, m := range members {
		most := tasks
		if m.Limit > 0 {
			most = min(most, m.Limit)
		}
		if m.Joining {
			most = min(most, m.Held)
		}
		if m.Weight == 0 {
			most = 0
		}
		room += most
		sum += parts[i].Target
		if parts[i].Target > most {
			t.Fatalf("%+v: target %d is above %d", m, parts[i].Target, most)
		}
		if parts[i].Target == most {
			continue
		}
		for j, from := range members { // i has room: may it take one from j?
			if i == j || parts[j].Target == 0 {
				continue
			}
			if m.Weight == from.Weight && parts[j].Target > parts[i].Target+1 {
				t.Fatalf("equal weights hold %d and %d", parts[i].Target, parts[j].Target)
			}
			h1, l1 := bits.Mul64(uint64(2*parts[i].Target+1), uint64(from.Weight))
			h2, l2 := bits.Mul64(uint64(2*parts[j].Target-1), uint64(m.Weight))
			if h1 < h2 || h1 == h2 && l1 < l2 {
				t.Fatalf("%s should have one of %s's: %s", m.ID, from.ID, text(parts))
			}
		}
	}
	if sum != min(tasks, room) {
		t.Fatalf("the targets add up to %d: %d tasks, room for %d", sum, tasks, room)
	}
}

// The limit that doc.go sets on the deviation from the exact share: no transfer of a task brings
// both members nearer to theirs.
func TestPlanIsNearTheExactShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.IntRange(1, 40), 2, 12).Draw(t, "weights")
		waiting, sum := rapid.IntRange(0, 100).Draw(t, "waiting"), 0
		members := make([]Member, len(weights))
		for i, w := range weights {
			members[i] = Member{ID: string(rune('a' + i)), Weight: w}
			sum += w
		}
		parts := plan(t, members, waiting)
		nearer := func(i, by int) bool { // distances times sum, to stay with whole numbers
			off := parts[i].Target*sum - weights[i]*waiting
			return max(off+by*sum, -off-by*sum) < max(off, -off)
		}
		for i := range parts {
			for j := range parts {
				if parts[j].Target > 0 && nearer(i, 1) && nearer(j, -1) {
					t.Fatalf("%d tasks over %v: %s; one from %d to %d brings both nearer", waiting, weights, text(parts), j, i)
				}
			}
		}
	})
}

// Any part of a plan is carried out, in any order, by members that do not know of each other. The
// targets stay, each task given up makes one move less, and at the end nothing is left to do.
func TestPlanIsCarriedOutInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members := snapshots().Draw(t, "snapshot")
		for i := range members { // few enough to move one by one
			members[i].Held %= 12
			members[i].Limit %= 12
		}
		waiting := rapid.IntRange(0, 20).Draw(t, "waiting")
		first := plan(t, members, waiting)
		for now := first; ; {
			var steps []int // of whom: i gives up one, or -1-i takes one
			for i, p := range now {
				if p.Surplus > 0 {
					steps = append(steps, i)
				}
				if p.Take > 0 && waiting > 0 {
					steps = append(steps, -1-i)
				}
			}
			if len(steps) == 0 {
				if Moves(now) != 0 {
					t.Fatalf("stuck at %s", text(now))
				}
				break
			}
			less := 0
			if i := rapid.SampledFrom(steps).Draw(t, "step"); i >= 0 {
				members[i].Held--
				waiting++
				less = 1
			} else {
				members[-1-i].Held++
				waiting--
			}
			next := plan(t, members, waiting)
			if got, want := Moves(next), Moves(now)-less; got != want {
				t.Fatalf("%d moves left, want %d", got, want)
			}
			for i := range next {
				if next[i].Target != first[i].Target {
					t.Fatalf("the targets went from %s to %s", text(first), text(next))
				}
			}
			now = next
		}
		// A rank that changes now and then must not cause a move.
		for i := range members {
			members[i].Rank = rapid.Uint64Range(0, 2).Draw(t, "new rank")
		}
		if again := plan(t, members, waiting); Moves(again) != 0 {
			t.Fatalf("balanced, and %s under other ranks", text(again))
		}
	})
}

// Any input leads to an error and no plan, or to a plan with correct sums. Pairs of bytes make the
// small members.
func FuzzPlan(f *testing.F) {
	f.Add(1, 6, 0, 1, 5, 0, 0, []byte{1, 0})
	f.Add(MaxWeight, MaxTasks, 0, 1, 0, 0, 0, []byte{255, 255, 3})
	f.Add(1, 0, 1, MaxWeight, 0, 0, MaxTasks, []byte{})
	f.Add(-1, math.MaxInt, math.MaxInt, 1, math.MaxInt, -5, math.MaxInt, []byte{0})
	f.Fuzz(func(t *testing.T, w1, h1, l1, w2, h2, l2, waiting int, small []byte) {
		members := []Member{{ID: "x", Weight: w1, Held: h1, Limit: l1}, {ID: "y", Weight: w2, Held: h2, Limit: l2, Joining: len(small)%2 == 1}}
		for i := 0; i+1 < len(small); i += 2 {
			members = append(members, Member{ID: fmt.Sprint(small[i], i%7), Weight: int(small[i]), Held: int(small[i+1])})
		}
		parts, err := Plan(members, waiting)
		if err != nil {
			if parts != nil {
				t.Fatal("an error and a plan")
			}
			return
		}
		held, targets, take := 0, 0, 0
		for _, m := range members {
			held += m.Held
		}
		for _, p := range parts {
			if p.Target < 0 || p.Surplus < 0 || p.Take < 0 || p.Surplus > 0 && p.Take > 0 {
				t.Fatalf("%+v", p)
			}
			targets += p.Target
			take += p.Take
		}
		if held+take-Moves(parts) != targets || targets > held+waiting || len(parts) != len(members) {
			t.Fatalf("%d held, %d waiting: %s", held, waiting, text(parts))
		}
	})
}
