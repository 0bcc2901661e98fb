//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/internal/witness"
)

// stage is a show without holders, and where its witness is.
func stage(t *testing.T) (s *show, out *strings.Builder, addr string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	t.Cleanup(running.Wait)
	t.Cleanup(cancel)
	s, out = &show{feeds: names(1)}, &strings.Builder{}
	s.screen = &screen{out: out}
	var err error
	if s.server, err = startServer(ctx, &running); err != nil {
		t.Fatal(err)
	}
	if s.witness, addr, err = startWitness(ctx, &running); err != nil {
		t.Fatal(err)
	}
	return s, out, addr
}

func TestTheVerdictIsGoodWhenAllIsHeldAndNothingWasWrong(t *testing.T) {
	s, out, _ := stage(t)
	if err := s.conclude(verdict{Feeds: 1, Held: 1}); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestAFeedThatIsNotHeldAtTheEndIsWrong(t *testing.T) {
	s, out, _ := stage(t)
	if err := s.conclude(verdict{Feeds: 2, Held: 1}); !errors.Is(err, errWrong) {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestAnOverlapIsWrong(t *testing.T) {
	s, out, addr := stage(t)
	for i := range 2 {
		holder, err := witness.Dial(t.Context(), addr, fmt.Sprint("holder-", i))
		if err != nil {
			t.Fatal(err)
		}
		defer holder.Close()
		holder.Hold("feed-01", int64(i), "", nil)
		if err := holder.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	redistest.Eventually(t, 10*time.Second, "the witness is certain of an overlap", func() bool { return s.witness.Report().Totals.Overlaps == 1 })
	if err := s.conclude(verdict{Feeds: 1, Held: 1}); !errors.Is(err, errWrong) || !strings.Contains(out.String(), "\noverlap 1 ") {
		t.Errorf("%v\n%s", err, out)
	}
}

// ask gets the first lines of a feed that come after the last one that it has, and hangs up.
func ask(t *testing.T, s *server, last, count int) string {
	t.Helper()
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintln(conn, "feed-01", last)
	var got []string
	for range count {
		var name, at string
		var number int
		if _, err := fmt.Fscanln(conn, &name, &number, &at); err != nil && err != io.EOF {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(name, " ", number))
	}
	if now, _ := s.connections(); now["feed-01"] != 1 {
		t.Errorf("%d connections while one is open", now["feed-01"])
	}
	return strings.Join(got, ", ")
}

func TestTheServerSendsFromWhereAClientWasAndCounts(t *testing.T) {
	s, out, _ := stage(t)
	left := func() {
		t.Helper()
		redistest.Eventually(t, 10*time.Second, "no connection is left", func() bool { now, _ := s.server.connections(); return now["feed-01"] == 0 })
	}
	if got, want := ask(t, s.server, 0, 3), "feed-01 1, feed-01 2, feed-01 3"; got != want {
		t.Errorf("lines %q, want %q", got, want)
	}
	left()
	_, before := s.server.connections()
	if got, want := ask(t, s.server, 1, 1), "feed-01 2"; got != want {
		t.Errorf("lines %q, want %q", got, want)
	}
	left()
	if _, l := s.server.connections(); before.Again != 0 || l.Again < 1 || l.Missed != 0 {
		t.Errorf("%+v, then %+v, want no line again, then some, and none missed", before, l)
	}
	s.server.enter("feed-01", 1000)
	if _, l := s.server.connections(); l.Missed == 0 {
		t.Error("a client that passes over lines is not counted")
	}
	if err := s.conclude(verdict{Feeds: 1, Held: 1}); !errors.Is(err, errWrong) {
		t.Errorf("missed lines are no reason: %v\n%s", err, out)
	}
}
