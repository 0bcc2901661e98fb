package pipeline_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"strings"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/pipeline"
)

// replies holds one reply of each kind, each with what its caller must get.
var replies = []struct {
	bytes string
	want  any // an error is a refusal
}{
	{"$5\r\nhello\r\n", []byte("hello")},
	{"*4\r\n$1\r\na\r\n:7\r\n*2\r\n$-1\r\n+s\r\n-ODD in it\r\n", []any{[]byte("a"), int64(7), []any{nil, "s"}, redis.Error("ODD in it")}},
	{"-ODD text\r\n", redis.Error("ODD text")},
	{":-1234567\r\n", int64(-1234567)},
	{"+status\r\n", "status"},
	{"$-1\r\n", nil},
	{"$0\r\n\r\n", []byte{}},
	{"*0\r\n", []any{}},
	{"*-1\r\n", nil},
	{"$12\r\nwith\r\n:5\r\nin\r\n", []byte("with\r\n:5\r\nin")},
	{"$4\r\nlast\r\n", []byte("last")},
}

// A connection is cut at every byte of its replies. A caller whose reply is whole gets it, and
// every other caller learns that the command was sent. The next call goes over a new connection.
func TestCutAtEveryByteOfTheReplies(t *testing.T) {
	t.Parallel()
	var stream string
	for _, r := range replies {
		stream += r.bytes
	}
	for cut := range len(stream) {
		cutReplies(t, stream[:cut])
	}
}

func cutReplies(t *testing.T, stream string) {
	t.Helper()
	dial, stop := listen(t, func(n int, c net.Conn) {
		if n > 1 {
			served(n, c)
			return
		}
		all := requests(c)
		for i := range replies {
			if r := <-all; r[1] != fmt.Sprint(i) {
				t.Errorf("request %d is %q", i, r)
			}
		}
		io.WriteString(c, stream)
	})
	defer stop()
	p, sent := batched(dial, len(replies), 1)
	defer p.Close()
	whole := 0 // bytes of the replies so far
	for i, r := range replies {
		whole += len(r.bytes)
		a := sent[i].answer(t)
		refusal, refused := r.want.(redis.Error)
		switch {
		case !a.sent:
			t.Fatalf("cut at %d: %d was not sent", len(stream), i)
		case whole > len(stream):
			if a.err == nil || errors.As(a.err, new(redis.Error)) || a.reply != nil {
				t.Fatalf("cut at %d: %d got %v, %v", len(stream), i, a.reply, a.err)
			}
		case refused:
			if a.err != refusal || a.reply != nil {
				t.Fatalf("cut at %d: %d got %v, %v, want %v", len(stream), i, a.reply, a.err, refusal)
			}
		case a.err != nil || !reflect.DeepEqual(a.reply, r.want):
			t.Fatalf("cut at %d: %d got %v, %v, want %v", len(stream), i, a.reply, a.err, r.want)
		}
	}
	echoes(t, p, "next")
}

// batched sends n requests, ECHO 0 and so on, filled up with zeros, that are written as one batch.
func batched(dial dialler, n, width int) (*pipeline.Pipe, []*request) {
	l := &line{to: dial, gate: make(chan struct{})}
	p := pipeline.New(pipeline.Config{Dial: l.dial, Timeout: soon})
	var all []*request
	for i := range n {
		all = append(all, ask("ECHO", fmt.Sprintf("%0*d", width, i)))
		p.Send(all[i])
	}
	close(l.gate)
	return p, all
}

// A connection is cut at every byte of what was written. The server has replied to the whole
// requests, or to none.
func TestCutAtEveryByteOfTheRequests(t *testing.T) {
	t.Parallel()
	const one, n = "*2\r\n$4\r\nECHO\r\n$1\r\n0\r\n", 4
	for cut := range len(one)*n + 1 {
		cutRequests(t, n, cut, cut/len(one))
		cutRequests(t, n, cut, 0)
	}
}

func cutRequests(t *testing.T, n, cut, answered int) {
	t.Helper()
	dial, stop := listen(t, func(i int, c net.Conn) {
		if i > 1 {
			served(i, c)
			return
		}
		io.CopyN(io.Discard, c, int64(cut))
		for i := range answered {
			io.WriteString(c, bulk(fmt.Sprint(i)))
		}
	})
	defer stop()
	p, sent := batched(dial, n, 1)
	defer p.Close()
	lost := 0
	for i, r := range sent {
		switch a := r.answer(t); {
		case a.err == nil && i < answered && string(a.reply.([]byte)) == fmt.Sprint(i):
		// A cut can come before the replies are read.
		case a.err == nil || errors.As(a.err, new(redis.Error)) || !a.sent && cut > 0: // at 0 it may be known before a write
			t.Fatalf("cut at %d, %d answered: %d got %s, sent %v, %v", cut, answered, i, a.reply, a.sent, a.err)
		default:
			lost++
		}
	}
	if lost > 0 { // else the link may not know yet that it is broken
		echoes(t, p, "next")
	}
}

// The same in the middle of a write: the request is larger than all buffers on the way.
func TestCutWhileWriting(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", 32<<20)
	for _, cut := range []int64{0, 1, 4095, 4096, 4097, 1 << 16, 1 << 20, 10 << 20} {
		dial, stop := listen(t, func(n int, c net.Conn) {
			if n > 1 {
				served(n, c)
				return
			}
			io.CopyN(io.Discard, c, cut)
		})
		l := &line{to: dial, gate: make(chan struct{})}
		p := pipeline.New(pipeline.Config{Dial: l.dial, Timeout: soon, Connections: 1})
		big, behind := ask("ECHO", text), ask("ECHO", "behind")
		p.Send(big)
		p.Send(behind)
		close(l.gate)
		if a := big.answer(t); a.err == nil || !a.sent && cut > 0 { // at 0 the end may be known before
			t.Errorf("cut at %d: %v, sent %v", cut, a.err, a.sent)
		}
		if a := behind.answer(t); a.err == nil || a.sent {
			t.Errorf("cut at %d: what was not begun: %v, sent %v", cut, a.err, a.sent)
		}
		echoes(t, p, "next")
		p.Close()
		stop()
	}
}
