package share_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/worqr/worqr-go/internal/share"
)

// Three workers start, and share the tasks that the first one took. Rounds are a second apart.
func Example() {
	settling := share.Settling{Window: 3 * time.Second}
	budget := share.Budget{Rate: 2, Burst: 2}
	members := []share.Member{{ID: "a", Weight: 1, Held: 6}, {ID: "b", Weight: 1}, {ID: "c", Weight: 2}}
	var unrest share.Unrest
	var bucket share.Bucket
	start := time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
	for round := range 7 {
		now := start.Add(time.Duration(round) * time.Second)
		var wait time.Duration
		if unrest, wait = settling.Step(unrest, round < 2, now); wait > 0 {
			fmt.Println(round, "wait", wait)
			continue
		}
		parts, err := share.Plan(members, 0)
		if err != nil {
			fmt.Println(err)
			return
		}
		var n int
		bucket, n = budget.Draw(bucket, share.Moves(parts), now)
		grants := share.Grants(parts, n)
		fmt.Printf("%d give %d of %d: %v\n", round, n, share.Moves(parts), grants)
		for _, g := range grants { // here, every move succeeds at once
			members[0].Held = g.Down
			for range g.Give {
				i := slices.IndexFunc(parts, func(p share.Part) bool { return p.Take > 0 })
				members[i].Held++
				parts[i].Take--
			}
		}
	}
	// Output:
	// 0 wait 3s
	// 1 wait 3s
	// 2 wait 2s
	// 3 wait 1s
	// 4 give 2 of 4: [{a 2 4}]
	// 5 give 2 of 2: [{a 2 2}]
	// 6 give 0 of 0: []
}
