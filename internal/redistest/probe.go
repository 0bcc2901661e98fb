package redistest

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"time"
)

// Ports of our own servers lie below the range from which the kernel takes the
// ports of outgoing connections. So no such connection can sit on a port while
// its server is down for a restart.
const (
	lowPort  = 20000
	highPort = 32000
)

// freePort returns a port on loopback that nobody listens on.
func freePort() (int, error) {
	for range 200 {
		port := lowPort + rand.IntN(highPort-lowPort)
		l, err := net.Listen("tcp", loopback(port))
		if err != nil {
			continue
		}
		l.Close()
		return port, nil
	}
	return 0, errors.New("no free port between 20000 and 32000")
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// errStranger is returned when another server has the port.
var errStranger = errors.New("another server has this port")

// probe checks that the server at addr serves. A reply that asks for a password counts; one that
// the server is still loading does not.
func probe(addr string) error {
	_, err := ask(addr, "PING")
	return err
}

// probeOwn is probe for a server that was started with --dbfilename mark: it detects another server
// on the same port.
func probeOwn(addr, mark string) error {
	answer, err := ask(addr, "CONFIG GET dbfilename")
	if err != nil {
		return err
	}
	if strings.HasPrefix(answer, "*") && !strings.Contains(answer, mark) {
		return errStranger
	}
	return nil
}

// ask sends one inline command over a connection of its own and returns the beginning of the reply.
func ask(addr, command string) (string, error) {
	c, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return "", err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Second))
	if _, err := fmt.Fprintf(c, "%s\r\n", command); err != nil {
		return "", err
	}
	reply, err := readReply(bufio.NewReader(c), nil)
	if err != nil {
		return "", err
	}
	answer := string(reply)
	if strings.HasPrefix(answer, "-LOADING") {
		return "", errors.New(strings.TrimSpace(answer))
	}
	return answer, nil
}
