package wire

import (
	"context"
	"time"
)

var beatScript = Named("beat")

// Beat is one renewal of a heartbeat.
type Beat struct {
	Worker string
	Lapse  time.Duration
	Claim  time.Duration // of the round; 0: not willing
}

// Beaten is what a beat learns.
type Beaten struct {
	Clock    time.Duration // of the server, since 1970
	Mine     bool          // the round is this worker's now
	Claimed  bool          // it is this worker's or a peer's
	Watchers int           // how many of watcher and deputy there are
}

// Beat renews a heartbeat. Errors: ErrLost.
func (m *Mesh) Beat(ctx context.Context, over Evaluator, b Beat) (Beaten, error) {
	reply, err := m.evalOver(ctx, over, beatScript, b.Worker, b.Lapse.Milliseconds(), b.Claim.Milliseconds())
	return decoded(reply, err, decodeBeat)
}

func decodeBeat(reply any) (b Beaten, err error) {
	a := listOf("beat", reply, 4)
	b.Clock = time.Duration(a.integer()) * time.Microsecond
	b.Mine, b.Claimed, b.Watchers = a.flag(), a.flag(), a.count()
	return b, a.all()
}
