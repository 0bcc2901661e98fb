package heartbeat

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestNobodyJudgedWhileHolding lets hosts hold leases at one server and judge each other. Meanwhile
// the server's clock steps and heartbeats are lost in restarts. Messages are slow, lost or sent
// twice. Hosts sleep and drift, and operators fail holders by hand. No holder may be declared dead
// while it still holds. Once the trouble is over, every dead one has to be declared dead.
//
// A failure names its seed. HEARTBEAT_SEED runs that one world, HEARTBEAT_WORLDS=n runs n of them.
func TestNobodyJudgedWhileHolding(t *testing.T) {
	worlds, seed := 4, rand.Uint64()
	if s := os.Getenv("HEARTBEAT_WORLDS"); s != "" {
		worlds, _ = strconv.Atoi(s)
	}
	if s := os.Getenv("HEARTBEAT_SEED"); s != "" {
		worlds = 1
		seed, _ = strconv.ParseUint(s, 10, 64)
	}
	defer func() {
		if t.Failed() { // synctest.Test does not return when its bubble failed
			t.Logf("run again with HEARTBEAT_SEED=%d", seed)
		}
	}()
	var sum world
	for range worlds {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, seed)
			w.live()
			sum.verdicts += w.verdicts
			sum.traps += w.traps
		})
		seed++
	}
	t.Logf("%d verdicts, %d times a holder seemed absent", sum.verdicts, sum.traps)
}

// world is the server and everything around it.
type world struct {
	t     *testing.T
	seed  uint64
	start time.Time

	mu       sync.Mutex
	offset   time.Duration            // of the server's clock
	run      int                      // of the server
	expires  map[string]time.Duration // heartbeats, on the server's clock
	byHand   map[string]bool
	lease    map[string]*Lease // of all who are registered
	owner    map[string]*peer
	verdicts int
	traps    int // how often one without a heartbeat still held
	calm     bool
}

// answer is the server's reply to any request.
type answer struct {
	ok     bool
	clock  time.Duration
	run    string
	total  int
	absent []Absent
}

func newWorld(t *testing.T, seed uint64) *world {
	return &world{t: t, seed: seed, start: time.Now(), expires: map[string]time.Duration{}, byHand: map[string]bool{},
		lease: map[string]*Lease{}, owner: map[string]*peer{}}
}

func (w *world) live() {
	rng := rand.New(rand.NewPCG(w.seed, 0))
	ctx, cancel := context.WithCancel(w.t.Context())
	var wg sync.WaitGroup
	kill := make([]context.CancelFunc, 2+rng.IntN(4))
	for i := range kill {
		own, stop := context.WithCancel(ctx)
		kill[i] = stop
		p := &peer{w: w, name: i, rng: rand.New(rand.NewPCG(w.seed, uint64(i)+1)), start: time.Now()}
		p.ppm = p.rng.IntN(2001) - 1000
		wg.Go(func() { p.sleeps(own) })
		wg.Go(func() { p.live(own) })
	}
	for time.Since(w.start) < 2*time.Minute {
		// One step at a time: a step must not be taken back before a judge, whose beats are in
		// time, has looked again.
		time.Sleep(2*time.Second + time.Duration(rng.Int64N(int64(6*time.Second))))
		w.trouble(rng)
	}
	w.locked(func() { w.calm = true })
	for _, stop := range kill[1:] {
		stop()
	}
	time.Sleep(30 * time.Second) // the last trouble ends within 10 s; then twice TTL and some rounds
	w.locked(func() {
		if len(w.lease) != 1 {
			w.t.Errorf("%d still registered, only one is alive: %v", len(w.lease), slices.Collect(maps.Keys(w.lease)))
		}
	})
	cancel()
	wg.Wait()
	time.Sleep(time.Minute) // beats that ignored their context
}

func (w *world) locked(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

// trouble brings one fault upon the server, picked at random.
func (w *world) trouble(rng *rand.Rand) {
	w.locked(func() {
		step := 50 * ms << rng.IntN(8) // 50 ms to 6.4 s
		step += time.Duration(rng.Int64N(int64(step)))
		switch rng.IntN(6) {
		case 0, 1:
			w.offset += step
		case 2:
			w.offset -= step
		case 3: // restarted, empty
			w.run++
			clear(w.expires)
		case 4: // replaced by a replica that had not seen the last beats, nor what was taken away
			w.run++
			for _, id := range slices.Sorted(maps.Keys(w.lease)) {
				if w.expires[id] == 0 {
					w.expires[id] = w.clock() + 3*time.Second
				}
				w.expires[id] -= time.Duration(rng.Int64N(int64(step)))
			}
		case 5:
			if ids := slices.Sorted(maps.Keys(w.lease)); len(ids) > 0 {
				id := ids[rng.IntN(len(ids))]
				delete(w.expires, id)
				w.byHand[id] = true
			}
		}
	})
}

func (w *world) clock() time.Duration { return 1e5*time.Hour + time.Since(w.start) + w.offset }

func (w *world) answer() answer {
	return answer{clock: w.clock(), run: fmt.Sprint(w.run), total: len(w.lease)}
}

func (w *world) join(p *peer, id string, l *Lease) func() answer {
	return func() answer {
		w.lease[id], w.owner[id] = l, p
		w.expires[id] = w.clock() + 3*time.Second
		return w.answer()
	}
}

func (w *world) beat(id string) func() answer {
	return func() answer {
		a := w.answer()
		if a.ok = w.expires[id] > a.clock; a.ok {
			w.expires[id] = a.clock + 3*time.Second
		} else {
			delete(w.expires, id)
		}
		return a
	}
}

func (w *world) look() answer {
	a := w.answer()
	for id, l := range w.lease {
		w.expires[id] = min(w.expires[id], a.clock+3*time.Second) // it has more to live only when the clock stepped back
		if w.expires[id] <= a.clock {
			delete(w.expires, id) // as Redis does when it is read: a step back does not bring it back
			a.absent = append(a.absent, Absent{ID: id, ByHand: w.byHand[id]})
			if l.Valid() {
				w.traps++
			}
		}
	}
	return a
}

// dead is called with each verdict.
func (w *world) dead(judge *peer, id string) {
	w.locked(func() {
		l := w.lease[id]
		if l == nil {
			return // another one was quicker
		}
		w.verdicts++
		ended := l.Context().Err() != nil
		select {
		case <-l.Begun():
		default:
			ended = true // nobody received the reply to its join
		}
		if l.Valid() {
			w.t.Errorf("%v: host %d called %s dead, who holds for %v more",
				time.Since(w.start), judge.name, id, l.Deadline().Sub(w.owner[id].now()))
		} else if !ended && w.owner[id].awakeFor() > 100*ms {
			w.t.Errorf("%v: the lease of %s was not ended in time", time.Since(w.start), id)
		}
		delete(w.lease, id)
		delete(w.expires, id)
	})
}
