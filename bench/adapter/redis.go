package adapter

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// Redis is a plain connection, to read the server's figures.
type Redis struct {
	conn net.Conn
	r    *bufio.Reader
}

// DialRedis connects.
func DialRedis(addr string) (*Redis, error) {
	conn, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		return nil, err
	}
	return &Redis{conn, bufio.NewReader(conn)}, nil
}

// Close ends the connection.
func (c *Redis) Close() { _ = c.conn.Close() }

// Do sends a command and returns its reply, a line or a bulk string.
func (c *Redis) Do(words ...string) (string, error) {
	if err := c.Send(words...); err != nil {
		return "", err
	}
	return c.Receive()
}

// Send writes a command.
func (c *Redis) Send(words ...string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, w := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
	}
	_, err := io.WriteString(c.conn, b.String())
	return err
}

// Receive reads a line, a number or a bulk string.
func (c *Redis) Receive() (string, error) {
	line, err := c.r.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimRight(line, "\r\n")
	if line == "" {
		return "", errors.New("redis: an empty line")
	}
	switch line[0] {
	case '-':
		return "", errors.New("redis: " + line[1:])
	case '$':
		n, err := strconv.Atoi(line[1:])
		if err != nil || n < 0 {
			return "", err
		}
		bulk := make([]byte, n+2)
		_, err = io.ReadFull(c.r, bulk)
		return string(bulk[:n]), err
	}
	return line[1:], nil
}

// Info reads a section of INFO.
func (c *Redis) Info(section string) (map[string]string, error) {
	text, err := c.Do("INFO", section)
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	return fields, err
}

// Number returns a field of INFO, 0 when it is absent.
func Number(fields map[string]string, name string) float64 {
	n, _ := strconv.ParseFloat(fields[name], 64)
	return n
}
