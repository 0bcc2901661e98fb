package pipeline_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/worqr/worqr-go/internal/pipeline"
)

// try runs a Try, starting now, that is late after the given time.
func try(t *testing.T, p *pipeline.Pipe, want time.Duration, name string, args ...any) {
	t.Helper()
	start := time.Now()
	reply, sent, err := p.Try(t.Context(), name, args...)
	if err != pipeline.ErrLate || !sent || reply != nil || time.Since(start) != want {
		t.Fatalf("%s: %v, sent %v, %v after %v, want %v", name, reply, sent, err, time.Since(start), want)
	}
}

// Try waits for Patience. It leaves the connection to the others, and the next request goes over
// another one.
func TestTry(t *testing.T) {
	bubble(t, pipeline.Config{Patience: time.Second}, served, func(t *testing.T, p *pipeline.Pipe, l *line) {
		if v, _, err := p.Try(t.Context(), "ECHO", "x"); err != nil || string(v.([]byte)) != "x" {
			t.Fatalf("%q, %v", v, err)
		}
		start := time.Now()
		patient := do(p, t.Context(), "SLEEP", "2s")
		synctest.Wait()
		try(t, p, time.Second, "SLEEP", "1s")
		if v, _, err := p.Try(t.Context(), "ECHO", "again"); err != nil || string(v.([]byte)) != "again" || time.Since(start) != time.Second {
			t.Fatalf("%q, %v after %v", v, err, time.Since(start))
		}
		if a := <-patient.answers; a.err != nil || time.Since(start) != 2*time.Second {
			t.Fatalf("one who is patient: %+v after %v", a, time.Since(start))
		}
		pass(2 * time.Second) // the late reply comes, and nobody gets it
		echoes(t, p, "next")
		if n := l.dialled.Load(); n != 2 {
			t.Fatalf("%d connections were dialled", n)
		}
	})
}

// A Try is late after its own time, wherever it stands: behind a request that was reported late
// already, on the only connection.
func TestTryBehindTheLate(t *testing.T) {
	bubble(t, pipeline.Config{Patience: time.Second, Connections: 1}, served, func(t *testing.T, p *pipeline.Pipe, l *line) {
		lost := do(p, t.Context(), "SILENCE")
		pass(500 * time.Millisecond)
		try(t, p, time.Second, "ECHO", "in its patience")
		pass(100 * time.Millisecond)
		try(t, p, time.Second, "ECHO", "after it")
		try(t, p, time.Second, "ECHO", "and again")
		if a := <-lost.answers; a.err == nil || errors.Is(a.err, pipeline.ErrLate) || !a.sent {
			t.Fatalf("%+v", a)
		}
		echoes(t, p, "next")
		if n := l.dialled.Load(); n != 2 {
			t.Fatalf("%d connections were dialled", n)
		}
	})
}

// A late Do has no effect on the next call.
func TestLateOnce(t *testing.T) {
	bubble(t, pipeline.Config{Patience: time.Second}, served, func(t *testing.T, p *pipeline.Pipe, _ *line) {
		for range 20 {
			if _, _, err := p.Do(t.Context(), "SLEEP", "2s"); err != nil {
				t.Fatal(err)
			}
			if _, _, err := p.Try(t.Context(), "ECHO", "x"); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A context ends a Try sooner. A Patience longer than Timeout has no effect.
func TestTryEndsSooner(t *testing.T) {
	bubble(t, pipeline.Config{Timeout: 3 * time.Second, Patience: time.Minute}, served, func(t *testing.T, p *pipeline.Pipe, _ *line) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		if _, sent, err := p.Try(ctx, "SILENCE"); err != context.DeadlineExceeded || !sent || time.Since(start) != time.Second {
			t.Fatalf("sent %v, %v after %v", sent, err, time.Since(start))
		}
		if _, sent, err := p.Try(t.Context(), "SILENCE"); err == nil || !sent || time.Since(start) != 4*time.Second {
			t.Fatalf("sent %v, %v after %v", sent, err, time.Since(start))
		}
		echoes(t, p, "next")
	})
}
