package witness

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"net"
	"time"
)

const (
	rounds    = 5               // round trips at the start, to measure a holder's clock
	impatient = 5 * time.Second // with a peer that does not send its name, or does not read
)

// holder is all that was heard under one name.
type holder struct {
	name     string
	sessions map[*session]bool // connected
	ever     int               // sessions
	late     time.Duration     // the longest time that a statement took
}

// session is one connection of one holder. One goroutine owns its stream; Witness.mu guards the
// rest.
type session struct {
	w    *Witness
	conn net.Conn
	dec  *gob.Decoder
	enc  *gob.Encoder

	*holder
	offset offset
	asked  message // the last ping; its Op is pong once the reply has come
	seq    uint64
	stamp  time.Duration // of the last tick, on the holder's clock
	tick   instant
	upTo   uint64 // the tick confirms what was begun up to this one, if not ended or stopping
	top    uint64 // the last begun
	spans  map[uint64]*span
}

func (w *Witness) converse(ctx context.Context, conn net.Conn) {
	s := &session{w: w, conn: conn, dec: gob.NewDecoder(conn), enc: gob.NewEncoder(conn), spans: map[uint64]*span{}}
	conn.SetReadDeadline(time.Now().Add(impatient))
	var m message
	if s.read(&m) != nil {
		return
	}
	switch m.Op {
	case inquire:
		r := w.Report()
		s.send(message{Op: answer, Report: &r})
	case hello:
		err := s.greet(m)
		conn.SetReadDeadline(time.Time{})
		if err == nil {
			err = s.listen()
		}
		if ctx.Err() == nil { // a witness that stops has not seen its holders die
			s.leave(m.Holder, err)
		}
	}
}

// errGone is the error of a connection that has ended, by death or by an invalid message: what it
// held is cut. Any other error is a fault, after which nothing of the session can be judged.
var errGone = errors.New("gone")

func (s *session) read(m *message) error {
	if s.dec.Decode(m) != nil {
		return errGone
	}
	return nil
}

func (s *session) send(m message) error {
	s.conn.SetWriteDeadline(time.Now().Add(impatient))
	if s.enc.Encode(m) != nil {
		return errGone
	}
	return nil
}

// greet measures the clock of the holder that sent hello.
func (s *session) greet(m message) error {
	for range rounds {
		if err := s.ping(); err != nil {
			return err
		}
		var got message
		if err := s.read(&got); err != nil {
			return err
		}
		if err := s.measure(got, s.w.clock.now()); err != nil {
			return err
		}
	}
	s.w.mu.Lock()
	s.offset.same(s.w.clock.id, m.Clock)
	if s.w.holders[m.Holder] == nil {
		s.w.holders[m.Holder] = &holder{name: m.Holder, sessions: map[*session]bool{}}
	}
	s.holder = s.w.holders[m.Holder]
	s.sessions[s] = true
	s.ever++
	s.w.mu.Unlock()
	return s.send(message{Op: welcome, Every: s.w.cfg.Every})
}

// ping requests the holder's clock.
func (s *session) ping() error {
	s.asked = message{Op: ping, N: s.asked.N + 1, At: s.w.clock.now()}
	return s.send(s.asked)
}

func (s *session) measure(m message, received time.Duration) error {
	if m.Op != pong || s.asked.Op != ping || m.N != s.asked.N {
		return fmt.Errorf("an answer to ping %d, asked was %d", m.N, s.asked.N)
	}
	s.asked.Op = pong
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	return s.offset.measure(s.asked.At, m.At, received)
}

// listen takes in statements until the holder sends bye.
func (s *session) listen() error {
	for {
		var m message
		err := s.read(&m)
		received := s.w.clock.now()
		switch {
		case err != nil:
		case m.Op == bye:
			return nil
		case m.Op == mark:
			err = s.send(message{Op: marked, N: m.N})
		case m.Op == pong:
			err = s.measure(m, received)
		default:
			err = s.hear(m, received)
			if err == nil && !s.offset.shared && s.asked.Op == pong {
				err = s.ping()
			}
		}
		if err != nil {
			return err
		}
	}
}

// leave ends all that the session held.
func (s *session) leave(name string, err error) {
	received := s.w.clock.now()
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	if err != nil && err != errGone {
		s.w.tally.fault(received, name, fmt.Sprintf("its connection was ended: %v", err))
	}
	if s.holder == nil {
		return
	}
	delete(s.sessions, s)
	for _, p := range s.spans {
		p.told = p.last()
		p.end, p.state = instant{received, received}, cut
		s.w.tally.Cut++
		s.w.fold(p.key)
	}
	s.spans, s.dec, s.enc, s.conn = nil, nil, nil, nil // kept spans keep the session
}
