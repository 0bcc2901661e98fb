package wire

import (
	"context"
	"strings"
	"time"
)

var (
	locateScript     = Named("locate")
	offerScript      = Named("offer")
	readyScript      = Named("ready")
	checkpointScript = Named("checkpoint")
)

// Located is where a persistent task is.
type Located struct {
	State   string // "": nowhere
	Process string // that has it, or ""
	Token   int64
	Due     time.Time // from which on it may start, zero: it is not delayed, or nobody knows
	Deaths  int       // early ones, of its workers
}

// Locate finds a persistent task.
func (q Hold) Locate(ctx context.Context, task []byte) (Located, error) {
	reply, err := q.ask(ctx, locateScript, stored(task))
	return decoded(reply, err, decodeLocate)
}

func decodeLocate(reply any) (l Located, err error) {
	const never = 9e15 // see hold.lua
	a := listOf("locate", reply, 0)
	if a.err != nil || len(a.list) == 0 {
		return l, a.err
	}
	l.State, l.Process, l.Token = a.text(), a.text(), a.integer()
	if due := a.integer(); due > 0 && due < never {
		l.Due = time.UnixMicro(due)
	}
	l.Deaths = a.count()
	return l, a.all()
}

// Offered is how far a task is that is to move.
type Offered string

// How far it may be.
const (
	Waits Offered = "offered"
	Moved Offered = "taken" // another process has it
	Runs  Offered = "ready" // and has told that it runs
	Lost  Offered = "gone"  // it is not this membership's
)

// Offer lets a task wait for another holder while its present one goes on. Errors: ErrFenced.
func (q Hold) Offer(ctx context.Context, member string, number, token int64) (Offered, error) {
	reply, err := q.ask(ctx, offerScript, member, number, token)
	return decoded(reply, err, decodeOffer)
}

func decodeOffer(reply any) (Offered, error) {
	word, err := decodeText("offer", reply)
	switch how := Offered(word); how {
	case Waits, Moved, Runs, Lost:
		return how, err
	}
	if err == nil {
		err = unreadable("offer", "it is %q", Clip(word))
	}
	return "", err
}

// Ready lets the holder before know that a task runs in a process now. It reports whether the task
// is that process's.
func (q Hold) Ready(ctx context.Context, member string, number int64, task []byte) (ours bool, err error) {
	reply, err := q.ask(ctx, readyScript, member, number, stored(task))
	return decoded(reply, err, decodeReady)
}

func decodeReady(reply any) (bool, error) {
	word, err := decodeText("ready", reply)
	if err == nil && word != "OK" && word != "gone" {
		err = unreadable("ready", "it is %q", Clip(word))
	}
	return word == "OK", err
}

// Checkpoint is what a process keeps for the next holder of its task.
type Checkpoint struct {
	Number, Token int64
	Before        int64 // how many it wrote before
	Data          []byte
}

// Keep writes checkpoints. It returns how many were kept: those of tasks that are another's are
// not. Errors: ErrFenced, ErrRedisFull.
func (q Hold) Keep(ctx context.Context, member string, list []Checkpoint) (kept int, err error) {
	args := append(make([]any, 0, 1+4*len(list)), member)
	for _, c := range list {
		args = append(args, c.Number, c.Token, c.Before, stored(c.Data))
	}
	reply, err := q.ask(ctx, checkpointScript, args...)
	return decoded(reply, err, decodeKeep)
}

func decodeKeep(reply any) (kept int, err error) {
	words, err := decodeText("checkpoint", reply)
	for word := range strings.FieldsSeq(words) {
		switch word {
		case "kept":
			kept++
		case "gone":
		default:
			return 0, unreadable("checkpoint", "it has %q", Clip(word))
		}
	}
	return kept, err
}
