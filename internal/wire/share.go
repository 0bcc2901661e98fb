package wire

import (
	"context"
	"time"
)

var grantScript = Named("grant")

// Grant is how many tasks a membership is to give up.
type Grant struct {
	Member string
	Give   int
	Down   int // how many it holds then
}

// Grant tells memberships to give up tasks; full is when the budget of moves is full again.
func (q Queue) Grant(ctx context.Context, full time.Time, grants []Grant) error {
	args := append(make([]any, 0, 1+3*len(grants)), full.UnixMicro())
	for _, g := range grants {
		args = append(args, g.Member, g.Give, g.Down)
	}
	_, err := q.ask(ctx, grantScript, args...)
	return err
}
