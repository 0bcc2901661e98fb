package pipeline_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/pipeline"
	"github.com/worqr/worqr-go/internal/redistest"
)

// Arguments and replies are larger than every buffer on the way, from many callers at once. The
// writer must not wait for the reader.
func TestLarge(t *testing.T) {
	t.Parallel()
	p := open(t, pipeline.Config{Dial: byURL(redistest.Own(t).URL()), Timeout: soon, Connections: 1})
	var callers sync.WaitGroup
	for i := range 32 {
		callers.Go(func() {
			// The sizes around redigo's 4 KiB, and some that no socket holds.
			for _, size := range []int{0, 1, 4090, 4095, 4096, 4097, 1 << 16, 1 << 20} {
				want := bytes.Repeat([]byte{byte(i)}, size)
				if got, err := redis.Bytes(first(p.Do(t.Context(), "ECHO", want))); err != nil || !bytes.Equal(got, want) {
					t.Errorf("%d bytes: %d came, %v", size, len(got), err)
				}
			}
		})
	}
	callers.Wait()
	huge := strings.Repeat("x", 32<<20)
	if got, err := redis.String(first(p.Do(t.Context(), "ECHO", huge))); err != nil || got != huge {
		t.Errorf("%d bytes: %d came, %v", len(huge), len(got), err)
	}
}

// One batch holds more than the buffers and the sockets of both sides, in requests and in replies.
// Redis buffers its replies without a limit. The other server does not: as long as its reply is not
// read, it reads nothing.
func TestLongBatch(t *testing.T) {
	t.Parallel()
	stepwise, stop := listen(t, func(_ int, c net.Conn) {
		for r := bufio.NewReader(c); ; {
			words, err := readRequest(r)
			if err != nil {
				return
			}
			io.WriteString(c, bulk(words[1]))
		}
	})
	defer stop()
	const n, width = 16_000, 2000 // 32 MB each way
	for _, dial := range []dialler{byURL(redistest.Shared(t).URL()), stepwise} {
		p, all := batched(dial, n, width)
		for i, r := range all {
			if v, err := redis.String(first(r.answer(t).parts())); err != nil || v != fmt.Sprintf("%0*d", width, i) {
				t.Fatalf("%d got %q, %v", i, v, err)
			}
		}
		p.Close()
	}
}

// The pipe accepts the arguments and returns the replies that redigo does.
func TestArgumentsAndReplies(t *testing.T) {
	t.Parallel()
	p := open(t, pipeline.Config{Dial: byURL(redistest.Shared(t).URL())})
	key := redistest.Namespace(t) + ":{q}:absent"
	for _, c := range []struct {
		name string
		args []any
		want string
	}{
		{"PING", nil, "PONG"},
		{"PING", []any{}, "PONG"},
		{"GET", []any{key}, "<nil>"},
		{"ECHO", []any{""}, "[]"},
		{"ECHO", []any{nil}, "[]"},
		{"ECHO", []any{[]byte(nil)}, "[]"},
		{"ECHO", []any{7}, "[55]"},
		{"EVAL", []any{"return {ARGV[1], #ARGV[2], ARGV[3], false, {}}", 0, 1.5, "", true}, "[[49 46 53] 0 [49] <nil> []]"},
		{"LRANGE", []any{key, 0, -1}, "[]"},
	} {
		if reply, _, err := p.Do(t.Context(), c.name, c.args...); err != nil || fmt.Sprint(reply) != c.want {
			t.Errorf("%s %v: %v, %v, want %s", c.name, c.args, reply, err, c.want)
		}
	}
	reply, sent, err := p.Do(t.Context(), "EVAL", "return {err = 'ODD as asked'}", 0)
	if err != redis.Error("ODD as asked") || !sent || reply != nil {
		t.Errorf("a refusal: %v, sent %v, %v", reply, sent, err)
	}
	echoes(t, p, "and it goes on")
}
