package subscribe

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/events"
)

// What is told goes to that one callback, in order with what is told before and after, and only
// while Run runs.
func TestTellReachesOneRegistration(t *testing.T) {
	running := make(chan struct{})
	var once sync.Once
	l, err := New(Config{
		Namespace: "told",
		Dial:      func(context.Context) (redis.Conn, error) { return nil, errors.New("no server in this test") },
		Database:  func(context.Context) (int, error) { once.Do(func() { close(running) }); return 0, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan events.Event, 10)
	r := l.Register("q", func(e events.Event) { told <- e }, events.Work)
	other := l.Register("q", func(e events.Event) { t.Errorf("another registration was told %v", e) })
	defer other.Stop()
	r.Tell(events.Event{Kind: events.Work, Queue: "q", Count: 1}) // nothing runs yet

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	<-running
	for n := range 9 {
		r.Tell(events.Event{Kind: events.Work, Queue: "q", Count: 100 + n})
		r.Tell(events.Event{Kind: events.Done, Queue: "q"}) // not a kind of this registration
	}
	for n := range 9 {
		if e := <-told; e.Kind != events.Work || e.Count != 100+n {
			t.Fatalf("told %v, want work %d", e, 100+n)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	r.Tell(events.Event{Kind: events.Work, Queue: "q", Count: 200})
	r.Stop()
	select {
	case e := <-told:
		t.Errorf("told %v after Run had ended", e)
	default:
	}
}
