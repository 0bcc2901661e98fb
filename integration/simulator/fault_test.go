package simulator

import (
	"crypto/sha1"
	"encoding/hex"
	"slices"
	"sync"
	"testing"

	"github.com/worqr/worqr-go/internal/redistest"
)

// fault is one thing that can happen at the boundary of a command.
type fault struct {
	name   string
	action redistest.Action
	then   then
	late   bool // what was kept is released when its sender has long gone, not as soon as its operation has ended
}

// then is what follows a fault.
type then int

const (
	allIsWell then = iota
	outage         // nothing passes for as long as two calls with all their attempts take
	death          // the process sends nothing any more
)

var faults = []fault{
	{"the connection ends before it", redistest.CutBefore, allIsWell, false},
	{"the connection ends after it", redistest.CutAfter, allIsWell, false},
	{"its answer is lost", redistest.DropReply, allIsWell, false},
	{"it arrives late", redistest.Hold, allIsWell, false},
	{"it arrives very late", redistest.Hold, allIsWell, true},
	{"it arrives twice", redistest.Duplicate, allIsWell, false},
	{"it arrives twice, the second very late", redistest.Duplicate, allIsWell, true},
	{"an outage begins before it", redistest.CutBefore, outage, false},
	{"an outage begins after it", redistest.CutAfter, outage, false},
	{"an outage begins while it is under way", redistest.Hold, outage, true},
	{"the process dies before it", redistest.CutBefore, death, false},
	{"the process dies after it", redistest.CutAfter, death, false},
	{"the process dies while it is under way", redistest.Hold, death, true},
}

// firstFew is how many commands count of those that come again and again until an operation has
// something to do.
const firstFew = 4

// longOutage is how many commands of an operation an outage swallows.
const longOutage = 6

// boundary makes one fault happen at one command of an operation.
type boundary struct {
	t       testing.TB
	fault   fault
	at      int             // the number of the command, from 1; 0: none
	ignored map[string]bool // commands that the operation does not send: they go on in the background
	gate    string          // this command does not pass before arm
	after   string          // before this command the first few count
	died    func()          // called once, in a goroutine of its own

	mu    sync.Mutex
	armed bool
	open  bool // it was armed
	dead  bool
	fired bool
	began bool     // the command has come of which `after` tells
	out   int      // commands that the outage still swallows
	names []string // the commands of the operation so far
}

// intercept is the proxy's question what is to become of a command.
func (b *boundary) intercept(c redistest.Command) redistest.Action {
	name := scriptOf(b.t, c)
	b.mu.Lock()
	defer b.mu.Unlock()
	// Each dial asks INFO: in an outage that passes, or no command would come that could end it.
	if b.dead || b.out > 0 && !b.counts(name) && name != "INFO" {
		return redistest.CutBefore
	}
	if !b.open && name == b.gate {
		return redistest.CutBefore
	}
	if !b.counts(name) {
		return redistest.Pass
	}
	b.began = b.began || name == b.after
	if b.after != "" && !b.began && len(b.names) == firstFew && b.out == 0 {
		return redistest.Pass
	}
	b.names = append(b.names, name)
	if b.out > 0 {
		b.out--
		return redistest.CutBefore
	}
	if b.fired || len(b.names) != b.at {
		return redistest.Pass
	}
	b.fired = true
	if name == "enqueue" && b.fault.action == redistest.Duplicate {
		return redistest.Pass // the one command of which no network may make two
	}
	switch b.fault.then {
	case outage:
		b.out = longOutage
	case death:
		b.dead = true
		go b.died()
	}
	return b.fault.action
}

// counts reports whether a command is one of the operation. The caller holds mu.
func (b *boundary) counts(name string) bool { return b.armed && !b.ignored[name] }

// arm begins to count the commands, and disarm ends it.
func (b *boundary) arm(on bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.armed, b.open, b.out = on, true, 0
}

// sent lists the commands of the operation, in their order.
func (b *boundary) sent() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.names)
}

func (b *boundary) hasFired() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.fired
}

func (b *boundary) isDead() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.dead
}

// scriptOf names what a command does: its script, or itself.
func scriptOf(t testing.TB, c redistest.Command) string {
	sha := ""
	switch {
	case c.Is("EVALSHA"):
		sha = string(c.Args[1])
	case c.Is("EVAL"):
		sum := sha1.Sum(c.Args[1])
		sha = hex.EncodeToString(sum[:])
	default:
		return c.Name()
	}
	name := nameOf(sha)
	if name == "" {
		t.Errorf("the library sends a script that is not in the folder: %s", sha)
	}
	return name
}
