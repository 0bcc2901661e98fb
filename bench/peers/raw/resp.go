package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
)

// conn is a connection by hand: words are gathered, and written in one piece.
type conn struct {
	net.Conn
	r   *bufio.Reader
	out []byte
}

func dial(addr string) (*conn, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, r: bufio.NewReaderSize(c, 64<<10)}, nil
}

// send gathers a command.
func (c *conn) send(words ...any) {
	c.out = append(strconv.AppendInt(append(c.out, '*'), int64(len(words)), 10), "\r\n"...)
	var number [20]byte
	for _, w := range words {
		switch w := w.(type) {
		case string:
			c.length(len(w))
			c.out = append(c.out, w...)
		case []byte:
			c.length(len(w))
			c.out = append(c.out, w...)
		case int64:
			digits := strconv.AppendInt(number[:0], w, 10)
			c.length(len(digits))
			c.out = append(c.out, digits...)
		default:
			panic(fmt.Sprintf("a word of type %T", w))
		}
		c.out = append(c.out, "\r\n"...)
	}
}

func (c *conn) length(n int) {
	c.out = append(strconv.AppendInt(append(c.out, '$'), int64(n), 10), "\r\n"...)
}

// flush writes what was gathered.
func (c *conn) flush() error {
	_, err := c.Write(c.out)
	c.out = c.out[:0]
	return err
}

// do sends a command alone.
func (c *conn) do(words ...any) (any, error) {
	c.send(words...)
	if err := c.flush(); err != nil {
		return nil, err
	}
	return c.receive()
}

// receive reads one reply: []byte, int64, []any or nil. An error of the server is an error here
// too.
func (c *conn) receive() (any, error) {
	line, err := c.r.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	if len(line) < 3 {
		return nil, fmt.Errorf("the answer %q is no RESP", line)
	}
	kind, rest := line[0], line[1:len(line)-2]
	switch kind {
	case '-':
		return nil, errors.New(string(rest))
	case '+':
		return append([]byte(nil), rest...), nil
	}
	n, err := strconv.ParseInt(string(rest), 10, 64)
	switch {
	case err != nil:
		return nil, err
	case kind == ':':
		return n, nil
	case n < 0:
		return nil, nil
	case kind == '$':
		bulk := make([]byte, n+2)
		_, err = io.ReadFull(c.r, bulk)
		return bulk[:n], err
	case kind != '*':
		return nil, fmt.Errorf("the answer %q is no RESP", line)
	}
	list := make([]any, n)
	for i := range list {
		if list[i], err = c.receive(); err != nil {
			return nil, err
		}
	}
	return list, nil
}
