package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

const lineEvery = 100 * time.Millisecond

// server is the upstream. Each feed has a new line every 100 ms, numbered from 1 at the server's
// start. A client says the name of a feed and the last line it has; it gets the lines since at
// once, and then each new one:
//
//	> feed-07 41
//	< feed-07 42 08:31:04.2
type server struct {
	addr  string
	began time.Time

	mu    sync.Mutex
	feeds map[string]*feed
	lines lines
}

// feed is what the server knows of one feed.
type feed struct {
	connections int // now
	sent        int // the last line that was sent to anybody
}

// lines counts lines of all feeds.
type lines struct {
	Sent   int `json:"sent"`
	Again  int `json:"again"`  // of these, sent before to another connection
	Missed int `json:"missed"` // passed over: the next client has not asked for them
}

// startServer starts a server on a free port of 127.0.0.1, which lives until ctx ends.
func startServer(ctx context.Context, running *sync.WaitGroup) (*server, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the server of feeds: %w", err)
	}
	s := &server{addr: ln.Addr().String(), began: time.Now(), feeds: map[string]*feed{}}
	context.AfterFunc(ctx, func() { ln.Close() })
	running.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return // closed
			}
			running.Go(func() { s.serve(ctx, conn) })
		}
	})
	return s, nil
}

// serve is one connection.
func (s *server) serve(ctx context.Context, conn net.Conn) {
	ctx, hungUp := context.WithCancel(ctx)
	defer hungUp()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	var name string
	var last int
	in := bufio.NewReader(conn)
	if _, err := fmt.Fscanln(in, &name, &last); err != nil {
		return
	}
	s.enter(name, last)
	defer s.leave(name)
	go func() {
		_, _ = io.Copy(io.Discard, in) // nothing more comes but the end
		hungUp()
	}()
	for number := last + 1; ; number++ {
		due := s.began.Add(time.Duration(number) * lineEvery)
		select {
		case <-time.After(time.Until(due)):
		case <-ctx.Done():
			return
		}
		s.count(name, number) // before a client can have it
		if _, err := fmt.Fprintln(conn, name, number, due.Format("15:04:05.0")); err != nil {
			return
		}
	}
}

// enter is a client that has the lines up to last.
func (s *server) enter(name string, last int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.feeds[name]
	if f == nil {
		f = &feed{}
		s.feeds[name] = f
	}
	f.connections++
	if last > f.sent {
		s.lines.Missed += last - f.sent
		f.sent = last
	}
}

func (s *server) leave(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.feeds[name].connections--
}

func (s *server) count(name string, number int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines.Sent++
	if f := s.feeds[name]; number > f.sent {
		f.sent = number
	} else {
		s.lines.Again++
	}
}

// connections returns how many connections each feed has right now, and what was sent.
func (s *server) connections() (map[string]int, lines) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := map[string]int{}
	for name, f := range s.feeds {
		now[name] = f.connections
	}
	return now, s.lines
}
