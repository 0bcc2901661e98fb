package wire

import (
	"context"
	"time"
)

var (
	grantScript = Named("grant")
	weighScript = Named("weigh")
	admitScript = Named("admit")
)

// Grant is how many tasks a membership is to give up.
type Grant struct {
	Member string
	Give   int
	Down   int // how many it holds then
}

// Grant has memberships give up tasks; full is when the budget of moves is full again.
func (q Hold) Grant(ctx context.Context, full time.Time, grants []Grant) error {
	args := append(make([]any, 0, 1+3*len(grants)), full.UnixMicro())
	for _, g := range grants {
		args = append(args, g.Member, g.Give, g.Down)
	}
	_, err := q.ask(ctx, grantScript, args...)
	return err
}

// Weigh changes the weight of a membership: at 0 nothing more falls to it. Errors: ErrFenced.
func (q Hold) Weigh(ctx context.Context, member string, weight int) error {
	_, err := q.ask(ctx, weighScript, member, weight)
	return err
}

// Admit returns for how long to wait for the next turn of an upstream, of which there are so many
// per second.
func (q Hold) Admit(ctx context.Context, upstream string, rate float64) (time.Duration, error) {
	reply, err := q.ask(ctx, admitScript, upstream, int64(1e6/rate))
	return decoded(reply, err, decodeAdmit)
}

func decodeAdmit(reply any) (time.Duration, error) {
	wait, err := decodeInteger("admit", reply)
	return time.Duration(wait) * time.Microsecond, err
}
