package subscribe

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/events"
)

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	dial := func(context.Context) (redis.Conn, error) { return nil, errors.New("must not be called") }
	for want, cfg := range map[string]Config{
		"Dial is nil":       {Namespace: "n"},
		`Namespace is ""`:   {Dial: dial},
		`Namespace is "a:`:  {Dial: dial, Namespace: "a:b"},
		`Namespace is "a\n`: {Dial: dial, Namespace: "a\n"},
		`Namespace is "xx`:  {Dial: dial, Namespace: strings.Repeat("x", 65)},
		"Buffer is -1":      {Dial: dial, Namespace: "n", Buffer: -1},
		"Ping is -1ns":      {Dial: dial, Namespace: "n", Ping: -1},
		"Ping is 9ms":       {Dial: dial, Namespace: "n", Ping: 9 * time.Millisecond},
	} {
		l, err := New(cfg)
		if l != nil || !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, %v, want ErrConfig with %q", l, err, want)
		}
	}
	l, err := New(Config{Dial: dial, Namespace: "my_app.v1-B"})
	if err != nil || l.cfg.Buffer != 1024 || l.cfg.Ping != 5*time.Second {
		t.Errorf("got %+v, %v", l, err)
	}
	for what, f := range map[string]func(){
		"On":     func() { l.On("q", func(events.Event) {}, events.Joined) },
		"OnMesh": func() { l.OnMesh(func(events.Event) {}, events.Work) },
		"OnHint": func() { l.OnHint("q", mesh, func(events.Event) {}) },
	} {
		func() {
			defer func() {
				if r := recover(); r == nil || !strings.Contains(r.(string), what+":") {
					t.Errorf("%s with a wrong kind: %v", what, r)
				}
			}()
			f()
		}()
	}
	if l.want.any() {
		t.Error("a refused registration left something behind")
	}
}

// Queues whose names look like parts of channels, and patterns, never meet.
func TestNamesNeverCross(t *testing.T) {
	t.Parallel()
	names := []string{"a:b", "a", "b", "*", "?", "error", "a/b", "tasks", "a:tasks", "wake:x", "wake", "mesh", "mesh:work", "a:work", "work", "ns@0:a", "ä"}
	r := listen(t, shared(t))
	type at struct {
		name string
		events.Event
	}
	got := make(chan at, 1000)
	for _, name := range names {
		r.On(name, func(e events.Event) { got <- at{name, e} }, events.Work, events.Work, events.Cancel, events.Delete, events.Done)
		for _, k := range []events.Kind{events.Work, events.Cancel, events.Delete, events.Done} {
			r.OnHint(name, k, func(e events.Event) { got <- at{name, e} })
		}
		r.OnWake("worker-"+name, func(q string, failed bool) {
			got <- at{"worker-" + name, events.Event{Kind: wake, Queue: q}}
		})
	}
	r.OnMesh(func(e events.Event) { got <- at{"", e} })
	r.awaitReady()
	seen := 0
	expect := func(times int, want at) {
		t.Helper()
		for range times {
			g := await(t, want.name+" "+want.Kind.String(), got)
			g.Task, g.Event.Token, g.Worker, g.Process = nil, 0, "", ""
			if g.name != want.name || g.Kind != want.Kind || g.Queue != want.Queue {
				t.Errorf("got %+v, want %+v", g, want)
			}
			seen++
		}
	}
	for _, name := range names {
		r.publish(name+":work", "1")
		expect(2, at{name, events.Event{Kind: events.Work, Queue: name}})
		r.publish(name+":cancel", "1\nt")
		expect(2, at{name, events.Event{Kind: events.Cancel, Queue: name}})
		r.publish(name+":delete", "1")
		expect(2, at{name, events.Event{Kind: events.Delete, Queue: name}})
		r.publish(name+":done", "w p 1\nt")
		expect(2, at{name, events.Event{Kind: events.Done, Queue: name}})
		r.publish("wake:worker-"+name, "wake "+name)
		expect(1, at{"worker-" + name, events.Event{Kind: wake, Queue: name}})
		r.publish("mesh", "joined w")
		expect(1, at{"", events.Event{Kind: events.Joined}})
	}
	r.stop() // ends every delivery, so that nothing more can come
	if len(got) != 0 || seen != 10*len(names) {
		t.Errorf("%d events too many after %d", len(got), seen)
	}
}

func TestMeshAndWake(t *testing.T) {
	t.Parallel()
	r := listen(t, shared(t))
	all, some, woken := make(chan events.Event, 10), make(chan events.Event, 10), make(chan string, 10)
	r.OnMesh(func(e events.Event) { all <- e })
	r.OnMesh(func(e events.Event) { some <- e }, events.Lapsed)
	r.OnWake("w1", func(q string, failed bool) { woken <- q + " " + strconv.FormatBool(failed) })
	r.OnGive("w1", func(q string, n, down int) { woken <- fmt.Sprintf("give %d down to %d of %s", n, down, q) })
	r.awaitReady()
	for _, k := range []events.Kind{events.Joined, events.Left, events.Lapsed, events.Reclaimed} {
		r.publish("mesh", k.String()+" w7")
		if e := await(t, "a mesh event", all); e.Kind != k || e.Worker != "w7" || e.Queue != "" {
			t.Errorf("got %+v, want %v", e, k)
		}
	}
	if e := await(t, "the one of its kind", some); e.Kind != events.Lapsed || len(some) != 0 {
		t.Errorf("got %+v and %d more", e, len(some))
	}
	r.publish("wake:w2", "fail")
	r.publish("wake:w1", "wake a:b")
	r.publish("wake:w1", "give 2 5 a:b")
	r.publish("wake:w1", "fail")
	for _, want := range []string{"a:b false", "give 2 down to 5 of a:b", " true"} {
		if got := await(t, "a wake", woken); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Every registration on a live connection is followed by OnReady, without waiting for the next
// ping: also when its channel was confirmed long ago.
func TestLateRegistrationGetsReady(t *testing.T) {
	t.Parallel()
	r := listen(t, shared(t))
	ready := make(chan struct{}, 100)
	stopReady := r.OnReady(func() { ready <- struct{}{} })
	r.On("a", func(events.Event) {}, events.Work)
	await(t, "the first OnReady", ready)
	for _, register := range []func() func(){
		func() func() { return r.On("b", func(events.Event) {}) },
		func() func() { return r.On("a", func(events.Event) {}, events.Work) },
		func() func() { return r.OnHint("a", events.Work, func(events.Event) {}) },
		func() func() { return r.OnWake("w", func(string, bool) {}) },
		func() func() { return r.OnGive("w", func(string, int, int) {}) },
		func() func() { return r.OnMesh(func(events.Event) {}) },
	} {
		register()
		await(t, "OnReady after a later registration", ready)
		r.awaitReady()
	}
	stopReady()
	r.On("c", func(events.Event) {})
	r.awaitReady()
	if len(ready) > 0 {
		t.Errorf("OnReady was called %d times too often", len(ready))
	}
}

func TestStopUnsubscribes(t *testing.T) {
	t.Parallel()
	r := listen(t, shared(t))
	none := func(events.Event) {}
	stop1 := r.On("q", none, events.Work, events.Work, events.Done)
	stop2 := r.OnHint("q", events.Work, none)
	stop3 := r.OnMesh(none)
	r.awaitReady()
	if w, d, m := r.subscribers("q:work"), r.subscribers("q:done"), r.subscribers("mesh"); w != 1 || d != 1 || m != 1 {
		t.Fatalf("subscribers: %d, %d, %d, want one each", w, d, m)
	}
	stop1()
	stop1() // must not count twice
	until(t, "UNSUBSCRIBE of the channel with no other reader", func() bool { return r.subscribers("q:done") == 0 })
	if n := r.subscribers("q:work"); n != 1 {
		t.Fatalf("%d subscribers, want 1: another one still wants it", n)
	}
	stop2()
	until(t, "UNSUBSCRIBE with the last", func() bool { return r.subscribers("q:work") == 0 })
	if !r.Ready() || r.dials.Load() != 1 {
		t.Errorf("Ready is %v after %d dials, want the connection to live on for the mesh channel", r.Ready(), r.dials.Load())
	}
	stop3()
	until(t, "the connection to be closed", func() bool { return !r.connected() })
	until(t, "nothing to be kept", func() bool {
		r.want.mu.Lock()
		defer r.want.mu.Unlock()
		return len(r.want.subs) == 0 && len(r.want.dirty) == 0 && r.want.open == 0 && r.want.missing == 0
	})
	if r.Ready() || r.logs.text() != "" {
		t.Errorf("Ready is %v, the log says %s", r.Ready(), r.logs.text())
	}
	r.On("q", none, events.Work)
	r.awaitReady()
	if r.dials.Load() != 2 {
		t.Errorf("%d dials, want 2", r.dials.Load())
	}
}

// Many register and stop at once on a few channels; then the server knows exactly what is still
// wanted, and all of it works.
func TestRegisterHammer(t *testing.T) {
	t.Parallel()
	r := listen(t, shared(t))
	const queues, goroutines, rounds = 5, 8, 150
	keep := r.OnMesh(func(events.Event) {}) // so that the connection stays
	var wg sync.WaitGroup
	var called atomic.Int64
	var left [queues]atomic.Int64
	for g := range goroutines {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(g), 1))
			for range rounds {
				n := rng.IntN(queues)
				var stop func()
				if rng.IntN(2) == 0 {
					stop = r.On("q"+strconv.Itoa(n), func(events.Event) { called.Add(1) }, events.Work)
				} else {
					stop = r.OnHint("q"+strconv.Itoa(n), events.Work, func(events.Event) { called.Add(1) })
				}
				if n > 1 && rng.IntN(4) == 0 {
					left[n].Add(1)
				} else {
					stop()
				}
			}
		})
	}
	wg.Wait()
	r.awaitReady()
	for n := range queues {
		want := min(1, int(left[n].Load()))
		until(t, "the right subscriptions", func() bool { return r.subscribers("q"+strconv.Itoa(n)+":work") == want })
		called.Store(0)
		r.publish("q"+strconv.Itoa(n)+":work", "1")
		until(t, "every callback that is left", func() bool { return called.Load() == left[n].Load() })
	}
	if r.dials.Load() != 1 || r.Dropped() != 0 {
		t.Errorf("%d dials, %d dropped; log: %s", r.dials.Load(), r.Dropped(), r.logs.text())
	}
	keep()
}
