package embedded

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// pipe returns the two ends of a connection in memory. Unlike net.Pipe it buffers without a limit:
// a client may send many commands before it reads the first reply, and a slow subscriber delays
// nobody. A Read waits for nothing but a channel, so inside a synctest bubble it waits durably.
func pipe() (net.Conn, net.Conn) {
	ab, ba := newStream(), newStream()
	return newEnd(ba, ab), newEnd(ab, ba)
}

// stream is one direction.
type stream struct {
	mu     sync.Mutex
	buf    []byte
	ended  bool          // the writer has closed: the reader gets the rest, then EOF
	gone   bool          // the reader has closed: writes fail
	signal chan struct{} // of capacity 1: something has changed
}

func newStream() *stream { return &stream{signal: make(chan struct{}, 1)} }

func (s *stream) wake() {
	select {
	case s.signal <- struct{}{}:
	default:
	}
}

// take moves what has arrived into b. ok is false when nothing has arrived yet.
func (s *stream) take(b []byte) (n int, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.gone:
		return 0, true, net.ErrClosed
	case len(s.buf) > 0:
		n = copy(b, s.buf)
		if s.buf = s.buf[n:]; len(s.buf) == 0 {
			s.buf = nil
		}
		return n, true, nil
	case s.ended:
		return 0, true, io.EOF
	}
	return 0, len(b) == 0, nil
}

func (s *stream) put(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended:
		return 0, net.ErrClosed
	case s.gone:
		return 0, io.ErrClosedPipe
	}
	s.buf = append(s.buf, b...)
	s.wake()
	return len(b), nil
}

// end is one end of a pipe. One goroutine may read and one write.
type end struct {
	in, out     *stream
	read, write *deadline
}

func newEnd(in, out *stream) *end {
	return &end{in: in, out: out, read: newDeadline(), write: newDeadline()}
}

func (e *end) Read(b []byte) (int, error) {
	for {
		passed := e.read.passed()
		select {
		case <-passed:
			return 0, os.ErrDeadlineExceeded
		default:
		}
		if n, ok, err := e.in.take(b); ok {
			return n, err
		}
		select {
		case <-e.in.signal:
		case <-passed:
			return 0, os.ErrDeadlineExceeded
		}
	}
}

func (e *end) Write(b []byte) (int, error) {
	select {
	case <-e.write.passed():
		return 0, os.ErrDeadlineExceeded
	default:
		return e.out.put(b)
	}
}

// Close ends both directions. What was written before still arrives.
func (e *end) Close() error {
	e.out.mu.Lock()
	e.out.ended = true
	e.out.wake()
	e.out.mu.Unlock()
	e.in.mu.Lock()
	e.in.gone, e.in.buf = true, nil
	e.in.wake()
	e.in.mu.Unlock()
	return nil
}

func (e *end) SetDeadline(t time.Time) error {
	e.read.set(t)
	e.write.set(t)
	return nil
}
func (e *end) SetReadDeadline(t time.Time) error  { e.read.set(t); return nil }
func (e *end) SetWriteDeadline(t time.Time) error { e.write.set(t); return nil }

func (e *end) LocalAddr() net.Addr  { return addr{} }
func (e *end) RemoteAddr() net.Addr { return addr{} }

type addr struct{}

func (addr) Network() string { return "memory" }
func (addr) String() string  { return "embedded" }

// deadline holds a channel that is closed when its time has come.
type deadline struct {
	mu    sync.Mutex
	timer *time.Timer
	done  chan struct{}
}

func newDeadline() *deadline { return &deadline{done: make(chan struct{})} }

func (d *deadline) passed() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.done
}

// set moves the deadline; a Read that waits already sees it. The zero time
// means none.
func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil && !d.timer.Stop() {
		<-d.done // it is passing: let it finish
	}
	d.timer = nil
	select {
	case <-d.done:
		d.done = make(chan struct{})
	default:
	}
	if t.IsZero() {
		return
	}
	done := d.done
	if left := time.Until(t); left > 0 {
		d.timer = time.AfterFunc(left, func() { close(done) })
	} else {
		close(done)
	}
}
