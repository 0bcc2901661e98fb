package wire

import (
	"context"
	"time"
)

var sweepScript = Named("sweep")

// Sweep asks for one page of the heartbeats.
type Sweep struct {
	Worker    string // who sweeps
	Lapse     time.Duration
	Cursor    string        // "0" at first
	Claim     time.Duration // of the round; 0: none, only to look
	ClaimTurn time.Duration // of the rota
}

// Swept is a page of heartbeats.
type Swept struct {
	Clock   time.Duration // of the server, since 1970
	Run     string        // of the server, "" when it does not say
	Granted bool          // the round was claimed, or no claim was asked for; else a peer has it
	Next    string        // cursor, "0" at the end
	Workers int           // registered
	Turn    Turn
	Absent  []Absent
}

// Turn is the queue whose turn in the rota it is, "" for none, and what the field notes of the mesh
// was before.
type Turn struct{ Queue, Notes string }

// Absent is a worker without a heartbeat.
type Absent struct {
	ID     string
	ByHand bool // it was failed
	Lives  bool // it was seen to live on
}

// Sweep looks at a page of the heartbeats, and takes the rota's turn.
func (m *Mesh) Sweep(ctx context.Context, s Sweep) (Swept, error) {
	reply, err := m.eval(ctx, sweepScript, s.Worker, s.Lapse.Milliseconds(), s.Cursor, s.Claim.Milliseconds(), s.ClaimTurn.Milliseconds())
	return decoded(reply, err, decodeSweep)
}

func decodeSweep(reply any) (s Swept, err error) {
	a := listOf("sweep", reply, 7)
	s.Clock = time.Duration(a.integer()) * time.Microsecond
	s.Run, s.Granted, s.Next, s.Workers = a.text(), a.flag(), a.text(), a.count()
	s.Turn = Turn{Queue: a.text(), Notes: a.text()}
	for range a.rows(3) {
		s.Absent = append(s.Absent, Absent{ID: a.text(), ByHand: a.flag(), Lives: a.flag()})
	}
	return s, a.all()
}
