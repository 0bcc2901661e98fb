package share

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestGrants(t *testing.T) {
	parts := []Part{{ID: "a", Target: 4, Surplus: 2}, {ID: "b", Target: 3, Surplus: 5}, {ID: "c", Take: 9}, {ID: "d", Surplus: 2}}
	for n, want := range []string{
		"[]", "[{b 1 7}]", "[{b 2 6}]", "[{b 3 5}]",
		"[{b 4 4}]", "[{b 4 4} {a 1 5}]", "[{b 4 4} {a 1 5} {d 1 1}]",
		"[{b 5 3} {a 1 5} {d 1 1}]", "[{b 5 3} {a 2 4} {d 1 1}]", "[{b 5 3} {a 2 4} {d 2 0}]", "[{b 5 3} {a 2 4} {d 2 0}]",
	} {
		if got := fmt.Sprint(Grants(parts, n)); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
	if got := Grants(parts, math.MinInt); got != nil {
		t.Errorf("below 0: %v", got)
	}
	huge := []Part{{ID: "a", Surplus: math.MaxInt}, {ID: "b", Surplus: math.MaxInt}, {ID: "c", Surplus: math.MinInt}}
	if got, want := fmt.Sprint(Grants(huge, 3)), fmt.Sprintf("[{a 2 %d} {b 1 %d}]", math.MaxInt-2, math.MaxInt-1); got != want {
		t.Errorf("huge: %s, want %s", got, want)
	}
}

// Grants is compared with its comment: one move at a time, to the member with the largest surplus
// left.
func TestGrantsOneByOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := make([]Part, rapid.IntRange(0, 8).Draw(t, "members"))
		for i := range parts {
			parts[i] = Part{ID: string(rune('a' + i)), Target: i, Surplus: rapid.IntRange(-1, 9).Draw(t, "surplus")}
		}
		n := rapid.IntRange(-1, 40).Draw(t, "n")
		gives := make([]int, len(parts))
		for range n {
			best := -1
			for i, p := range parts {
				if left := p.Surplus - gives[i]; left > 0 && (best < 0 || left > parts[best].Surplus-gives[best] ||
					left == parts[best].Surplus-gives[best] && p.Surplus > parts[best].Surplus) {
					best = i
				}
			}
			if best >= 0 {
				gives[best]++
			}
		}
		got := Grants(rapid.Permutation(parts).Draw(t, "shuffled"), n)
		if !slices.Equal(got, Grants(parts, n)) {
			t.Fatal("another order of the parts makes other grants")
		}
		for i, p := range parts {
			want := Grant{ID: p.ID, Give: gives[i], Down: p.Target + p.Surplus - gives[i]}
			if slices.Contains(got, want) != (gives[i] > 0) {
				t.Fatalf("%d moves over %+v: %+v, want %+v", n, parts, got, want)
			}
		}
	})
}
