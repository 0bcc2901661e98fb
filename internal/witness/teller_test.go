package witness

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestWhatIsNotHeldIsNotTold(t *testing.T) {
	virtual(t, Config{}, func(b *bench) {
		one := b.dial("one")
		h := one.Hold("x", 1, "first", func() bool { return false })
		b.at(150 * ms)
		h.Done()
		one.Close()
		b.want("holds", b.Report().Totals, Totals{})
	})
}

// While a tick calls valid, one hold is begun whose valid was called before it, and one is done:
// the tick confirms neither.
func TestATickConfirmsOnlyWhatItAsked(t *testing.T) {
	virtual(t, Config{}, func(b *bench) {
		one := b.dial("one")
		one.Hold("slow", 1, "first", func() bool {
			if time.Since(b.start) == 100*ms {
				time.Sleep(60 * ms)
			}
			return true
		})
		b.at(50 * ms)
		given := one.Hold("given", 1, "first", func() bool { return time.Since(b.start) < 120*ms })
		b.at(90 * ms)
		go one.Hold("begun", 1, "first", func() bool {
			held := time.Since(b.start) < 95*ms
			if held {
				time.Sleep(60 * ms)
			}
			return held
		})
		b.at(130 * ms)
		given.Done()
		b.at(170 * ms)
		for i, want := range []Span{
			{"one", 1, "first", "held", 90 * ms, 90 * ms, 0, 0},
			{"one", 1, "first", "ended", 50 * ms, 50 * ms, 0, 130 * ms},
			{"one", 1, "first", "held", 0, 100 * ms, 0, 0},
		} {
			b.want("span", b.Report().Keys[i].Spans[0], want)
		}
		b.at(210 * ms)
		b.want("begun", b.Report().Keys[0].Spans[0], Span{"one", 1, "first", "stopping", 90 * ms, 90 * ms, 200 * ms, 0})
		one.Close()
		b.want("faults", b.Report().Totals.Faults, 0)
	})
}

// After valid has returned false it is not called again.
func TestNoIsForEver(t *testing.T) {
	virtual(t, Config{}, func(b *bench) {
		one := b.dial("one")
		var asked atomic.Int32
		h := one.Hold("x", 1, "first", func() bool { return asked.Add(1) != 2 })
		b.at(550 * ms)
		h.Done()
		one.Close()
		b.want("asked", asked.Load(), int32(2))
		b.want("span", b.Report().Keys[0].Spans[0], Span{"one", 1, "first", "ended", 0, 0, 100 * ms, 550 * ms})
	})
}

func TestTheWitnessStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{T: t, start: time.Now(), ln: &pipes{conns: make(chan net.Conn), done: make(chan struct{})}}
		b.Witness = newWitness(Config{Lost: time.Second}, b.machine())
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error)
		go func() { served <- b.Serve(ctx, b.ln) }()
		one := b.dial("one")
		one.Hold("x", 1, "first", nil)
		b.at(350 * ms)
		cancel()
		b.want("served", <-served, error(nil))
		b.at(time.Hour)
		r := b.Report()
		b.want("now", r.Now, 350*ms)
		b.want("state", r.Keys[0].State, "held")
		b.want("counts", counts(r), "moves 0 returns 0 overlaps 0 possible 0 falls 0 cut 0 late 0 faults 0")
		b.want("lost", r.Lost, 0)
		if err := one.Sync(t.Context()); err == nil || !strings.Contains(err.Error(), "holder one") {
			t.Errorf("sync: %v", err)
		}
		one.Hold("y", 1, "first", nil).Done() // nobody receives it
		if one.Err() == nil || one.Close() == nil {
			t.Error("the teller does not say that nobody hears it")
		}
	})
}

// It costs neither the holder's time nor all of its memory.
func TestAWitnessThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		defer there.Close()
		ln := &pipes{conns: make(chan net.Conn, 1), done: make(chan struct{})}
		ln.conns <- there
		w := newWitness(Config{}, own())
		ctx, cancel := context.WithCancel(t.Context())
		go w.Serve(ctx, ln)
		one, err := dial(ctx, here, "one", own())
		if err != nil {
			t.Fatal(err)
		}
		w.mu.Lock() // it receives nothing
		start := time.Now()
		key := strings.Repeat("k", 1<<20)
		for range unread>>20 - 1 {
			one.Hold(key, 1, "first", nil)
		}
		if one.Err() != nil {
			t.Error(one.Err())
		}
		for range unread>>20 + 2 { // as much again may be in the hands of who writes
			one.Hold(key, 1, "first", nil)
		}
		if err := one.Err(); err == nil || !strings.Contains(err.Error(), "does not read") {
			t.Error(err)
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("the holder has waited for %v", took)
		}
		w.mu.Unlock()
		one.Close()
		cancel()
	})
}

func TestDialThatFails(t *testing.T) {
	virtual(t, Config{}, func(b *bench) {
		here, there := net.Pipe() // nobody replies
		defer there.Close()
		ctx, cancel := context.WithTimeoutCause(b.Context(), time.Second, errors.New("enough"))
		defer cancel()
		if _, err := dial(ctx, here, "one", b.machine()); err == nil || !strings.Contains(err.Error(), "holder one: hello: enough") {
			b.Error(err)
		}
		one := b.dial("one")
		defer one.Close()
		b.mu.Lock()
		defer b.mu.Unlock()
		one.Hold("x", 1, "first", nil) // the witness does not get to it; no time may pass, it waits for a mutex
		if err := one.Sync(ctx); err == nil || !strings.Contains(err.Error(), "holder one: sync: enough") {
			b.Error(err)
		}
	})
	if _, err := Dial(t.Context(), t.TempDir()+"/none", "one"); err == nil {
		t.Error("nobody listens there")
	}
	if _, err := Ask(t.Context(), t.TempDir()+"/none"); err == nil {
		t.Error("nobody listens there")
	}
}
