package wire

import (
	"context"
	"strconv"
	"strings"
)

var (
	settleScript     = Named("settle")
	holdSettleScript = Named("hold_settle")
)

// Outcome is what is asked for when a process is settled, or what became of it.
type Outcome string

// What may be asked for.
const (
	Finish Outcome = "finish"
	Cancel Outcome = "cancel" // removed as its task was canceled: nobody hears that it was finished
	Front  Outcome = "front"
	Back   Outcome = "back"

	Rebalance Outcome = "rebalance" // of a persistent task, as the next three
	Drain     Outcome = "drain"
	Later     Outcome = "later"
	Undo      Outcome = "undo"
)

// What became of it.
const (
	Done    Outcome = "done"    // what was asked for
	Dropped Outcome = "dropped" // it was to go back, and was removed
	Gone    Outcome = "gone"    // it is not held under this token
)

// Run is a row of processes whose numbers and tokens rise by one.
type Run struct {
	Number, Token int64 // of the first
	Count         int64
}

// AppendRun appends that the processes of a run are settled so. Of a run that is put at the front
// the first is taken first, of several runs the last one.
func AppendRun(text []byte, r Run, what Outcome) []byte {
	for _, part := range [...]int64{r.Number, r.Token, r.Count} {
		text = append(strconv.AppendInt(text, part, 10), ' ')
	}
	return append(append(text, what...), ' ')
}

// Outcomes are what became of processes, in the order in which they were named.
type Outcomes string

// Len is how many there are.
func (o Outcomes) Len() int {
	if o == "" {
		return 0
	}
	return strings.Count(string(o), " ") + 1
}

// Next takes the first one off.
func (o *Outcomes) Next() Outcome {
	word, rest, _ := strings.Cut(string(*o), " ")
	*o = Outcomes(rest)
	return Outcome(word)
}

// Settle settles processes of a membership, which AppendRun has named: Most at the most. They may
// be read as long as a copy may still be written: see Evaluator. Errors: ErrFenced, ErrInvalid.
func (q Queue) Settle(ctx context.Context, member string, runs []byte) (became Outcomes, repeated bool, err error) {
	script := settleScript
	if q.hold {
		script = holdSettleScript
	}
	reply, repeated, err := q.eval(ctx, script, member, runs)
	became, err = decoded(reply, err, decodeSettle)
	return became, repeated, err
}

func decodeSettle(reply any) (Outcomes, error) {
	words, err := decodeText("settle", reply)
	return Outcomes(words), err
}
