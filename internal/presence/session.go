package presence

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"
)

var (
	errSlow    = errors.New("the subscription took too long")
	errDown    = errors.New("the connection does not stand any more")
	errMoved   = errors.New("another channel is wanted")
	errDoubted = errors.New("the server may not count it")
	errOther   = errors.New("the server ended the subscription")
)

// makingMost is the longest time from before a connection is dialled until the server has replied
// on it.
const makingMost = 5 * time.Second

// session is one connection, from before it is dialled. Instants are durations since the line was
// made.
type session struct {
	l       *Line
	channel string
	cancel  context.CancelCauseFunc
	stands  chan struct{} // closed when it is subscribed and checked
	done    chan struct{} // closed when all of it has ended, with err
	err     error
	nudge   chan struct{} // asks for a ping at once

	// Set before stands is closed.
	socket *socket // nil: not known
	since  time.Time

	ended atomic.Bool  // the reader has seen the end
	proof atomic.Int64 // when the last ping with a reply was sent: the server had the subscription
	alert atomic.Int64 // without a socket: when the last look in time came

	// Used by Run's goroutine alone.
	good  time.Duration
	doubt time.Duration // without a socket: since when a pause leaves it unknown; 0: it is known
}

// open dials and subscribes, in a goroutine that ends with the session.
func (l *Line) open(ctx context.Context) *session {
	s := &session{
		l: l, channel: l.cfg.Channel(), stands: make(chan struct{}), done: make(chan struct{}), nudge: make(chan struct{}, 1),
	}
	ctx, s.cancel = context.WithCancelCause(ctx)
	go func() {
		defer close(s.done)
		s.err = fmt.Errorf("presence: channel %q: %w", s.channel, s.converse(ctx))
		s.ended.Store(true)
		s.cancel(nil)
	}()
	return s
}

// drop abandons the session, whatever it still reports. done is closed when it has ended.
func (s *session) drop(why error) {
	s.ended.Store(true)
	s.cancel(why)
}

// converse works until the connection ends, and returns why. All that it started has then ended.
func (s *session) converse(ctx context.Context) error {
	slow := time.AfterFunc(min(s.l.cfg.Silence, makingMost), func() { s.cancel(errSlow) })
	defer slow.Stop()
	caught := &capture{}
	conn, err := s.l.cfg.Dial(context.WithValue(ctx, captureKey{}, caught))
	if err != nil {
		return fmt.Errorf("dial: %w", err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })() // frees the reader and the writer
	why := func(verb string, err error) error {
		s.ended.Store(true)
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return fmt.Errorf("%s: %w", verb, err)
	}

	pubsub := redis.PubSubConn{Conn: conn}
	if err := s.subscribe(pubsub); err != nil {
		return why("subscribe", err)
	}
	checked := s.l.cfg.Check(ctx)
	if checked != nil && !errors.Is(checked, ErrUnseen) {
		return why("check", checked)
	}
	if err := s.prove(pubsub); err != nil {
		return why("ping", err)
	}
	if checked != nil { // and it is established: nothing else has ended the subscription
		return why("check", checked)
	}
	if !slow.Stop() {
		return why("ping", errSlow)
	}
	s.socket, s.since = newSocket(caught), time.Now()
	s.good = time.Duration(s.proof.Load())
	s.alert.Store(int64(s.good))
	close(s.stands)

	var sender sync.WaitGroup
	sender.Go(func() { s.send(ctx, pubsub) })
	err = s.receive(pubsub)
	s.ended.Store(true)
	s.cancel(err)
	sender.Wait()
	return why("receive", err)
}

func (s *session) subscribe(conn redis.PubSubConn) error {
	if err := conn.Subscribe(s.channel); err != nil {
		return err
	}
	return s.hear(conn)
}

// prove waits for the reply to a first ping. A connection without that reply would be lost after
// each Silence. A reply after Check proves that the subscription existed all the time.
func (s *session) prove(conn redis.PubSubConn) error {
	if err := s.ping(conn, s.l.now()); err != nil {
		return err
	}
	for s.proof.Load() == 0 {
		if err := s.hear(conn); err != nil {
			return err
		}
	}
	return nil
}

// ping carries the instant before it was sent, which comes back with the reply.
func (s *session) ping(conn redis.PubSubConn, sent time.Duration) error {
	return conn.Ping(strconv.FormatInt(int64(sent), 10))
}

// send is the writer.
func (s *session) send(ctx context.Context, conn redis.PubSubConn) {
	every := func() time.Duration { return s.l.cfg.Ping - time.Duration(rand.Float64()*float64(s.l.cfg.Ping)/10) }
	timer := time.NewTimer(every())
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.nudge:
		case <-timer.C:
			timer.Reset(every())
		}
		if err := s.ping(conn, s.l.now()); err != nil {
			s.cancel(fmt.Errorf("ping: %w", err))
			return
		}
	}
}

// receive is the reader. Nothing is published on this channel; a message that comes all the same
// means nothing.
func (s *session) receive(conn redis.PubSubConn) error {
	for {
		if err := s.hear(conn); err != nil {
			return err
		}
	}
}

func (s *session) hear(conn redis.PubSubConn) error {
	switch v := conn.ReceiveWithTimeout(s.l.cfg.Silence).(type) {
	case error:
		return v
	case redis.Subscription:
		if v.Count != 1 || v.Channel != s.channel {
			return errOther
		}
	case redis.Pong:
		sent, err := strconv.ParseInt(v.Data, 10, 64)
		if err != nil || sent > int64(s.l.now()) {
			return fmt.Errorf("the answer to a ping is %q, which was not asked", v.Data)
		}
		s.proof.Store(max(sent, s.proof.Load()))
	}
	return nil
}

// valid reports whether the subscription exists, as far as can be known at this very instant. Any
// goroutine may call it.
func (s *session) valid() bool {
	now := s.l.now()
	switch {
	case s.ended.Load() || s.silent(now):
		return false
	case s.socket != nil:
		return s.socket.established()
	default: // after a pause nobody knows what the reader has not seen yet
		return now-max(time.Duration(s.alert.Load()), time.Duration(s.proof.Load())) <= s.l.patience()
	}
}

func (s *session) silent(now time.Duration) bool { return s.credit(now) < 0 }

// credit returns how long the last sign of life is still trusted.
func (s *session) credit(now time.Duration) time.Duration {
	return time.Duration(s.proof.Load()) + s.l.cfg.Silence - now
}

// look reports whether the subscription exists, and returns until when it is known to have existed.
// now was read before. It may be called only by Run's goroutine, after the session was subscribed.
func (s *session) look(now time.Duration) (good time.Duration, stands bool) {
	proof := time.Duration(s.proof.Load())
	s.good = max(s.good, proof)
	switch {
	case s.silent(now):
		return proof, false // without the server's FIN a holder can see no better
	case s.ended.Load():
		return s.good, false
	case s.socket != nil:
		if s.socket.established() {
			s.good = now
			return now, true
		}
		return s.good, false
	default:
		return s.unsocketed(now, proof)
	}
}

// unsocketed is look where the kernel cannot be asked. While looks come in time, the reader is
// assumed to see an end within patience too. After a pause only the reply to a ping that was sent
// since then counts: on the same connection it proves that the subscription existed all the time.
func (s *session) unsocketed(now, proof time.Duration) (time.Duration, bool) {
	if alert := max(time.Duration(s.alert.Load()), proof); now-alert <= s.l.patience() {
		s.alert.Store(int64(now))
		s.good = max(s.good, now-s.l.patience())
		s.doubt = 0
		return s.good, true
	}
	if s.doubt == 0 {
		s.doubt = now
		select {
		case s.nudge <- struct{}{}:
		default:
		}
	}
	return s.good, now-s.doubt <= s.l.cfg.Grace
}

// is reports whether c is closed.
func is(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
