package redistest

import (
	"bufio"
	"bytes"
	"net"
	"sync"
	"time"
)

const linkBuffer = 64 << 10

// link is one client connection with its own connection to the server. One
// goroutine carries commands, another one replies.
type link struct {
	p      *Proxy
	id     int
	client *net.TCPConn
	server *net.TCPConn
	done   chan struct{} // closed by cut
	once   sync.Once

	// Only the goroutine of commands uses these.
	auth, sel []byte // the last AUTH or HELLO and the last SELECT
	holding   bool   // since a Hold: nothing is sent any more

	mu      sync.Mutex
	expects []Action      // of the commands whose replies are to come
	pushes  bool          // subscribed: what the server sends is no reply to a command
	settled chan struct{} // closed when expects is empty; nil when nobody waits
}

func newLink(p *Proxy, id int, client, server *net.TCPConn) *link {
	return &link{p: p, id: id, client: client, server: server, done: make(chan struct{})}
}

// cut closes both sides. What was not yet passed on is lost.
func (l *link) cut() {
	l.once.Do(func() {
		close(l.done)
		l.client.Close()
		l.server.Close()
	})
}

// flushing is the reading side of one direction. It sends what the other side has buffered before
// it waits for more, and records when bytes arrived.
type flushing struct {
	from    net.Conn
	to      *bufio.Writer
	arrived time.Time
}

func (f *flushing) Read(b []byte) (int, error) {
	if f.to.Buffered() > 0 {
		f.to.Flush() // its error comes back at the next write
	}
	n, err := f.from.Read(b)
	f.arrived = time.Now()
	return n, err
}

// commands carries what the client sends until its end, or until the link is
// cut.
func (l *link) commands() {
	w := bufio.NewWriterSize(l.server, linkBuffer)
	in := &flushing{from: l.client, to: w}
	r := bufio.NewReaderSize(in, linkBuffer)
	var raw []byte
	var args [][]byte
	for {
		var err error
		if raw, args, err = readCommand(r, raw[:0], args[:0]); err != nil {
			break
		}
		if !l.command(w, in.arrived, raw, args) {
			return
		}
		if cap(raw) > 1<<20 {
			raw = nil // one large task must not stay for the whole test
		}
	}
	// The client's end, a reset too: the server still gets what was sent.
	if !l.pass(ToServer, w) {
		return
	}
	w.Flush()
	if l.holding {
		l.cut()
		return
	}
	l.server.CloseWrite()
}

// command treats one command as its action requires, and reports whether to go on.
func (l *link) command(w *bufio.Writer, arrived time.Time, raw []byte, args [][]byte) bool {
	c := Command{Conn: l.id, Args: args}
	var intercept func(Command) Action
	var latency func() time.Duration
	c.N, intercept, latency = l.p.note(c)
	if l.holding {
		l.p.keep(l.id, l.preamble(), raw)
		return true
	}
	action := Pass
	if intercept != nil {
		action = intercept(c)
	}
	if latency != nil && !l.delay(w, arrived.Add(latency())) {
		return false
	}
	if !l.pass(ToServer, w) {
		return false
	}
	switch action {
	case CutBefore:
		w.Flush()
		l.wait()
		l.cut()
		return false
	case Hold:
		w.Flush()
		l.holding = true
		l.p.keep(l.id, l.preamble(), raw)
		return true
	case Duplicate:
		l.p.keep(l.id, l.preamble(), raw)
	}
	l.remember(c, raw)
	l.expect(c, action)
	if _, err := w.Write(raw); err != nil {
		l.cut()
		return false
	}
	if action == CutAfter {
		w.Flush()
		return false
	}
	return true
}

// note counts a command and returns what is set for it.
func (p *Proxy) note(c Command) (int, func(Command) Action, func() time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.commands++
	if len(c.Args) > 0 {
		n := p.byName[string(c.Args[0])]
		if n == nil {
			n = new(int)
			p.byName[string(c.Args[0])] = n
		}
		*n++
	}
	return p.commands, p.intercept, p.latency
}

// delay waits until then, after it has sent what is ahead.
func (l *link) delay(w *bufio.Writer, then time.Time) bool {
	d := time.Until(then)
	if d <= 0 {
		return true
	}
	w.Flush()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.done:
		return false
	}
}

// pass waits while that direction is frozen. It returns false when the link is cut.
func (l *link) pass(d Direction, w *bufio.Writer) bool {
	for {
		l.p.mu.Lock()
		thaw := l.p.thaw[d]
		l.p.mu.Unlock()
		if thaw == nil {
			return true
		}
		w.Flush() // it went past before the frost
		select {
		case <-thaw:
		case <-l.done:
			return false
		}
	}
}

// remember records what a late copy of a later command needs before it.
func (l *link) remember(c Command, raw []byte) {
	switch {
	case c.Is("AUTH"), c.Is("HELLO"):
		l.auth = bytes.Clone(raw)
	case c.Is("SELECT"):
		l.sel = bytes.Clone(raw)
	}
}

func (l *link) preamble() [][]byte {
	var all [][]byte
	for _, raw := range [][]byte{l.auth, l.sel} {
		if raw != nil {
			all = append(all, raw)
		}
	}
	return all
}

// expect records that a reply will come and what is to happen to it.
func (l *link) expect(c Command, a Action) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.Is("SUBSCRIBE") || c.Is("PSUBSCRIBE") || c.Is("MONITOR") {
		l.pushes = true
	}
	// On a connection that receives pushes only the next message can be meant.
	if !l.pushes || a == CutAfter || a == DropReply {
		l.expects = append(l.expects, a)
	}
}

// wait waits until the replies to all commands that were sent are delivered.
func (l *link) wait() {
	l.mu.Lock()
	if len(l.expects) == 0 {
		l.mu.Unlock()
		return
	}
	l.settled = make(chan struct{})
	settled := l.settled
	l.mu.Unlock()
	select {
	case <-settled:
	case <-l.done:
	}
}

// replies carries what the server sends until its end, or until the link is
// cut.
func (l *link) replies() {
	defer l.cut()
	w := bufio.NewWriterSize(l.client, linkBuffer)
	r := bufio.NewReaderSize(&flushing{from: l.server, to: w}, linkBuffer)
	mute := false // since a DropReply, or since the client is gone
	var raw []byte
	for {
		var err error
		if raw, err = readReply(r, raw[:0]); err != nil {
			l.pass(ToClient, w) // the end is held too
			return
		}
		action, settled := l.answered()
		if !l.pass(ToClient, w) {
			return
		}
		switch action {
		case CutAfter:
			w.Flush() // the replies before it
			return
		case DropReply:
			mute = true
		}
		if !mute {
			if _, err := w.Write(raw); err != nil {
				mute = true
			}
		}
		if settled != nil {
			w.Flush()
			close(settled)
		}
		if cap(raw) > 1<<20 {
			raw = nil
		}
	}
}

// answered returns what is to happen to the reply that has come.
func (l *link) answered() (Action, chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.expects) == 0 {
		return Pass, nil // a push
	}
	a := l.expects[0]
	l.expects = l.expects[1:]
	if len(l.expects) > 0 {
		return a, nil
	}
	l.expects = nil
	settled := l.settled
	l.settled = nil
	return a, settled
}
