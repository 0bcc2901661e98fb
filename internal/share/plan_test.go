package share

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

func plan(t interface {
	Helper()
	Fatal(...any)
}, members []Member, waiting int) []Part {
	t.Helper()
	parts, err := Plan(members, waiting)
	if err != nil {
		t.Fatal(err)
	}
	return parts
}

// The tables of doc.go, and what it states in words.
func TestPlan(t *testing.T) {
	for _, c := range []struct {
		name    string
		members []Member
		waiting int
		want    string // target -surplus +take, in the order of the IDs
	}{
		{"nobody", nil, 5, ""},
		{"balanced", []Member{{ID: "a", Weight: 1, Held: 6}, {ID: "b", Weight: 1, Held: 5}}, 0, "6 5"},
		{"balanced the other way", []Member{{ID: "a", Weight: 1, Held: 5}, {ID: "b", Weight: 1, Held: 6}}, 0, "5 6"},
		{"two apart", []Member{{ID: "a", Weight: 1, Held: 6}, {ID: "b", Weight: 1, Held: 4}}, 0, "5-1 5+1"},
		{"c joins", []Member{{ID: "c", Weight: 1}, {ID: "b", Weight: 1, Held: 5}, {ID: "a", Weight: 1, Held: 6}}, 0, "4-2 4-1 3+3"},
		{"c is twice as big", []Member{{ID: "a", Weight: 1, Held: 6}, {ID: "b", Weight: 1, Held: 5}, {ID: "c", Weight: 2}}, 0, "3-3 3-2 5+5"},
		{"b drains", []Member{{ID: "a", Weight: 1, Held: 6, Limit: 7}, {ID: "b", Held: 5}}, 0, "7+1 0-5"},
		{"all drain", []Member{{ID: "a", Held: 6}, {ID: "b", Held: 5}}, 3, "0-6 0-5"},
		{"above its limit", []Member{{ID: "a", Weight: 1, Held: 6, Limit: 2}}, 1, "2-4"},
		{"a limit fills the others", []Member{{ID: "a", Weight: 9, Limit: 2}, {ID: "b", Weight: 1}, {ID: "c", Weight: 1}}, 10, "2+2 4+4 4+4"},
		{"what waits is taken, nothing moves", []Member{{ID: "a", Weight: 1, Held: 10}, {ID: "b", Weight: 1}}, 10, "10 10+10"},
		{"c is joining", []Member{{ID: "a", Weight: 1, Held: 6}, {ID: "b", Weight: 1, Held: 3}, {ID: "c", Weight: 1, Joining: true}}, 0, "5-1 4+1 0"},
		{"all are joining", []Member{{ID: "a", Weight: 1, Joining: true, Held: 2}, {ID: "b", Weight: 1, Joining: true}}, 4, "2 0"},
		{"by ID", []Member{{ID: "b", Weight: 1}, {ID: "a", Weight: 1}}, 1, "1+1 0"},
		{"by rank", []Member{{ID: "b", Weight: 1, Rank: 1}, {ID: "a", Weight: 1, Rank: 2}}, 1, "0 1+1"},
		{"who holds goes before rank", []Member{{ID: "b", Weight: 1, Rank: 1}, {ID: "a", Weight: 1, Rank: 2, Held: 1}}, 0, "1 0"},
		{"10 over 6 6 2", []Member{{ID: "a", Weight: 6}, {ID: "b", Weight: 6}, {ID: "c", Weight: 2}}, 10, "5+5 4+4 1+1"},
		{"11 over 6 6 2", []Member{{ID: "a", Weight: 6}, {ID: "b", Weight: 6}, {ID: "c", Weight: 2}}, 11, "5+5 5+5 1+1"},
		{"12 over 6 6 2", []Member{{ID: "a", Weight: 6}, {ID: "b", Weight: 6}, {ID: "c", Weight: 2}}, 12, "5+5 5+5 2+2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := text(plan(t, c.members, c.waiting)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func text(parts []Part) string {
	var said []string
	for _, p := range parts {
		s := fmt.Sprint(p.Target)
		if p.Surplus != 0 {
			s += fmt.Sprint("-", p.Surplus)
		}
		if p.Take != 0 {
			s += fmt.Sprint("+", p.Take)
		}
		said = append(said, s)
	}
	return strings.Join(said, " ")
}

// How far the rule deviates from the exact share where most members round the same way, as doc.go
// states.
func TestPlanStraysWhereMostRoundTheSameWay(t *testing.T) {
	members := []Member{{ID: "big", Weight: 10}}
	for i := range 10 {
		members = append(members, Member{ID: fmt.Sprint("small", i), Weight: 1})
	}
	for i, p := range plan(t, members, 15) {
		if want := []int{5, 1}[min(i, 1)]; p.Target != want {
			t.Errorf("%s: %d, want %d", p.ID, p.Target, want)
		}
	}
}

func TestPlanRefuses(t *testing.T) {
	a := Member{ID: "a", Weight: 1}
	for _, c := range []struct {
		members []Member
		waiting int
		want    string
	}{
		{[]Member{a}, -1, "-1 tasks waiting, not in"},
		{[]Member{a}, MaxTasks + 1, "tasks waiting, not in"},
		{[]Member{a}, math.MaxInt, "tasks waiting, not in"},
		{[]Member{{Weight: 1}}, 0, `member "": its ID is empty`},
		{[]Member{a, {ID: "b", Weight: 1}, {ID: "a"}}, 0, `member "a": listed twice`},
		{[]Member{a, {ID: "b", Weight: -1}}, 0, `member "b": Weight -1 is not in 0..1048576`},
		{[]Member{a, {ID: "b", Weight: MaxWeight + 1}}, 0, `member "b": Weight 1048577`},
		{[]Member{a, {ID: "b", Weight: math.MinInt}}, 0, `member "b": Weight`},
		{[]Member{a, {ID: "b", Held: -1}}, 0, `member "b": Held -1 is below 0`},
		{[]Member{a, {ID: "b", Limit: -1}}, 0, `member "b": Limit -1 is below 0`},
		{[]Member{{ID: "a", Held: 1}, {ID: "b", Held: MaxTasks}}, 0, `member "b": Held 1073741824 makes it more than`},
		{[]Member{{ID: "a", Held: 1}, {ID: "b", Held: math.MaxInt}}, 0, `member "b": Held`},
		{[]Member{{ID: "a", Held: math.MaxInt}, {ID: "b", Held: math.MaxInt}}, 0, `member "a": Held`},
		{[]Member{{ID: "a", Held: 1}}, MaxTasks, `member "a": Held 1 makes it more than`},
	} {
		parts, err := Plan(c.members, c.waiting)
		if parts != nil || !errors.Is(err, ErrInvalid) || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%+v, %d waiting: %v, %v; want no parts and %q", c.members, c.waiting, parts, err, c.want)
		}
	}
}

func TestPlanLeavesItsInputAlone(t *testing.T) {
	members := []Member{{ID: "b", Weight: 1, Held: 3}, {ID: "a", Weight: 1}}
	before := slices.Clone(members)
	plan(t, members, 0)
	if !slices.Equal(members, before) {
		t.Errorf("the members are now %v, were %v", members, before)
	}
}
