package wire

import (
	"context"
	"time"
)

var (
	newestScript  = Named("newest")
	openScript    = Named("open")
	wakeScript    = Named("wake")
	allowScript   = Named("allow")
	reclaimScript = Named("reclaim")
	rescueScript  = Named("rescue")
)

// Newest returns the newest token of a queue: a ticket for Open, Cancel and Delete, by which a late
// copy of them is known.
func (q Queue) Newest(ctx context.Context) (ticket int64, err error) {
	reply, err := q.ask(ctx, newestScript)
	return decoded(reply, err, decodeNewest)
}

func decodeNewest(reply any) (int64, error) { return decodeInteger("newest", reply) }

// Open is how a membership begins.
type Open struct {
	Member        string
	Ticket        int64 // what Newest returned before Serve
	Weight, Limit int   // of persistent tasks; limit 0: none
}

// Open adds a membership, and returns the newest cancel mark. Takeover is strict until Allow.
// repeated: see Evaluator. Errors: ErrFenced, ErrStale, ErrConfig.
func (q Queue) Open(ctx context.Context, o Open) (newest int64, repeated bool, err error) {
	const strict = "0"
	var reply any
	if q.hold {
		reply, repeated, err = q.eval(ctx, openScript, o.Member, o.Ticket, "1", strict, o.Weight, o.Limit)
	} else {
		reply, repeated, err = q.eval(ctx, openScript, o.Member, o.Ticket, "0", strict)
	}
	newest, err = decoded(reply, err, decodeOpen)
	return newest, repeated, err
}

func decodeOpen(reply any) (int64, error) { return decodeInteger("open", reply) }

// Wake passes a wake-up on.
func (q Queue) Wake(ctx context.Context) error {
	_, err := q.ask(ctx, wakeScript)
	return err
}

// Allow lets peers take over from a membership as soon as its worker is not present. Errors:
// ErrFenced.
func (q Queue) Allow(ctx context.Context, member string) error {
	_, err := q.ask(ctx, allowScript, member)
	return err
}

// Reclaim takes a membership out of its queue.
type Reclaim struct {
	Member string
	Budget int           // how many processes go back in this step
	Why    Why           // persistent tasks move
	Lived  time.Duration // of a death, how long ago the worker can have lived at most
}

// Why is why persistent tasks move.
type Why string

// The reasons.
const (
	WhyDeath Why = "death"
	WhyLapse Why = "lapse" // a death for which no task is blamed
	WhyDrain Why = "drain"
)

// Reclaimed is what one step has done.
type Reclaimed struct {
	Returned, Dropped int
	More              bool // call again
	Fenced            bool // it was a member
}

// Reclaim makes one step.
func (q Queue) Reclaim(ctx context.Context, r Reclaim) (Reclaimed, error) {
	reply, err := q.ask(ctx, reclaimScript, r.Member, r.Budget, string(r.Why), r.Lived.Milliseconds())
	return decoded(reply, err, decodeReclaim)
}

func decodeReclaim(reply any) (r Reclaimed, err error) {
	a := listOf("reclaim", reply, 4)
	r.Returned, r.Dropped, r.More, r.Fenced = a.count(), a.count(), a.flag(), a.flag()
	return r, a.all()
}

// Rescue takes a membership out of its queue whose worker is missed.
type Rescue struct {
	Member, Worker string
	Ends           int64 // when the heartbeat ends, as the watcher saw it first
	Lived          time.Duration
}

// Rescued is what became of it.
type Rescued string

// What may have become of it.
const (
	Out     Rescued = "OK"
	Alive   Rescued = "ALIVE"  // its worker is present, or has beaten since
	Strict  Rescued = "STRICT" // it waits for the lapse
	NotHere Rescued = "GONE"
)

// Rescue fences a membership before its heartbeat has lapsed.
func (q Queue) Rescue(ctx context.Context, r Rescue) (Rescued, error) {
	reply, err := q.ask(ctx, rescueScript, r.Member, q.mesh.heartbeat(r.Worker), r.Ends, r.Lived.Milliseconds())
	return decoded(reply, err, decodeRescue)
}

func decodeRescue(reply any) (Rescued, error) {
	word, err := decodeText("rescue", reply)
	switch said := Rescued(word); said {
	case Out, Alive, Strict, NotHere:
		return said, err
	}
	if err == nil {
		err = unreadable("rescue", "it is %q", Clip(word))
	}
	return "", err
}
