package redistest

import (
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// Direction is a way through a [Proxy].
type Direction int

// Two bits, so that they can be combined.
const (
	ToServer Direction = 1 << iota
	ToClient
	Both = ToServer | ToClient
)

// Proxy stands between clients and a Redis and makes their connections fail in chosen ways. It
// knows RESP2: faults happen at the borders of commands and replies, never somewhere in a stream.
// Its methods are safe for concurrent use; what they set holds from the next command on.
type Proxy struct {
	url  *url.URL // what clients dial
	addr string
	wg   sync.WaitGroup // the accept loop and two goroutines per connection

	mu        sync.Mutex
	target    string       // host:port
	listener  net.Listener // nil while refusing
	closed    bool
	links     map[*link]struct{}
	lastLink  int
	thaw      map[Direction]chan struct{} // closed at the thaw; absent: not frozen
	latency   func() time.Duration
	intercept func(Command) Action
	commands  int
	byName    map[string]*int // as clients spelled it
	kept      []*keptLink
}

// NewProxy starts a proxy in front of target, and closes it at the end of the test. target is a
// result of Server.URL, or host:port.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	if !strings.Contains(target, "://") {
		target = "redis://" + target + "/0"
	}
	server, err := urlServer(target)
	if err != nil {
		t.Fatalf("redistest: proxy: %v", err)
	}
	p := &Proxy{
		target: server.addr,
		links:  map[*link]struct{}{},
		thaw:   map[Direction]chan struct{}{},
		byName: map[string]*int{},
	}
	for range 5 { // another process may take the port in between
		var port int
		if port, err = freePort(); err != nil {
			break
		}
		p.addr = loopback(port) // one that can be had again after Refuse
		if err = p.listen(); err == nil {
			break
		}
	}
	if err != nil {
		t.Fatalf("redistest: proxy: %v", err)
	}
	p.url, _ = url.Parse(target) // urlServer did it before
	p.url.Host = p.addr
	t.Cleanup(p.close)
	return p
}

// Addr returns host:port.
func (p *Proxy) Addr() string { return p.addr }

// URL returns the URL for redis.DialURL: the target's, database and password included, by way of
// the proxy.
func (p *Proxy) URL() string { return p.url.String() }

// Connections returns how many client connections are open.
func (p *Proxy) Connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links)
}

// Commands returns what clients have sent so far, counted by name in capitals.
func (p *Proxy) Commands() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	counts := make(map[string]int, len(p.byName))
	for name, n := range p.byName {
		counts[strings.ToUpper(name)] += *n
	}
	return counts
}

// Cut closes all present connections. New ones are accepted.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cutLocked()
}

func (p *Proxy) cutLocked() {
	for l := range p.links {
		l.cut()
	}
}

// Refuse(true) cuts all connections and refuses new ones, as a server that is
// down does. Refuse(false) ends that.
func (p *Proxy) Refuse(refuse bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case refuse && p.listener != nil:
		p.listener.Close()
		p.listener = nil
		p.cutLocked()
	case !refuse && p.listener == nil && !p.closed:
		// The port may have been given to a connection of another process meanwhile: that
		// connection ends.
		err := p.listenLocked()
		for end := time.Now().Add(10 * time.Second); err != nil && time.Now().Before(end); err = p.listenLocked() {
			time.Sleep(10 * time.Millisecond)
		}
		if err != nil {
			panic("redistest: proxy: " + err.Error())
		}
	}
}

// Redirect makes new connections lead to another server, as a dialler does that asks for the
// primary. Present connections stay where they are.
func (p *Proxy) Redirect(s *Server) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = s.addr
}

// Freeze holds everything that goes that way, also ends of connections. Connections stay open, and
// new ones are accepted. What was held goes on at [Proxy.Thaw].
func (p *Proxy) Freeze(d Direction) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range []Direction{ToServer, ToClient} {
		if d&one != 0 && p.thaw[one] == nil {
			p.thaw[one] = make(chan struct{})
		}
	}
}

// Thaw ends a Freeze of either direction.
func (p *Proxy) Thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for d, c := range p.thaw {
		close(c)
		delete(p.thaw, d)
	}
}

// Latency delays each command by what d returns; a nil d ends it. Commands that arrived in one
// piece are delayed together, and none overtakes another.
func (p *Proxy) Latency(d func() time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.latency = d
}

// Intercept calls f for every command; f returns what happens to it. A nil f ends it. f runs in the
// connection's goroutine: while it blocks, this connection waits.
func (p *Proxy) Intercept(f func(Command) Action) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.intercept = f
}

func (p *Proxy) listen() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.listenLocked()
}

func (p *Proxy) listenLocked() error {
	l, err := net.Listen("tcp", p.addr)
	if err != nil {
		return err
	}
	p.listener = l
	p.wg.Go(func() { p.accept(l) })
	return nil
}

// Retarget makes all new connections go to another server, and cuts the present ones.
func (p *Proxy) Retarget(s *Server) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = s.addr
	p.cutLocked()
}

func (p *Proxy) accept(l net.Listener) {
	for {
		client, err := l.Accept()
		if err != nil {
			return // closed
		}
		// In a goroutine: a target that does not reply must not delay the others.
		p.wg.Go(func() { p.serve(l, client) })
	}
}

func (p *Proxy) serve(l net.Listener, client net.Conn) {
	p.mu.Lock()
	target := p.target
	p.mu.Unlock()
	server, err := net.DialTimeout("tcp", target, ioLimit)
	if err != nil {
		client.Close()
		return
	}
	p.mu.Lock()
	if p.listener != l { // refused or closed meanwhile
		p.mu.Unlock()
		client.Close()
		server.Close()
		return
	}
	p.lastLink++
	k := newLink(p, p.lastLink, client.(*net.TCPConn), server.(*net.TCPConn))
	p.links[k] = struct{}{}
	p.mu.Unlock()

	var replies sync.WaitGroup
	replies.Go(k.replies)
	k.commands()
	replies.Wait()
	k.cut()
	p.mu.Lock()
	delete(p.links, k)
	p.mu.Unlock()
}

func (p *Proxy) close() {
	p.mu.Lock()
	p.closed = true
	if p.listener != nil {
		p.listener.Close()
		p.listener = nil
	}
	p.cutLocked()
	p.mu.Unlock()
	p.wg.Wait()
}
