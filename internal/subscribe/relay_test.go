package subscribe

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// relay passes TCP connections on to addr, until they are frozen: then they stay open and nothing
// more comes through, as when a cable is pulled.
type relay struct {
	net.Listener
	addr    string
	arrived atomic.Int64 // how often something came from the server

	mu    sync.Mutex
	conns []net.Conn
	gate  *gate // of the connections made from now on
	wg    sync.WaitGroup
}

type gate struct {
	silent atomic.Bool   // what comes is swallowed
	shut   chan struct{} // closed with the relay
	stuck  atomic.Bool   // what comes is not even read, so that the sender's writes hang
}

func newRelay(t *testing.T, addr string) *relay {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{Listener: l, addr: addr, gate: &gate{shut: make(chan struct{})}}
	r.wg.Go(r.accept)
	t.Cleanup(func() {
		l.Close()
		r.mu.Lock()
		close(r.gate.shut)
		for _, c := range r.conns {
			c.Close()
		}
		r.mu.Unlock()
		r.wg.Wait()
	})
	return r
}

func (r *relay) accept() {
	for {
		near, err := r.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", r.addr)
		if err != nil {
			near.Close()
			continue
		}
		r.mu.Lock()
		r.conns = append(r.conns, near, far)
		g := r.gate
		r.mu.Unlock()
		r.wg.Go(func() { r.pass(near, far, g, nil) })
		r.wg.Go(func() { r.pass(far, near, g, &r.arrived) })
	}
}

func (r *relay) pass(from, to net.Conn, g *gate, count *atomic.Int64) {
	buf := make([]byte, 32<<10)
	for {
		if g.stuck.Load() {
			<-g.shut
			return
		}
		n, err := from.Read(buf)
		if err != nil {
			return // what is open of the other side stays so until the relay ends
		}
		if g.silent.Load() {
			continue
		}
		if count != nil {
			count.Add(1)
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

// freeze stops the connections that there are. Later ones work.
func (r *relay) freeze() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gate.silent.Store(true)
	r.gate = &gate{shut: r.gate.shut}
}
