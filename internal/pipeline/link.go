package pipeline

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"
)

// errRetired is the reason why a retired link has ended. No request that was sent gets it.
var errRetired = errors.New("the connection is given up for another")

// link is one connection, until it breaks.
type link struct {
	conn              redis.Conn
	timeout, patience time.Duration
	wrong             func(refusal error) bool

	writing sync.Mutex   // held while requests are written
	written atomic.Int64 // requests that were passed to the connection in full

	mu      sync.Mutex
	flying  ring        // written, or about to be, and not answered
	load    int         // callers of what is flying
	timer   *time.Timer // looks at the oldest of them; nil: not armed
	err     error       // why it is broken
	retired bool        // nothing more is sent over it
	arrive  sync.Cond   // signalled when something is flying, or the link is broken

	received int64 // answers, of the reader alone
}

// flight is a request on its way.
type flight struct {
	request Request
	callers int
	since   time.Time
	late    bool // Late was called
}

func newLink(conn redis.Conn, cfg Config) *link {
	l := &link{conn: conn, timeout: cfg.Timeout, patience: min(cfg.Patience, cfg.Timeout), wrong: cfg.Wrong}
	l.arrive.L = &l.mu
	return l
}

// usable reports whether more can be sent.
func (l *link) usable() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err == nil && !l.retired
}

// retire ends the link once all that is flying has been completed.
func (l *link) retire() {
	l.mu.Lock()
	l.retired = true
	idle := l.flying.len() == 0
	l.mu.Unlock()
	if idle {
		l.fail(errRetired)
	}
}

func (l *link) callers() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.load
}

// age returns for how long the oldest request has been flying.
func (l *link) age(now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.flying.len() == 0 {
		return 0
	}
	return now.Sub(l.flying.front().since)
}

// send writes requests and flushes. It returns how many callers wait for them. What was not written
// when the link broke is completed as not sent.
func (l *link) send(batch []Request) (callers int) {
	l.writing.Lock()
	defer l.writing.Unlock()

	now := time.Now()
	var broken error
	for i, r := range batch {
		batch[i] = nil
		name, args, n := r.Command()
		if n == 0 {
			continue
		}
		// It flies before it is written: Send writes to the socket when its buffer is full, and the
		// reply may be fast.
		if broken == nil {
			broken = l.push(flight{request: r, callers: n, since: now})
			if broken == nil {
				callers += n
				if err := l.conn.Send(name, args...); err != nil {
					broken = l.fail(err)
				}
				l.written.Add(1)
				continue
			}
		}
		r.Answered(nil, false, broken)
	}
	if broken == nil && callers > 0 {
		if err := l.conn.Flush(); err != nil {
			l.fail(err)
		}
	}
	return callers
}

// push records a request as flying, unless the link is broken.
func (l *link) push(f flight) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return l.err
	}
	l.flying.push(f)
	l.load += f.callers
	if n := l.flying.len(); n > 1 && l.flying.at(n-2).late { // the timer waits for the first one
		l.timer.Reset(min(l.patience, l.timeout-f.since.Sub(l.flying.front().since)))
	}
	if l.flying.len() == 1 {
		l.arrive.Signal()
		if l.timer == nil {
			l.timer = time.AfterFunc(l.patience, l.watch)
		}
	}
	return nil
}

// watch calls Late on each request whose reply is late, and ends the connection when one takes too
// long. Its timer runs while something is flying.
func (l *link) watch() {
	l.mu.Lock()
	if l.err != nil || l.flying.len() == 0 {
		l.timer = nil
		l.mu.Unlock()
		return
	}
	now := time.Now()
	next := l.timeout - now.Sub(l.flying.front().since)
	for i := range l.flying.len() {
		f := l.flying.at(i)
		if left := l.patience - now.Sub(f.since); left > 0 {
			next = min(next, left) // those behind it were sent later
			break
		}
		if call, ok := f.request.(*call); ok && !f.late {
			call.Late() // it is flying, so Answered was not called yet
		}
		f.late = true
	}
	if next > 0 {
		l.timer.Reset(next)
	}
	l.mu.Unlock()
	if next <= 0 {
		l.fail(fmt.Errorf("no answer within %v", l.timeout))
	}
}

// read passes each reply to its request until the link breaks. Then it completes all that is flying
// with the error. It reads also while nothing is flying, so that a connection that the server has
// closed is known before the next request is sent over it.
func (l *link) read() {
	defer l.bury()
	for {
		reply, err := l.receive()
		if err != nil && !refusal(err) {
			l.fail(err)
			return
		}
		l.received++
		if l.received > l.written.Load() {
			l.unwritten()
		}
		f, ok, retired, last := l.pop()
		if !ok {
			l.fail(errors.New("the server answered what nobody had asked"))
			return
		}
		if err != nil && !retired && l.wrong(err) {
			l.retire() // first, so that another attempt goes over another connection
		}
		f.request.Answered(reply, true, err)
		if last {
			l.fail(errRetired)
		}
	}
}

// refusal reports whether err is an error reply of the server, and not an error of the connection.
func refusal(err error) bool {
	var answer redis.Error
	return errors.As(err, &answer)
}

// unwritten waits for the writer. A server that refuses an argument for its length does not read
// the rest, while the writer still reads the arguments. The request is still flying, so this wait
// ends.
func (l *link) unwritten() {
	l.writing.Lock()
	defer l.writing.Unlock()
}

// pop removes and returns the flight that the next reply is for. last reports whether it was the
// last one of a retired link.
func (l *link) pop() (f flight, ok, retired, last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.flying.len() == 0 {
		return f, false, l.retired, false
	}
	f = l.flying.pop()
	l.load -= f.callers
	return f, true, l.retired, l.retired && l.flying.len() == 0
}

// receive waits for a reply without a time limit of its own. A connection that always has a limit
// is read only while something is flying, because its time-out breaks it.
func (l *link) receive() (any, error) {
	if conn, ok := l.conn.(redis.ConnWithTimeout); ok {
		return conn.ReceiveWithTimeout(0)
	}
	l.mu.Lock()
	for l.flying.len() == 0 && l.err == nil {
		l.arrive.Wait()
	}
	l.mu.Unlock()
	return l.conn.Receive()
}

// fail breaks the link and returns the first error that broke it. This ends the reader, which
// completes what is flying.
func (l *link) fail(err error) error {
	l.mu.Lock()
	if l.err != nil {
		defer l.mu.Unlock()
		return l.err
	}
	l.err = err
	if l.timer != nil {
		l.timer.Stop()
	}
	l.arrive.Signal()
	l.mu.Unlock()
	_ = l.conn.Close() // this also ends a write under way
	return err
}

// bury completes all that is flying on a broken link, once nothing reads its arguments any more.
func (l *link) bury() {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.mu.Lock()
	var lost []flight
	for l.flying.len() > 0 {
		lost = append(lost, l.flying.pop())
	}
	l.load = 0
	err := l.err
	l.mu.Unlock()
	for _, f := range lost {
		f.request.Answered(nil, true, err)
	}
}
