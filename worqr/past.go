package worqr

// Reason is why a persistent task came to the worker that holds it now.
type Reason string

// The reasons for which a hold has ended before.
const (
	ReasonFirst     Reason = ""          // nobody held it before, as far as is known
	ReasonDeath     Reason = "death"     // its holder died or lapsed
	ReasonHandover  Reason = "handover"  // its holder stopped it by Process.Stop
	ReasonDrain     Reason = "drain"     // its holder stopped, or stopped serving the queue
	ReasonRebalance Reason = "rebalance" // its holder held more than its share
	ReasonReturned  Reason = "returned"  // its handler returned
)

// Past is what a persistent task brings with it from its holder before.
type Past struct {
	Why        Reason
	Token      int64  // of the hold before, 0 for the first
	Checkpoint []byte // the last one that was written, nil for none
}

// Past returns what was before this hold.
func (p *Process) Past() Past { return p.past }
