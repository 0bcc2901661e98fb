package pipeline_test

import (
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/pipeline"
	"github.com/worqr/worqr-go/internal/redistest"
)

// A pipe that was not used has no goroutine: nobody closes it here, and the bubble would not end. A
// closed pipe has none either, used or not.
func TestUnusedPipeIsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &line{to: inMemory(served)}
		pipeline.New(pipeline.Config{Dial: l.dial})
		p := pipeline.New(pipeline.Config{Dial: l.dial})
		p.Close()
		p.Close()
		if _, sent, err := p.Do(t.Context(), "ECHO", "x"); err != pipeline.ErrClosed || sent || l.dialled.Load() != 0 {
			t.Fatalf("sent %v, %v, %d dials", sent, err, l.dialled.Load())
		}
	})
}

// Close ends the goroutines and the connections.
func TestCloseLeavesNothing(t *testing.T) {
	proxy := redistest.NewProxy(t, redistest.Shared(t).URL())
	before := runtime.NumGoroutine()
	p := pipeline.New(pipeline.Config{Dial: byURL(proxy.URL())})
	if n := runtime.NumGoroutine(); n != before {
		t.Fatalf("New started %d goroutines", n-before)
	}
	echoes(t, p, "x")
	p.Close()
	redistest.Eventually(t, soon, "the connection is gone", func() bool { return proxy.Connections() == 0 })
	redistest.Eventually(t, soon, "no goroutine is left", func() bool { return runtime.NumGoroutine() <= before })
}

// Close completes everything with ErrClosed: what is flying, what waits for a dial or a pause, and
// what comes later.
func TestCloseAnswersAll(t *testing.T) {
	closed := func(t *testing.T, sent bool, all ...*request) { // all are completed once Close has returned
		t.Helper()
		for _, r := range all {
			if len(r.answers) != 1 {
				t.Fatalf("%s %v has %d answers", r.name, r.args, len(r.answers))
			}
			if a := <-r.answers; a.err != pipeline.ErrClosed || a.sent != sent || a.reply != nil {
				t.Fatalf("%s %v: %+v", r.name, r.args, a)
			}
		}
	}
	t.Run("flying", func(t *testing.T) {
		bubble(t, pipeline.Config{}, served, func(t *testing.T, p *pipeline.Pipe, l *line) {
			on1 := send(p, "SILENCE")
			pass(time.Second)
			on2 := send(p, "SILENCE")
			synctest.Wait()
			p.Close()
			closed(t, true, on1, on2)
			p.Close()
			closed(t, false, send(p, "ECHO", "later"))
			if n := l.dialled.Load(); n != 2 {
				t.Fatalf("%d dials", n)
			}
		})
	})
	t.Run("dialling", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := &line{gate: make(chan struct{}), to: inMemory(served)}
			p := pipeline.New(pipeline.Config{Dial: l.dial})
			start := time.Now()
			one, two := send(p, "ECHO", "1"), send(p, "ECHO", "2")
			synctest.Wait()
			p.Close()
			closed(t, false, one, two)
			if d := time.Since(start); d != 0 {
				t.Fatalf("Close took %v", d)
			}
		})
	})
	t.Run("pause", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			o := &outage{start: time.Now()}
			p := pipeline.New(pipeline.Config{Dial: o.dial})
			p.Do(t.Context(), "ECHO", "x")
			waits := send(p, "ECHO", "y")
			synctest.Wait()
			p.Close()
			closed(t, false, waits)
			if len(o.at) != 1 {
				t.Fatalf("dialled at %v", o.at)
			}
		})
	})
}

// Close while many send: each request is completed once, whatever came first.
func TestCloseUnderSend(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	rounds := 300
	if testing.Short() {
		rounds = 100
	}
	for range rounds {
		p := pipeline.New(pipeline.Config{Dial: byURL(s.URL())})
		echoes(t, p, "x")
		var senders, closers sync.WaitGroup
		sent := make([][]*request, 4)
		begin := make(chan struct{})
		for i := range sent {
			senders.Go(func() {
				<-begin
				for over := false; !over; {
					r := send(p, "ECHO", "x")
					sent[i] = append(sent[i], r)
					select {
					case a := <-r.answers: // most often not there yet: then the next is sent behind it
						over = a.err != nil
						r.answers <- a
					default:
					}
				}
			})
		}
		for range 2 {
			closers.Go(func() {
				<-begin
				runtime.Gosched()
				p.Close()
			})
		}
		close(begin)
		closers.Wait()
		senders.Wait()
		for _, all := range sent {
			for _, r := range all {
				a := r.answer(t)
				if a.err != nil && a.err != pipeline.ErrClosed {
					t.Fatalf("sent %v, %v", a.sent, a.err)
				}
				if v, err := redis.String(a.reply, nil); a.err == nil && v != "x" {
					t.Fatalf("%q, %v", v, err)
				}
				if len(r.answers) != 0 {
					t.Fatal("answered twice")
				}
			}
		}
	}
}
