package witness

import (
	"bufio"
	"context"
	"encoding/gob"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestMain(m *testing.M) {
	if child := children[os.Getenv("WITNESS_TEST_CHILD")]; child != nil {
		child(os.Args[1:])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// pipes is a listener for connections inside the process, so that time can be virtual.
type pipes struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { p.once.Do(func() { close(p.done) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }

// bench is a witness in virtual time, with the machine's clock "m", which starts at ahead.
type bench struct {
	*testing.T
	*Witness
	ln    *pipes
	start time.Time
}

const ahead = time.Hour // so that no instant is zero by chance

func virtual(t *testing.T, cfg Config, f func(b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bench{T: t, start: time.Now(), ln: &pipes{conns: make(chan net.Conn), done: make(chan struct{})}}
		b.Witness = newWitness(cfg, b.machine())
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error)
		go func() { served <- b.Serve(ctx, b.ln) }()
		f(b)
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

func (b *bench) machine() clock {
	return clock{id: "m", now: func() time.Duration { return ahead + time.Since(b.start) }}
}

func (b *bench) connect() net.Conn {
	here, there := net.Pipe()
	b.ln.conns <- there
	return here
}

func (b *bench) dial(name string) *Teller { return b.dialWith(name, b.machine()) }

func (b *bench) dialWith(name string, c clock) *Teller {
	b.Helper()
	t, err := dial(b.Context(), b.connect(), name, c)
	if err != nil {
		b.Fatal(err)
	}
	return t
}

// at waits until so long after the start, and until all that was stated then has been received.
func (b *bench) at(d time.Duration) {
	time.Sleep(d - time.Since(b.start))
	synctest.Wait()
}

func (b *bench) want(what string, got, want any) {
	b.Helper()
	if got != want {
		b.Errorf("%s: %v, want %v\n%s", what, got, want, b.Report())
	}
}

// counts are the totals that a scenario is about.
func counts(r Report) string {
	return fmt.Sprintf("moves %d returns %d overlaps %d possible %d falls %d cut %d late %d faults %d",
		r.Moves, r.Returns, r.Totals.Overlaps, r.Possible, r.Totals.Falls, r.Cut, r.Late, r.Totals.Faults)
}

// raw is a holder that sends what the test makes it send.
type raw struct {
	b   *bench
	c   net.Conn
	enc *gob.Encoder
	dec *gob.Decoder
	seq uint64

	ended chan struct{} // by the witness
}

// raw greets the witness. It reads its clock some time after each ping came, and replies some time
// later.
func (b *bench) raw(name string, c clock, before, after time.Duration) *raw {
	b.Helper()
	conn := b.connect()
	r := &raw{b: b, c: conn, enc: gob.NewEncoder(conn), dec: gob.NewDecoder(conn), ended: make(chan struct{})}
	r.enc.Encode(message{Op: hello, Holder: name, Clock: c.id})
	for {
		var m message
		if err := r.dec.Decode(&m); err != nil {
			b.Fatal(err)
		}
		if m.Op == welcome {
			go func() { // later requests get no reply
				for r.dec.Decode(&message{}) == nil {
				}
				close(r.ended)
			}()
			return r
		}
		time.Sleep(before)
		at := c.now()
		time.Sleep(after)
		r.enc.Encode(message{Op: pong, N: m.N, At: at})
	}
}

func (r *raw) say(m message) {
	r.seq++
	m.Seq = r.seq
	r.enc.Encode(m)
	synctest.Wait()
}

// A process is a child of the test that follows orders.
type process struct {
	*testing.T
	cmd   *exec.Cmd
	in    *os.File
	lines *bufio.Scanner
}

var children = map[string]func(args []string){}

func start(t *testing.T, child string, args ...string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), "WITNESS_TEST_CHILD="+child, "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = dieWithParent()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin = r
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.Close()
	p := &process{t, cmd, w, bufio.NewScanner(out)}
	t.Cleanup(func() {
		w.Close()
		cmd.Process.Kill()
		cmd.Wait()
	})
	return p
}

// order sends it an order, and returns its reply.
func (p *process) order(line string) string {
	p.Helper()
	fmt.Fprintln(p.in, line)
	return p.line()
}

func (p *process) line() string {
	p.Helper()
	if !p.lines.Scan() {
		p.Fatalf("the process has ended: %v", p.lines.Err())
	}
	return p.lines.Text()
}

func (p *process) signal(s syscall.Signal) {
	p.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.Fatal(err)
	}
}

// orders calls f with the words of every line from stdin, and prints what f returns.
func orders(f func(words []string) string) {
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		fmt.Println(f(strings.Fields(in.Text())))
	}
}
