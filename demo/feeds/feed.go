package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"

	"github.com/worqr/worqr-go/worqr"
)

// reader reads feeds from the server at addr.
type reader struct{ addr string }

// Handle implements worqr.Handler. It holds one feed until its context ends: the task is canceled
// or moves to another worker, the worker stops, or it cannot be sure any more that the task is its
// own. When the connection breaks before that it returns, and the task is given back: some worker
// tries again, a little later.
func (r reader) Handle(ctx context.Context, p *worqr.Process) error {
	feed := string(p.Task())
	last, _ := strconv.Atoi(string(p.Past().Checkpoint)) // the last line that a holder before has read, 0 when there was none

	conn, err := new(net.Dialer).DialContext(ctx, "tcp", r.addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })() // so that no read outlasts the context

	if _, err := fmt.Fprintln(conn, feed, last); err != nil { // the lines after this one, please
		return err
	}
	lines := bufio.NewScanner(conn)
	for lines.Scan() && ctx.Err() == nil { // Err reads the clock: one that was frozen uses no line that is another's by now
		if _, err := fmt.Sscan(lines.Text(), &feed, &last); err != nil {
			return err
		}
		// Here is the place to use the line; then the next holder need not read it again. The
		// newest checkpoint goes out with the worker's next beat, and before the task moves, so it
		// costs next to nothing to set one for each line.
		if err := p.Checkpoint(ctx, strconv.AppendInt(nil, int64(last), 10)); err != nil {
			return err
		}
	}
	return cmp.Or(context.Cause(ctx), lines.Err(), io.ErrUnexpectedEOF)
}
