package main

import (
	"context"
	"fmt"
	"net"
	"time"
)

// upstream starts what is to be connected to, on a free port of 127.0.0.1 until ctx ends. A client
// sends the number of the last line that it has, and gets the next three.
func upstream(ctx context.Context) (addr string, err error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	context.AfterFunc(ctx, func() { ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return // closed
			}
			go send(conn)
		}
	}()
	return ln.Addr().String(), nil
}

func send(conn net.Conn) {
	defer conn.Close()
	var last int
	if _, err := fmt.Fscanln(conn, &last); err != nil {
		return
	}
	for i := range 3 {
		if _, err := fmt.Fprintln(conn, "line", last+i+1); err != nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}
