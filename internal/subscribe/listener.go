package subscribe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/events"
)

// Listener listens to one mesh. It is the [events.Listener] that users get, and the mesh's own
// source of hints. Its methods may be called from any goroutine.
type Listener struct {
	cfg  Config
	want *wanted

	running   atomic.Bool
	telling   sync.RWMutex
	tellUntil context.Context // Run's, nil while it does not run
	callbacks sync.WaitGroup  // the goroutines of deliver
	renewal   chan struct{}   // has room for one: the connection leads to the wrong server
	connected atomic.Uint64
	dropped   atomic.Uint64
	malformed atomic.Uint64

	// Of Run's goroutine, and of the reader while it runs.
	prefix       string    // of every channel: "namespace@database"; empty until known
	readyAt      time.Time // when the present connection first was ready
	unread       int       // malformed payloads since the last line about them
	unreadLogged time.Time
}

// Why a connection ended, other than by an error of its own.
var (
	errIdle   = errors.New("nothing is wanted")
	errRenew  = errors.New("another connection is wanted")
	errGoexit = errors.New("a hint called runtime.Goexit")
)

// New returns a Listener. It does no I/O and starts nothing. Its errors are ErrConfig.
func New(cfg Config) (*Listener, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Listener{cfg: cfg, want: newWanted(), renewal: make(chan struct{}, 1)}, nil
}

// Run listens until ctx ends, then returns nil: after every goroutine of its own and every callback
// in progress has returned. There is a connection while anything is wanted; a lost one is replaced
// after a pause that grows from about 50 ms to 5 s and starts over once a connection was ready for
// as long as Ping.
//
// Run may be called again when it has returned; until then a second call returns ErrRunning.
func (l *Listener) Run(ctx context.Context) error {
	if !l.running.CompareAndSwap(false, true) {
		return ErrRunning
	}
	defer l.running.Store(false)
	defer l.callbacks.Wait()
	defer l.tellWhile(ctx)()

	for failures := 0; l.awaitWanted(ctx); {
		l.readyAt = time.Time{}
		err := l.connect(ctx)
		if ctx.Err() != nil {
			break
		}
		if !l.readyAt.IsZero() && time.Since(l.readyAt) >= l.cfg.Ping {
			failures = 0
		}
		if errors.Is(err, errIdle) {
			continue
		}
		pause := backoff(failures)
		failures++
		l.cfg.Logger.Warn().Str("error", loggable(err)).Str("advice", advice(err, l.prefix)).
			Dur("retry_in", pause).Msg("events: not connected")
		if !wait(ctx, pause) {
			break
		}
	}
	return nil
}

// Renew replaces the connection, as a lost one is replaced. It is called when the connection leads
// to a server where nothing is published any more. Without a connection it does nothing.
func (l *Listener) Renew() {
	select {
	case l.renewal <- struct{}{}:
	default:
	}
}

// awaitWanted waits until anything is wanted. It reports false when ctx has ended.
func (l *Listener) awaitWanted(ctx context.Context) bool {
	for ctx.Err() == nil && !l.want.any() {
		select {
		case <-ctx.Done():
		case <-l.want.changed:
		}
	}
	return ctx.Err() == nil
}

// connect makes a connection and uses it until it fails, ctx ends, nothing is wanted any more
// (errIdle), or Renew is called (errRenew).
func (l *Listener) connect(ctx context.Context) error {
	select {
	case <-l.renewal: // it meant a connection that is lost
	default:
	}
	conn, err := l.dial(ctx)
	if err != nil {
		return err
	}
	return l.converse(ctx, redis.PubSubConn{Conn: conn})
}

// dial makes a connection. It gives up by itself: a server that accepts and then sends nothing
// would otherwise hold Run for ever.
func (l *Listener) dial(ctx context.Context) (redis.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, max(2*l.cfg.Ping, maxPause))
	defer cancel()
	if l.prefix == "" {
		db, err := l.cfg.Database(ctx)
		if err != nil {
			return nil, fmt.Errorf("ask the database's number: %w", err)
		}
		l.prefix = l.cfg.Namespace + "@" + strconv.Itoa(db)
	}
	conn, err := l.cfg.Dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	return conn, nil
}

// converse runs the one goroutine that receives and the one that sends. Closing the connection
// frees both, wherever they are: of all that redigo forbids to do at the same time, Close is what
// its own contexts rely on.
func (l *Listener) converse(ctx context.Context, conn redis.PubSubConn) error {
	l.connected.Add(1)
	defer l.want.lost()
	done := make(chan struct{})
	ended := make(chan error, 2)
	for _, f := range []func() error{
		func() error { return l.receive(ctx, conn) },
		func() error { return l.send(conn, done) },
	} {
		go func() {
			err := errGoexit
			defer func() { ended <- err }()
			err = f()
		}()
	}
	var err error
	left := 2
	select {
	case <-ctx.Done():
	case <-l.renewal:
		err = errRenew
	case err = <-ended:
		left--
	}
	close(done)
	_ = conn.Close() // it is being given up: nobody needs to know how that went
	for ; left > 0; left-- {
		err = cause(err, <-ended)
	}
	return err
}

// receive is the reader. Everything that arrives, a pong too, proves the connection alive.
func (l *Listener) receive(ctx context.Context, conn redis.PubSubConn) error {
	quiet := 2 * l.cfg.Ping
	for {
		switch v := conn.ReceiveWithTimeout(quiet).(type) {
		case error:
			if late := net.Error(nil); errors.As(v, &late) && late.Timeout() {
				return fmt.Errorf("nothing arrived for %v: %w", quiet, v)
			}
			return fmt.Errorf("receive: %w", v)
		case redis.Message:
			l.dispatch(ctx, v)
		case redis.Subscription:
			if key, ours := strings.CutPrefix(v.Channel, l.prefix); ours {
				l.want.confirm(key)
			}
			l.announce()
		case redis.Pong:
			l.announce()
		}
	}
}

// dispatch reads a message and delivers it to all who want it.
func (l *Listener) dispatch(ctx context.Context, m redis.Message) {
	key, _ := strings.CutPrefix(m.Channel, l.prefix)
	topic, handlers := l.want.find(key)
	if len(handlers) == 0 {
		return
	}
	e, err := decode(topic, m.Data)
	if err != nil {
		l.malformed.Add(1)
		if l.unread++; time.Since(l.unreadLogged) >= logEvery {
			l.cfg.Logger.Warn().Err(err).Str("channel", m.Channel).Int("bytes", len(m.Data)).Int("passed_over", l.unread).
				Msg("events: a message on this channel was not published by this library")
			l.unread, l.unreadLogged = 0, time.Now()
		}
		return
	}
	for _, h := range handlers {
		l.deliver(ctx, h, e)
	}
}

// announce calls what OnReady has registered, if everything has become confirmed.
func (l *Listener) announce() {
	now, handlers := l.want.announce()
	if now && l.readyAt.IsZero() {
		l.readyAt = time.Now()
	}
	for _, h := range handlers {
		l.deliver(context.Background(), h, events.Event{Kind: ready})
	}
}

// send is the writer: it keeps what the server knows level with what is wanted, and probes. A write
// that hangs is freed by the reader, which hears nothing and gives the connection up.
func (l *Listener) send(conn redis.PubSubConn, done <-chan struct{}) error {
	probe := time.NewTicker(l.cfg.Ping)
	defer probe.Stop()
	for {
		p := l.want.next()
		if p.idle {
			return errIdle
		}
		err := l.sendChannels(conn, "UNSUBSCRIBE", p.unsubscribe)
		if err == nil {
			err = l.sendChannels(conn, "SUBSCRIBE", p.subscribe)
		}
		if err == nil && p.probe {
			err = conn.Ping("") // its pong is what makes the reader announce
		}
		if err != nil {
			return fmt.Errorf("send: %w", err)
		}
		select {
		case <-done:
			return nil
		case <-l.want.changed:
		case <-probe.C:
			if err := conn.Ping(""); err != nil {
				return fmt.Errorf("send: %w", err)
			}
		}
	}
}

// sendChannels sends one command for all keys, in pieces, so that a mesh of many queues does not
// hold the server up.
func (l *Listener) sendChannels(conn redis.PubSubConn, command string, keys []string) error {
	const piece = 500
	for len(keys) > 0 {
		n := min(piece, len(keys))
		args := make([]any, n)
		for i, key := range keys[:n] {
			args[i] = l.prefix + key
		}
		if err := conn.Conn.Send(command, args...); err != nil {
			return err
		}
		keys = keys[n:]
	}
	return conn.Conn.Flush()
}
