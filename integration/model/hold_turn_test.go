package model

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/worqr/worqr-go/worqr"
)

// turn is one hold, as its handler sees it.
type turn struct {
	host        *host
	queue, task string
	p           *worqr.Process
	past        worqr.Past
	orders      chan order
	over        chan struct{} // closed when the handler has returned

	// guarded by the ledger
	began, ended, died time.Time
	order              order
	left               bool  // it was told to stop or to finish: others may hold the task
	dead               bool  // its worker died
	lost               bool  // or was to lapse
	cause              error // why its context had ended when the handler returned
	from, saved        int   // the checkpoint that it came with, and the last that it wrote
	won                bool  // what Finish returned
	err                error // what Finish or Stop returned
	judged             bool
}

// order is what the model has a handler do.
type order string

const (
	returns order = "return"
	breaks  order = "break" // it returns an error
	isDone  order = "done"
	ends    order = "finish"
	givesUp order = "stop"
)

var errBroken = errors.New("the feed broke")

// ledger has all holds of a sequence, in the order in which they began.
type ledger struct {
	mu     sync.Mutex
	turns  []*turn
	saved  int            // the last number of a checkpoint
	gone   map[*host]bool // the dead
	passed map[*turn]bool // those whose task another one was given
	wrong  []string       // what must not be
}

// handler holds until its context ends, or the model orders otherwise.
func (c *crew) handler(h *host) worqr.Handler {
	return worqr.HandlerFunc(func(ctx context.Context, p *worqr.Process) error {
		t := c.begin(h, p)
		defer c.over(t)
		if h.ready {
			_ = p.Ready(ctx) // without an answer the holder before ends a lapse later
		}
		select {
		case o := <-t.orders:
			return c.obey(t, o)
		case <-ctx.Done():
		}
		if h.slow {
			<-time.After(slack)
		}
		cause := context.Cause(ctx)
		if errors.Is(cause, worqr.ErrStopping) || errors.Is(cause, worqr.ErrHandover) {
			_ = c.save(t) // where the next is to go on; the worker may have lapsed meanwhile
		}
		return cause
	})
}

// begin enters a hold, and looks for another one of the same task.
func (c *crew) begin(h *host, p *worqr.Process) *turn {
	t := &turn{
		host: h, queue: p.Queue(), task: string(p.Task()), p: p, past: p.Past(), began: c.world.now(),
		orders: make(chan order, 1), over: make(chan struct{}),
	}
	t.from, _ = strconv.Atoi(string(t.past.Checkpoint)) // none is 0
	l := &c.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	t.dead = l.gone[h]
	for _, o := range l.turns {
		if o.queue == t.queue && o.task == t.task && o.isOn() && !t.dead {
			if what := c.beside(o, t); what != "" {
				l.wrong = append(l.wrong, fmt.Sprintf("%s begins while %s goes on: %s", t, o, what))
			}
		}
	}
	if h.drained[t.queue] {
		l.wrong = append(l.wrong, fmt.Sprintf("%s begins on %s, which is drained", t, h.name))
	}
	for _, o := range l.turns {
		if t.past.Why == worqr.ReasonRebalance && t.past.Token == o.p.Token() {
			l.passed[o] = true
		}
	}
	l.turns = append(l.turns, t)
	return t
}

// isOn reports whether a handler has not returned, of a worker that lives. The caller has the
// ledger's mu.
func (t *turn) isOn() bool { return t.ended.IsZero() && !t.left && !t.dead }

// beside says what is wrong with a hold that begins beside one that has not returned, or "".
func (c *crew) beside(old, next *turn) string {
	given := next.past.Why != worqr.ReasonDeath && next.past.Token == old.p.Token()
	switch {
	case old.host == next.host:
		return "one daemon runs the task twice"
	case c.terms.overlap && given && next.past.Why == worqr.ReasonRebalance:
		return "" // it was offered, and goes on until this one is ready
	case c.terms.overlap && c.ledger.passed[old]:
		return "" // or until it has heard that another one was
	case old.p.Valid():
		return "two hold the task"
	case given:
		return "the task was given away before its handler had returned"
	}
	return "" // it has lapsed, and is on its way out
}

// over enters that a handler has returned.
func (c *crew) over(t *turn) {
	c.ledger.mu.Lock()
	defer c.ledger.mu.Unlock()
	t.ended, t.cause = c.world.now(), context.Cause(t.p.Context())
	close(t.over)
}

// obey does what the model orders.
func (c *crew) obey(t *turn, o order) error {
	ctx, cancel := c.within()
	defer cancel()
	switch o {
	case ends:
		won, err := t.p.Finish(ctx)
		c.ledger.mu.Lock()
		defer c.ledger.mu.Unlock()
		t.won, t.err = won, err
		return nil
	case givesUp:
		_ = c.save(t)
		err := t.p.Stop(ctx)
		c.ledger.mu.Lock()
		defer c.ledger.mu.Unlock()
		t.err = err
		return nil
	case isDone:
		return fmt.Errorf("closed by its peer: %w", worqr.ErrDone)
	case breaks:
		_ = c.save(t)
		return errBroken
	}
	_ = c.save(t)
	return nil
}

// save writes the next checkpoint.
func (c *crew) save(t *turn) error {
	l := &c.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	l.saved++
	n := l.saved
	ctx, cancel := c.within()
	defer cancel()
	if err := t.p.Checkpoint(ctx, []byte(strconv.Itoa(n))); err != nil { // it sends nothing by itself
		return err
	}
	t.saved = n
	return nil
}

// forfeit enters that the present incarnation of a worker is dead, or loses its trust, and with it
// all that it holds. since: also what it has begun since then.
func (c *crew) forfeit(h *host, dead bool, since time.Time) {
	c.ledger.mu.Lock()
	defer c.ledger.mu.Unlock()
	c.ledger.gone[h] = dead
	for _, t := range c.ledger.turns {
		if t.lost || !strings.HasPrefix(t.p.ID(), h.life.id+".") || !t.isOn() && t.began.Before(since) {
			continue
		}
		tale := c.rolls[t.queue].tale(t.task)
		if c.world.now().Sub(t.began) < 2*c.world.worker.Lapse { // else it is too old to be blamed
			tale.dead++
		}
		t.dead = dead
		t.lost, t.died = true, c.world.now()
	}
}

func (t *turn) String() string {
	past := string(t.past.Why)
	if past == "" {
		past = "first"
	}
	return fmt.Sprintf("process %s of %q, token %d (%s after %d, checkpoint %d)", t.p.ID(), t.task, t.p.Token(), past, t.past.Token, t.from)
}
