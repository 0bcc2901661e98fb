package share

import (
	"fmt"
	"testing"
)

var sizes = []struct{ members, held int }{{10, 100}, {100, 10_000}, {1000, 10_000}, {1000, 1_000_000}}

// fleet returns a fleet in which much is to be done: weights 1 to 4, and very uneven holds.
func fleet(members, held int) []Member {
	all := make([]Member, members)
	for i := range all {
		all[i] = Member{ID: fmt.Sprintf("%08x", uint32(i)*2654435761), Weight: 1 + i%4, Held: (i * 7919 % members) * 2 * held / members / members}
	}
	return all
}

func BenchmarkPlan(b *testing.B) {
	for _, size := range sizes {
		b.Run(fmt.Sprintf("members=%d/held=%d", size.members, size.held), func(b *testing.B) {
			members := fleet(size.members, size.held)
			b.ReportAllocs()
			for b.Loop() {
				parts, err := Plan(members, 100)
				if err != nil || len(parts) != len(members) {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkGrants(b *testing.B) {
	parts, err := Plan(fleet(1000, 10_000), 100)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if len(Grants(parts, 100)) == 0 {
			b.Fatal("nothing granted")
		}
	}
}
