package worqr

import "github.com/worqr/worqr-go/internal/wire"

// Pacer is a pacer for tests.
type Pacer struct {
	pacer
	st *station
}

// NewPacer makes one for a queue whose handlers have all returned quickly, or none has.
func NewPacer(quick bool) *Pacer {
	p := &Pacer{st: newStation(&wire.Mesh{}, "q", Queue{Limit: 1})}
	if quick {
		p.st.quick.Store(quickRow)
	}
	return p
}

func (p *Pacer) May() bool { return p.may(p.st) }

// Took returns whether a pause follows.
func (p *Pacer) Took(n int, dry, may bool) bool {
	p.took(n, dry, may)
	return p.paused
}

// Connections returns how many connections the listener of a mesh has had.
func Connections(m *Mesh) uint64 { return m.listener.Connections() }
