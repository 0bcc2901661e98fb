package presence

import "time"

// The two graces. A holder may have less than HolderGrace and a judge more than JudgeGrace, but
// never the other way: New and NewWatch refuse that. So any holder and any judge of a mesh fit
// together.
const (
	HolderGrace = 200 * time.Millisecond // without a subscription a holder stops by itself after this
	JudgeGrace  = 300 * time.Millisecond // a judge concludes nothing from its absence before this

	// Margin is the least time between the two, for the way of the server's FIN to the holder, a
	// late timer, and the handlers' return.
	Margin = 90 * time.Millisecond
)

// This does not compile unless the judge waits longer than the holder's grace and the margin.
const _ = uint64(JudgeGrace - HolderGrace - Margin - 1)
