package presence

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gomodule/redigo/redis"
)

var (
	// ErrConfig is returned by New and NewWatch when a value is missing or out of its range.
	ErrConfig = errors.New("presence: invalid configuration")
	// ErrRunning is returned by Run while another Run of the same Line has not returned yet.
	ErrRunning = errors.New("presence: already running")
	// ErrUnseen is the error that Check returns when the server does not count the subscription.
	// The line believes it only if the connection is still established after that. Then it tries
	// again more and more seldom, in the end once a minute.
	ErrUnseen = errors.New("the server does not count the subscription")
)

// Config configures a Line. Dial and Channel are required. The callbacks may be nil. They are
// called one at a time from Run's goroutine and must not block: the line notices nothing during a
// call.
type Config struct {
	// Dial makes a new connection at each call, and returns when its context ends. Where it passes
	// this context to a dialler that Through has wrapped, the line gets to know the socket.
	Dial func(ctx context.Context) (redis.Conn, error)
	// Channel returns the name of the channel to subscribe to. It is called for each connection,
	// and at Reset.
	Channel func() string
	// Check is called after each subscription, before it counts. If it returns an error, the
	// subscription does not count. What makes it safe to be back belongs here. First a beat: it
	// refutes each earlier suspicion, also one whose rescue is still on its way. Then a look
	// whether a peer has taken over meanwhile; whatever it took ends. Nil means no check.
	Check func(ctx context.Context) error
	// Grace is how long the line may be without a subscription before it is lost. Default and
	// maximum: HolderGrace.
	Grace time.Duration
	// Ping is how often the server is asked for a sign of life. Default 1 s, at least 10 ms.
	Ping time.Duration
	// Silence is how long a sign of life is trusted, counted from when it was asked for. Default
	// 2.75*Ping: by default a server that is frozen for 1.5 s causes no loss. At least 2*Ping.
	Silence time.Duration

	Back   func()          // Up is true now: for the first time since Reset, or again within Grace
	Lost   func()          // Up stays false until Reset; once between two Resets, only after Back
	Failed func(err error) // a connection ended or could not be made; the line goes on
}

func (c Config) withDefaults() (Config, error) {
	if c.Grace == 0 {
		c.Grace = HolderGrace
	}
	if c.Ping == 0 {
		c.Ping = time.Second
	}
	if c.Silence == 0 {
		c.Silence = c.Ping * 11 / 4
	}
	nothing := func() {}
	if c.Back == nil {
		c.Back = nothing
	}
	if c.Lost == nil {
		c.Lost = nothing
	}
	if c.Failed == nil {
		c.Failed = func(error) {}
	}
	if c.Check == nil {
		c.Check = func(context.Context) error { return nil }
	}
	const minGrace, minPing = 20 * time.Millisecond, 10 * time.Millisecond
	switch {
	case c.Dial == nil || c.Channel == nil:
		return c, fmt.Errorf("%w: Dial and Channel are needed", ErrConfig)
	case c.Grace < minGrace || c.Grace > HolderGrace:
		return c, fmt.Errorf("%w: Grace %v is not in %v..%v", ErrConfig, c.Grace, minGrace, HolderGrace)
	case c.Ping < minPing:
		return c, fmt.Errorf("%w: Ping %v is below %v", ErrConfig, c.Ping, minPing)
	case c.Silence < 2*c.Ping:
		return c, fmt.Errorf("%w: Silence %v is below twice Ping %v", ErrConfig, c.Silence, c.Ping)
	}
	return c, nil
}
