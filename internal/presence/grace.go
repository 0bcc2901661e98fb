package presence

import "time"

// The two graces. A holder may have less than HolderGrace and a judge more than JudgeGrace, never
// the other way: New and NewWatch refuse it, so any holder and any judge of a mesh fit together.
const (
	HolderGrace = 200 * time.Millisecond // a holder without a subscription stops by itself after this
	JudgeGrace  = 300 * time.Millisecond // a judge concludes nothing from a missing subscription before this

	// Margin is what lies at least between the two, for the way of the server's FIN to the holder,
	// a late timer, and the handlers' return.
	Margin = 90 * time.Millisecond
)

// It does not compile where the judge does not wait for longer than the holder and the margin.
const _ = uint64(JudgeGrace - HolderGrace - Margin - 1)
