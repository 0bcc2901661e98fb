package witness

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"
)

// unread is how much a teller buffers for a witness that does not read: hours of ticks, a hundred
// thousand begins.
const unread = 16 << 20

// Teller states to a witness what one holder holds. It never makes the holder wait for the witness.
type Teller struct {
	name  string
	conn  net.Conn
	clock clock
	every time.Duration
	dec   *gob.Decoder
	wake  chan struct{} // something is to be written
	gone  chan struct{} // closed when err is set
	stop  context.CancelFunc
	runs  sync.WaitGroup

	mu    sync.Mutex
	enc   *gob.Encoder // into out
	out   bytes.Buffer
	seq   uint64
	top   uint64 // the last hold
	holds []*Hold
	marks map[uint64]chan struct{}
	mark  uint64
	err   error
}

// Dial connects a holder to the witness at addr, a unix socket if it has a slash in it. The caller
// closes the teller.
func Dial(ctx context.Context, addr, holder string) (*Teller, error) {
	conn, err := connect(ctx, addr)
	if err != nil {
		return nil, err
	}
	return dial(ctx, conn, holder, machine())
}

func connect(ctx context.Context, addr string) (net.Conn, error) {
	network := "tcp"
	if strings.Contains(addr, "/") {
		network = "unix"
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, fmt.Errorf("witness: dial: %w", err)
	}
	return conn, nil
}

func dial(ctx context.Context, conn net.Conn, holder string, c clock) (*Teller, error) {
	t := &Teller{name: holder, conn: conn, clock: c, dec: gob.NewDecoder(conn), wake: make(chan struct{}, 1),
		gone: make(chan struct{}), marks: map[uint64]chan struct{}{}}
	t.enc = gob.NewEncoder(&t.out)
	interrupt := context.AfterFunc(ctx, func() { conn.Close() })
	err := t.greet()
	if !interrupt() {
		err = context.Cause(ctx)
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("witness: holder %s: hello: %w", holder, err)
	}
	running, stop := context.WithCancel(context.Background())
	t.stop = stop
	t.runs.Go(func() { t.tick(running) })
	t.runs.Go(t.write)
	t.runs.Go(t.read)
	return t, nil
}

// greet lets the witness measure this clock.
func (t *Teller) greet() error {
	t.say(message{Op: hello, Holder: t.name, Clock: t.clock.id})
	for {
		if _, err := t.out.WriteTo(t.conn); err != nil {
			return err
		}
		var m message
		if err := t.dec.Decode(&m); err != nil {
			return err
		}
		switch m.Op {
		case ping:
			t.say(message{Op: pong, N: m.N, At: t.clock.now()})
		case welcome:
			t.every = m.Every
			return nil
		default:
			return fmt.Errorf("an unknown answer %d", m.Op)
		}
	}
}

// say queues a message. The caller holds mu.
func (t *Teller) say(m message) {
	if t.err != nil {
		return
	}
	switch m.Op {
	case begin, still, end:
		t.seq++
		m.Seq = t.seq
	}
	if err := t.enc.Encode(m); err != nil {
		t.fail(err)
	} else if t.out.Len() > unread {
		t.fail(errors.New("the witness does not read"))
	}
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// fail ends the connection. The caller holds mu.
func (t *Teller) fail(err error) {
	if t.err == nil {
		t.err = fmt.Errorf("witness: holder %s: its connection: %w", t.name, err)
		close(t.gone)
		t.conn.Close()
	}
}

func (t *Teller) write() {
	var chunk []byte
	for {
		select {
		case <-t.wake:
		case <-t.gone:
			return
		}
		t.mu.Lock()
		chunk = append(chunk[:0], t.out.Bytes()...)
		t.out.Reset()
		t.mu.Unlock()
		if len(chunk) == 0 {
			continue
		}
		if _, err := t.conn.Write(chunk); err != nil {
			t.mu.Lock()
			t.fail(err)
			t.mu.Unlock()
			return
		}
	}
}

func (t *Teller) read() {
	for {
		var m message
		err := t.dec.Decode(&m)
		at := t.clock.now()
		t.mu.Lock()
		switch {
		case err != nil:
			t.fail(err)
			t.mu.Unlock()
			return
		case m.Op == ping:
			t.say(message{Op: pong, N: m.N, At: at})
		case m.Op == marked && t.marks[m.N] != nil:
			close(t.marks[m.N])
			delete(t.marks, m.N)
		}
		t.mu.Unlock()
	}
}

// Sync waits until all that was stated before is in the witness's report.
func (t *Teller) Sync(ctx context.Context) error {
	there := make(chan struct{})
	t.mu.Lock()
	t.mark++
	n := t.mark
	t.marks[n] = there
	t.say(message{Op: mark, N: n})
	t.mu.Unlock()
	select {
	case <-there:
		return nil
	case <-t.gone:
		return t.Err()
	case <-ctx.Done():
		t.mu.Lock()
		delete(t.marks, n)
		t.mu.Unlock()
		return fmt.Errorf("witness: holder %s: sync: %w", t.name, context.Cause(ctx))
	}
}

// Err returns why the witness receives nothing from this teller any more, or nil while it does.
// What is held after that has no witness.
func (t *Teller) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// Close waits until the witness has received everything, for at most a second. What is still held
// is cut. It returns the error that Err returned before.
func (t *Teller) Close() error {
	t.stop()
	t.mu.Lock()
	err := t.err
	t.say(message{Op: bye})
	t.mu.Unlock()
	limit := time.AfterFunc(time.Second, func() { t.conn.Close() })
	t.runs.Wait()
	limit.Stop()
	return err
}
