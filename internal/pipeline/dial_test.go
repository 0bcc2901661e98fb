package pipeline_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/pipeline"
)

var errRefused = errors.New("connection refused")

// outage is a server that cannot be reached for a while. It records when it was dialled.
type outage struct {
	to    func(context.Context) (redis.Conn, error)
	over  bool
	start time.Time
	at    []time.Duration
}

func (o *outage) dial(ctx context.Context) (redis.Conn, error) {
	o.at = append(o.at, time.Since(o.start))
	if o.over {
		return o.to(ctx)
	}
	return nil, errRefused
}

func ms(all ...int) (ds []time.Duration) {
	for _, n := range all {
		ds = append(ds, time.Duration(n)*time.Millisecond)
	}
	return ds
}

// A failed dial completes all that is queued, as not sent. The next dial waits for a pause, which
// doubles up to a quarter second and starts small again after a success.
func TestDialFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &outage{to: inMemory(served), start: time.Now()}
		p := pipeline.New(pipeline.Config{Dial: o.dial})
		defer p.Close()
		fail := func(n int) {
			t.Helper()
			for range n {
				if _, sent, err := p.Do(t.Context(), "ECHO", "x"); !errors.Is(err, errRefused) || sent {
					t.Fatalf("sent %v, %v", sent, err)
				}
			}
		}
		fail(8)
		if want := ms(0, 10, 30, 70, 150, 310, 560, 810); !slices.Equal(o.at, want) {
			t.Fatalf("dialled at %v, want %v", o.at, want)
		}
		// It dials for a request, never by itself. It dials at once when the pause is over already.
		pass(time.Minute)
		o.start, o.at = time.Now(), nil
		fail(1)
		if !slices.Equal(o.at, ms(0)) {
			t.Fatalf("after a minute: dialled at %v", o.at)
		}
		// Recovery: what comes during the pause waits for the next attempt.
		o.over = true
		echoes(t, p, "back")
		if !slices.Equal(o.at, ms(0, 250)) {
			t.Fatalf("it is back, dialled at %v", o.at)
		}
		// The next outage begins with the shortest pause.
		if _, sent, err := p.Do(t.Context(), "QUIT"); err == nil || !sent {
			t.Fatalf("sent %v, %v", sent, err)
		}
		o.over, o.start, o.at = false, time.Now(), nil
		fail(3)
		if want := ms(0, 10, 30); !slices.Equal(o.at, want) {
			t.Fatalf("the next outage: dialled at %v, want %v", o.at, want)
		}
	})
}

// All that waits for a dial gets the dial's error, and nothing stays behind.
func TestDialFailsForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &line{gate: make(chan struct{}), to: func(context.Context) (redis.Conn, error) { return nil, errRefused }}
		p := pipeline.New(pipeline.Config{Dial: l.dial})
		defer p.Close()
		var all []*request
		for range 100 {
			all = append(all, do(p, t.Context(), "ECHO", "x"))
		}
		synctest.Wait()
		close(l.gate)
		synctest.Wait() // no time passes: one dial answers them all
		for _, r := range all {
			if len(r.answers) != 1 {
				t.Fatal("one has no answer")
			}
			if a := <-r.answers; !errors.Is(a.err, errRefused) || a.sent {
				t.Fatalf("%+v", a)
			}
		}
		if n := l.dialled.Load(); n != 1 {
			t.Fatalf("%d dials", n)
		}
	})
}

// A dial may take Timeout, and no longer. A caller that waits for the dial, or for the pause, may
// leave.
func TestDialHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &line{gate: make(chan struct{}), to: inMemory(served)}
		p := pipeline.New(pipeline.Config{Dial: l.dial, Timeout: 2 * time.Second})
		defer p.Close()
		start := time.Now()
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		leaves, stays := do(p, short, "ECHO", "x"), do(p, t.Context(), "ECHO", "x")
		if a := <-leaves.answers; a.err != context.DeadlineExceeded || a.sent || time.Since(start) != time.Second {
			t.Fatalf("one who leaves: %+v after %v", a, time.Since(start))
		}
		if a := <-stays.answers; a.err == nil || a.sent || time.Since(start) != 2*time.Second {
			t.Fatalf("one who stays: %+v after %v", a, time.Since(start))
		}
		short, cancel = context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, sent, err := p.Do(short, "ECHO", "x"); err != context.DeadlineExceeded || sent || l.dialled.Load() != 1 {
			t.Fatalf("in the pause: sent %v, %v, %d dials", sent, err, l.dialled.Load())
		}
		close(l.gate)
		echoes(t, p, "back")
	})
}
