package wire

import (
	"context"
	"time"
)

var (
	lookScript     = Named("look")
	holdLookScript = Named("hold_look")
)

// Look asks what a membership may have missed.
type Look struct {
	Member string
	Since  int64         // the newest cancel mark that it knows
	Claim  time.Duration // of the round, of persistent tasks; 0: it plans nothing now
}

// Looked is what a look saw.
type Looked struct {
	Held    int // processes
	Waiting int // tasks
	Newest  int64
	Marks   []Mark // above Look.Since, the oldest first
	More    bool   // there may be more marks
	Round   *Round // nil: it is another's
}

// Mark is a cancel mark.
type Mark struct {
	Fingerprint string // of the task, or "*": the queue was deleted
	Mark        int64
}

// Round is what is needed to plan who gives up what.
type Round struct {
	Now, Full time.Time // the server's clock, and when the budget of moves is full
	Members   []Share
}

// Share is a membership's part in a queue of persistent tasks.
type Share struct {
	Member        string
	Weight, Limit int // limit 0: none
	Opened        time.Time
	Held          int
}

// Look asks what a membership may have missed. Errors: ErrFenced.
func (q Queue) Look(ctx context.Context, l Look) (Looked, error) {
	if q.hold {
		reply, err := q.ask(ctx, holdLookScript, l.Member, l.Since, l.Claim.Milliseconds())
		return decoded(reply, err, decodeHoldLook)
	}
	reply, err := q.ask(ctx, lookScript, l.Member, l.Since)
	return decoded(reply, err, decodeLook)
}

func decodeLook(reply any) (l Looked, err error) {
	a := listOf("look", reply, 3)
	l.Held, l.Waiting, l.Newest = a.count(), a.count(), a.integer()
	l.marks(&a)
	return l, a.all()
}

func decodeHoldLook(reply any) (l Looked, err error) {
	a := listOf("hold_look", reply, 4)
	l.Held, l.Waiting, l.Newest = a.count(), a.count(), a.integer()
	if round := a.inner(); round.left() > 0 {
		l.Round = &Round{Now: time.UnixMicro(round.integer()), Full: time.UnixMicro(round.integer())}
		for range round.rows(5) {
			l.Round.Members = append(l.Round.Members, Share{
				Member: round.text(), Weight: round.count(), Limit: round.count(),
				Opened: time.UnixMicro(round.integer()), Held: round.count(),
			})
		}
		if err := round.all(); err != nil {
			return Looked{}, err
		}
	}
	l.marks(&a)
	return l, a.all()
}

func (l *Looked) marks(a *answer) {
	n := a.rows(2)
	l.More = n >= Most
	for range n {
		l.Marks = append(l.Marks, Mark{a.text(), a.integer()})
	}
}
