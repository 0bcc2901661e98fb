package worqr

import "slices"

var scripts = []*script{
	joinScript, beatScript, serveScript, unserveScript, noteScript, forgetScript, leaveScript, failScript, sweepScript, rosterScript, servedScript,
	checkScript, openScript, enqueueScript, takeScript, settleScript, reclaimScript, lookScript, wakeScript, newestScript, cancelScript, tellScript, deleteScript,
	auditScript, heldScript, trimScript, addScript, holdTakeScript, holdSettleScript, holdLookScript, grantScript, weighScript, generationScript,
	presentScript, dropScript, locateScript, checkpointScript, admitScript,
	offerScript, readyScript, appearScript, watchScript, rescueScript, allowScript,
}

// ScriptName names the script with a SHA-1, or answers "". Tests of faults choose the commands to
// break by it.
func ScriptName(sha string) string {
	if i := slices.IndexFunc(scripts, func(s *script) bool { return s.sha == sha }); i >= 0 {
		return scripts[i].name
	}
	return ""
}

// ScriptSource answers the text of a script, as it is sent.
func ScriptSource(name string) string {
	i := slices.IndexFunc(scripts, func(s *script) bool { return s.name == name })
	return scripts[i].source
}

// Pacer is a pacer for tests.
type Pacer struct {
	pacer
	st *station
}

// NewPacer makes one for a queue whose handlers have all returned quickly, or none has.
func NewPacer(quick bool) *Pacer {
	p := &Pacer{st: newStation("q", Queue{Limit: 1})}
	if quick {
		p.st.quick.Store(quickRow)
	}
	return p
}

func (p *Pacer) May() bool { return p.may(p.st) }

// Took answers whether a pause follows.
func (p *Pacer) Took(n int, dry, may bool) bool {
	p.took(n, dry, may)
	return p.paused
}

// Prelude is what every script of a queue begins with.
func Prelude() string { return load("lib").source }

// Misled and MayPass are how a refusal of the server is sorted.
var (
	Misled  = misled
	MayPass = mayPass
)

// Connections returns how many connections the listener of a mesh has had.
func Connections(m *Mesh) uint64 { return m.listener.Connections() }

// ScriptNames lists the scripts.
func ScriptNames() []string {
	names := make([]string, len(scripts))
	for i, s := range scripts {
		names[i] = s.name
	}
	return names
}
