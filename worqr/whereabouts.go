package worqr

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"
)

// The pauses between two turns while the server goes on refusing: the first is at once. With
// longestTurn a daemon dials about as often as while nothing listens.
const (
	leastTurn   = 20 * time.Millisecond
	longestTurn = 500 * time.Millisecond
	calm        = 5 * time.Second // without a turn for so long, the next is a first again
)

// errMoved: while a subscription was dialled, commands began to go to another server.
var errMoved = errors.New("commands go to another server meanwhile")

// whereabouts is what a mesh knows of the server that its connections lead to. A server that
// refuses whoever writes may not be the primary any more, and closes nothing. So such a refusal is
// a turn: all commands go over new connections from then on. When these lead to another server, the
// subscriptions, which nobody refuses anything, follow.
type whereabouts struct {
	ask    func(context.Context) (redis.Conn, error)
	turn   atomic.Uint64 // a connection for commands that was dialled before the last one is given up
	turned func()        // is called at each turn

	mu        sync.Mutex
	pause     time.Duration // before the next turn's dials
	last      time.Time     // when the last turn was
	notYet    time.Time     // dials for commands wait until then
	why       error         // of the last turn
	server    string        // where the newest connection for commands leads; "": there was none
	moves     int           // changes of server
	followers map[*follower]bool
}

// wrong is called when a server has refused a command as it would refuse all that write, on a
// connection that was dialled at a turn. Only the first of such refusals is the next turn.
func (a *whereabouts) wrong(turn uint64, why error) {
	if !a.turn.CompareAndSwap(turn, turn+1) {
		return
	}
	a.mu.Lock()
	now := time.Now()
	if now.Sub(a.last) > calm {
		a.pause = 0
	}
	a.last, a.notYet, a.why = now, now.Add(jitter(a.pause)), why
	a.pause = min(max(2*a.pause, leastTurn), longestTurn)
	a.mu.Unlock()
	a.turned()
}

// dial makes a connection for commands, not before it is time.
func (a *whereabouts) dial(ctx context.Context) (redis.Conn, error) {
	a.mu.Lock()
	notYet, why := a.notYet, a.why
	a.mu.Unlock()
	if err := sleep(ctx, time.Until(notYet)); err != nil {
		if why != nil {
			err = fmt.Errorf("%w, before another connection was dialled after: %w", err, why)
		}
		return nil, err
	}
	conn, server, err := a.connect(ctx, a.ask)
	if err != nil {
		return nil, err
	}
	for _, f := range a.led(server) {
		f.renew()
	}
	return conn, nil
}

// led notes where commands go now, and returns the subscriptions that are elsewhere.
func (a *whereabouts) led(server string) (elsewhere []*follower) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.server
	a.server = server
	if before == "" || before == server {
		return nil
	}
	a.moves++
	for f := range a.followers {
		if f.server != "" && f.server != server {
			elsewhere = append(elsewhere, f)
		}
	}
	return elsewhere
}

// connect dials, refuses a connection that cannot do what is needed, and asks which server it leads
// to.
func (a *whereabouts) connect(ctx context.Context, dial func(context.Context) (redis.Conn, error)) (redis.Conn, string, error) {
	turn := a.turn.Load()
	conn, err := dial(ctx)
	if err != nil {
		return nil, "", err
	}
	if err := able(conn); err != nil {
		_ = conn.Close() // it was not used
		return nil, "", err
	}
	server, err := serverOf(ctx, conn)
	if err != nil {
		_ = conn.Close() // it is broken
		return nil, "", err
	}
	if server == "" { // who may not know takes each turn for a move
		server = fmt.Sprint("turn ", turn)
	}
	return conn, server, nil
}

// able refuses a connection on which no command, beat or subscription could be given up in time.
func able(conn redis.Conn) error {
	missing := ""
	if _, ok := conn.(redis.ConnWithContext); !ok {
		missing = "redis.ConnWithContext"
	} else if _, ok := conn.(redis.ConnWithTimeout); !ok {
		missing = "redis.ConnWithTimeout"
	}
	if missing == "" {
		return nil
	}
	return fmt.Errorf("%w: dial: a connection of type %T is not a %s: return what redis.Dial makes, or wrap it with all of its methods", ErrConfig, conn, missing)
}

// follower is a subscription that goes where the commands go.
type follower struct {
	at     *whereabouts
	ask    func(context.Context) (redis.Conn, error)
	renew  func() // drops the present connection
	server string // where it leads; "": it is being dialled, or never was. Guarded by the whereabouts' mu
}

// follow adds a subscription. Its owner dials by it, and calls leave when it has ended.
func (a *whereabouts) follow(ask func(context.Context) (redis.Conn, error), renew func()) *follower {
	f := &follower{at: a, ask: ask, renew: renew}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.followers == nil {
		a.followers = map[*follower]bool{}
	}
	a.followers[f] = true
	return f
}

func (f *follower) leave() {
	f.at.mu.Lock()
	defer f.at.mu.Unlock()
	delete(f.at.followers, f)
}

func (f *follower) dial(ctx context.Context) (redis.Conn, error) {
	a := f.at
	a.mu.Lock()
	f.server = ""
	moves := a.moves
	a.mu.Unlock()
	conn, server, err := a.connect(ctx, f.ask)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	missed := a.moves != moves && server != a.server
	f.server = server
	a.mu.Unlock()
	if missed {
		_ = conn.Close() // it was not used
		return nil, errMoved
	}
	return conn, nil
}
