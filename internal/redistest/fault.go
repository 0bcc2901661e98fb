package redistest

import (
	"bufio"
	"bytes"
	"errors"
	"net"
	"strings"
	"testing"
	"time"
)

// Action is what happens to one command.
type Action int

const (
	// Pass sends it on.
	Pass Action = iota
	// CutBefore closes the connection on both sides; the server never sees the
	// command. Replies to earlier commands arrive first.
	CutBefore
	// CutAfter sends it on, waits for the server's whole reply, throws it away
	// and closes the connection: the command ran and the client does not know.
	// Commands after it are not sent.
	CutAfter
	// DropReply sends it on and drops the reply. The connection stays open and commands go on, but
	// no later reply arrives either: the order would be lost.
	DropReply
	// Hold keeps the command, and what comes after it on this connection, as in
	// the buffers of a dead connection. The connection stays open and silent.
	// [Proxy.Release] sends what was kept.
	Hold
	// Duplicate sends it on and keeps a copy for [Proxy.Release].
	Duplicate
)

// Command is one command of a client.
type Command struct {
	Conn int      // the number of its connection, from 1
	N    int      // its number among all commands of the proxy, from 1
	Args [][]byte // its name and arguments; valid until Intercept's function returns
}

// Name returns the command's name in capitals.
func (c Command) Name() string {
	if len(c.Args) == 0 {
		return ""
	}
	return strings.ToUpper(string(c.Args[0]))
}

// Is reports whether the command has that name, in any case.
func (c Command) Is(name string) bool {
	return len(c.Args) > 0 && bytes.EqualFold(c.Args[0], []byte(name))
}

// keptLink is what Hold and Duplicate kept of one connection.
type keptLink struct {
	conn     int
	preamble [][]byte // AUTH and SELECT that came before it
	commands [][]byte
}

// keep records a copy of a command.
func (p *Proxy) keep(conn int, preamble [][]byte, raw []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range p.kept {
		if k.conn == conn {
			k.commands = append(k.commands, bytes.Clone(raw))
			return
		}
	}
	p.kept = append(p.kept, &keptLink{
		conn: conn, preamble: append([][]byte(nil), preamble...), commands: [][]byte{bytes.Clone(raw)},
	})
}

// Kept returns how many commands wait for Release.
func (p *Proxy) Kept() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, k := range p.kept {
		n += len(k.commands)
	}
	return n
}

// Release sends what Hold and Duplicate kept, in order, with a new connection for each client
// connection: late copies out of dead connections. It waits until the server has replied to them
// all, drops the replies, and returns their number.
func (p *Proxy) Release(t testing.TB) int {
	t.Helper()
	p.mu.Lock()
	kept, target := p.kept, p.target
	p.kept = nil
	p.mu.Unlock()
	n := 0
	for _, k := range kept {
		if err := k.send(target); err != nil {
			t.Fatalf("redistest: proxy: release: %v", err)
		}
		n += len(k.commands)
	}
	return n
}

func (k *keptLink) send(target string) error {
	c, err := net.DialTimeout("tcp", target, ioLimit)
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(ioLimit))
	all := append(append([][]byte(nil), k.preamble...), k.commands...)
	// Written while replies are read: a server that cannot send its replies stops reading.
	written := make(chan error, 1)
	go func() {
		_, err := (&net.Buffers{bytes.Join(all, nil)}).WriteTo(c)
		written <- err
	}()
	r := bufio.NewReader(c)
	for range all {
		if _, err = readReply(r, nil); err != nil {
			c.Close()
			break
		}
	}
	return errors.Join(err, <-written)
}
