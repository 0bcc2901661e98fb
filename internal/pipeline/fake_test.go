package pipeline_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
)

// A scripted server, for claims about the pipeline alone: it does something at a chosen byte or
// moment.

// play is the server's side of the n-th connection. The connection is closed when it returns.
type play func(n int, c net.Conn)

// listen runs play on a TCP port until stop.
func listen(t testing.TB, play play) (dial dialler, stop func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for n := 1; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
				play(n, c)
			})
		}
	})
	dial = func(ctx context.Context) (redis.Conn, error) { return redis.DialContext(ctx, "tcp", l.Addr().String()) }
	return dial, func() {
		l.Close()
		all.Wait()
	}
}

// inMemory runs play without a socket, for a synctest bubble.
func inMemory(play play) dialler {
	var dialled atomic.Int32
	return func(context.Context) (redis.Conn, error) {
		client, server := net.Pipe()
		n := int(dialled.Add(1))
		go func() {
			defer server.Close()
			play(n, server)
		}()
		return redis.NewConn(client, time.Second, time.Second), nil // redigo's own time-outs must not matter
	}
}

// requests reads what the client sends until its end. It reads ahead, so that a server that sleeps
// does not block the writer.
func requests(c net.Conn) <-chan []string {
	all := make(chan []string, 4096)
	go func() {
		defer close(all)
		for r := bufio.NewReader(c); ; {
			words, err := readRequest(r)
			if err != nil {
				return
			}
			all <- words
		}
	}()
	return all
}

func readRequest(r *bufio.Reader) ([]string, error) {
	n, err := readLength(r, '*')
	if err != nil {
		return nil, err
	}
	words := make([]string, n)
	for i := range words {
		n, err := readLength(r, '$')
		if err != nil {
			return nil, err
		}
		word := make([]byte, n+2)
		if _, err := io.ReadFull(r, word); err != nil {
			return nil, err
		}
		words[i] = string(word[:n])
	}
	return words, nil
}

func readLength(r *bufio.Reader, kind byte) (int, error) {
	s, err := r.ReadString('\n')
	if err != nil {
		return 0, err
	}
	if s[0] != kind {
		return 0, fmt.Errorf("%q where %c is due", s, kind)
	}
	return strconv.Atoi(strings.TrimSpace(s[1:]))
}

func bulk(s string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(s), s) }

// served replies to ECHO, and to SLEEP <duration> after that time, in order. From SILENCE on it
// does not reply.
func served(_ int, c net.Conn) {
	all := requests(c)
	for r := range all {
		switch r[0] {
		case "ECHO":
			io.WriteString(c, bulk(r[1]))
		case "SLEEP":
			d, _ := time.ParseDuration(r[1])
			pass(d)
			io.WriteString(c, "+OK\r\n")
		case "SILENCE":
			for range all {
			}
		}
	}
}
