package model

import (
	"context"
	"errors"
	"net"
	"sync"
)

var errDown = errors.New("the network is down")

// network is how one host reaches Redis. It can be cut, and be down: refusing, or silent, when what
// is sent is lost, what arrives is lost, and a dial gets no answer.
type network struct {
	reach func(ctx context.Context, network, address string) (net.Conn, error)

	mu    sync.Mutex
	state condition
	trap  fault
	conns map[*wire]bool
}

type condition int

const (
	up condition = iota
	refusing
	silent
)

// fault is what befalls one command.
type fault int

const (
	none      fault = iota
	lostAway        // its connection breaks before it is sent
	lostReply       // it is sent, and its connection breaks before the reply
)

// arm sets a trap for the next command, or takes it away.
func (n *network) arm(f fault) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.trap = f
}

// spring returns the trap, which is gone then.
func (n *network) spring() fault {
	n.mu.Lock()
	defer n.mu.Unlock()
	f := n.trap
	n.trap = none
	return f
}

// dial fits redis.DialContextFunc.
func (n *network) dial(ctx context.Context, network, address string) (net.Conn, error) {
	switch n.condition() {
	case refusing:
		return nil, errDown
	case silent:
		<-ctx.Done()
		return nil, ctx.Err()
	}
	conn, err := n.reach(ctx, network, address)
	if err != nil {
		return nil, err
	}
	w := &wire{Conn: conn, of: n}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.conns[w] = true
	return w, nil
}

func (n *network) condition() condition {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.state
}

// set changes the condition. Connections survive it only into silence.
func (n *network) set(c condition) {
	n.mu.Lock()
	n.state = c
	n.mu.Unlock()
	if c != silent {
		n.cut()
	}
}

// cut closes all connections.
func (n *network) cut() {
	n.mu.Lock()
	conns := n.conns
	n.conns = map[*wire]bool{}
	n.mu.Unlock()
	for w := range conns {
		_ = w.Conn.Close()
	}
}

// wire is one connection.
type wire struct {
	net.Conn
	of *network
}

func (w *wire) Read(b []byte) (int, error) {
	for {
		n, err := w.Conn.Read(b)
		if err != nil || w.of.condition() != silent {
			return n, err
		}
	}
}

func (w *wire) Write(b []byte) (int, error) {
	if w.of.condition() == silent {
		return len(b), nil
	}
	switch w.of.spring() {
	case lostAway:
		_ = w.Close()
		return 0, errDown
	case lostReply:
		n, err := w.Conn.Write(b)
		_ = w.Close()
		return n, err
	}
	return w.Conn.Write(b)
}

func (w *wire) Close() error {
	w.of.mu.Lock()
	delete(w.of.conns, w)
	w.of.mu.Unlock()
	return w.Conn.Close()
}
