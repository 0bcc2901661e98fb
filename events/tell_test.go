package events

import (
	"context"
	"errors"
	"testing"

	"github.com/gomodule/redigo/redis"
)

// What is told goes to that one callback, in order with what is told before and after, and only while Run runs.
func TestTellReachesOneRegistration(t *testing.T) {
	l, err := New(Config{
		Namespace: "told",
		Dial:      func(context.Context) (redis.Conn, error) { return nil, errors.New("no server in this test") },
	})
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan Event, 10)
	r := l.Register("q", func(e Event) { told <- e }, Work)
	other := l.Register("q", func(e Event) { t.Errorf("another registration was told %v", e) })
	defer other.Stop()
	r.Tell(Event{Kind: Work, Queue: "q", Count: 1}) // nothing runs yet

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	for n := 2; ; {
		r.Tell(Event{Kind: Work, Queue: "q", Count: n})
		select {
		case e := <-told: // Run has begun
			if e.Count != n {
				t.Fatalf("told %d, want %d", e.Count, n)
			}
		case err := <-ended:
			t.Fatalf("Run ended: %v", err)
		default:
			continue
		}
		break
	}
	for n := range 9 {
		r.Tell(Event{Kind: Work, Queue: "q", Count: 100 + n})
		r.Tell(Event{Kind: Done, Queue: "q"}) // not a kind of this registration
	}
	last := 0
	for n := 0; n != 108; { // those told while Run had not begun to deliver may stand before
		if n = (<-told).Count; n < last {
			t.Fatalf("told %d after %d", n, last)
		}
		last = n
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	r.Tell(Event{Kind: Work, Queue: "q", Count: 200})
	r.Stop()
	select {
	case e := <-told:
		t.Errorf("told %v after Run had ended", e)
	default:
	}
}
