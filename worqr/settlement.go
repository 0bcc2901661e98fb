package worqr

import (
	"cmp"
	"slices"

	"github.com/worqr/worqr-go/internal/wire"
)

// named sorts a batch and appends how settle.lua is told of it: what is finished first and in the
// order of its numbers, so that runs are long. What is put back stays in its order, as single runs:
// at the front the last one named comes first.
func named(text []byte, batch []*Process) []byte {
	slices.SortStableFunc(batch, func(a, b *Process) int {
		switch aDone, bDone := a.asked() == finish, b.asked() == finish; {
		case aDone && bDone:
			return cmp.Compare(a.number, b.number)
		case aDone:
			return -1
		case bDone:
			return 1
		}
		return 0
	})
	for i := 0; i < len(batch); {
		first, n := batch[i], int64(1)
		what := first.asked()
		for i++; i < len(batch) && what == finish && batch[i].asked() == finish; i++ {
			if batch[i].number != first.number+n || batch[i].token != first.token+n {
				break
			}
			n++
		}
		text = wire.AppendRun(text, wire.Run{Number: first.number, Token: first.token, Count: n}, wire.Outcome(what))
	}
	return text
}
