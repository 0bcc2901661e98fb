package presence

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// world is a holder, a judge, and the server between them, in simulated time that advances a
// millisecond at a time. The holder decides by a tenure and the judge by a Watch; the rest is what
// doc.go assumes of the others. It shows two facts. Two do not hold at once as long as the FIN's
// way, the timer and the handlers' return stay within the margin. Where the FIN gets lost, the
// holder's own next subscription ends the overlap.
type world struct {
	dice   *rand.Rand
	now    time.Duration
	agenda []event
	err    error

	// The server.
	conn int           // whose subscription it counts; 0: nobody's
	shut map[int]bool  // which it has ended
	ends time.Duration // of the heartbeat
	down time.Duration // it refuses to be dialled until then
	took time.Duration // when the present hold was taken over; 0: it was not

	// The holder.
	pause, woke time.Duration // it stands still until then; when it last woke
	dead        bool
	dialled     int
	have        int                   // the connection that it has; 0: none that counts
	up          int                   // the one that Up rests on
	fin         map[int]time.Duration // when the server's FIN is here
	lossy       bool                  // it may take too long
	tenure      tenure
	next        time.Duration // look
	hold        int           // number of the present hold
	holding     bool
	ending      time.Duration // when its handlers return; 0: they were not ordered to
	returns     time.Duration // how long they take

	// The judge.
	watch       *Watch
	start       time.Time
	late        bool // now and then it stands still, and a rescue takes its time
	taken, back int
}

type event struct {
	at     time.Duration
	holder bool // waits while the holder stands still
	do     func()
}

func (w *world) upTo(most int) time.Duration { return time.Duration(1+w.dice.IntN(most)) * ms }

// later runs an event after a random number of milliseconds, up to a maximum.
func (w *world) later(most int, do func()) {
	w.agenda = append(w.agenda, event{w.now + w.upTo(most), false, do})
}

func (w *world) holderLater(d time.Duration, do func()) {
	w.agenda = append(w.agenda, event{w.now + d, true, do})
}

func (w *world) awake() bool { return !w.dead && w.now >= w.pause }

func (w *world) established(conn int) bool {
	fin, ended := w.fin[conn]
	return conn > 0 && !(ended && w.now >= fin)
}

// close ends the connection that the server counts.
func (w *world) close() {
	if conn := w.conn; conn > 0 {
		w.conn = 0
		w.shut[conn] = true
		w.fin[conn] = w.now + w.upTo(40)
		if w.lossy && w.dice.IntN(2) == 0 {
			w.fin[conn] += w.upTo(1500)
		}
		w.holderLater(w.fin[conn]-w.now+w.upTo(3), w.look) // the reader sees it
	}
}

func (w *world) beat() { w.later(10, func() { w.ends = w.now + 3*time.Second }) }

// dial subscribes, lets Check beat and ask for a takeover, and counts once Check has its reply.
func (w *world) dial() {
	w.dialled++
	conn := w.dialled
	again := func() { w.holderLater(w.upTo(40), w.dial) }
	w.later(20, func() {
		if w.now < w.down {
			w.holderLater(ms, again)
			return
		}
		w.conn = conn
		w.holderLater(w.upTo(10), func() {
			w.later(10, func() { // a beat, and a look
				w.ends = w.now + 3*time.Second
				fenced := w.took > 0
				w.holderLater(w.upTo(10), func() {
					if fenced {
						w.stop()
					}
					w.later(10, func() { // a ping
						if w.conn != conn {
							w.holderLater(ms, again)
							return
						}
						w.holderLater(w.upTo(10), func() { w.have = conn; w.look() })
					})
				})
			})
		})
	})
}

func (w *world) look() {
	good, stands := w.tenure.good, false
	if w.have > 0 {
		if stands = w.established(w.have); stands {
			good = w.now
		} else {
			w.have = 0
			w.dial()
		}
	}
	switch w.tenure.look(w.now, good, stands) {
	case isBack:
		w.up = w.have
		w.back++
		if !w.holding {
			w.hold, w.holding, w.took, w.ending = w.hold+1, true, 0, 0
		}
	case isAway:
		w.up = 0
	case isLost:
		w.up = 0
		w.stop()
	}
	w.next = w.now + HolderGrace/4
	if left, away := w.tenure.left(w.now); away {
		w.next = min(w.next, w.now+left)
	}
}

// stop orders the handlers to return.
func (w *world) stop() {
	w.up = 0
	if w.holding && w.ending == 0 {
		w.ending = w.now + w.returns
		w.holderLater(w.returns, func() {
			w.holding, w.ending = false, 0
			w.tenure = tenure{grace: HolderGrace} // Reset
			w.look()
		})
	}
}

// judge looks, and schedules the next look.
func (w *world) judge() {
	sent := w.now
	w.later(10, func() {
		rows := []Row{{ID: "self", Subscribers: 1}, {ID: "b", Subscribers: 1}, {ID: "holder", Ends: w.ends.Microseconds() + int64(w.dice.IntN(2000))}}
		if w.conn > 0 {
			rows[2].Subscribers = 1
		}
		w.later(10, func() {
			f := w.watch.Look(w.start.Add(sent), w.start.Add(w.now), rows)
			for _, s := range f.Dead {
				hold, most := w.hold, 10
				if w.late && w.dice.IntN(4) == 0 {
					most = 3000
				}
				w.later(most, func() { w.rescue(hold, s) })
			}
			next := int(f.Next/ms) + 1
			if w.late && w.dice.IntN(20) == 0 {
				next += w.dice.IntN(600)
			}
			w.agenda = append(w.agenda, event{w.now + time.Duration(next)*ms, false, w.judge})
		})
	})
}

// rescue does what the script does.
func (w *world) rescue(hold int, s Suspect) {
	moved := (w.ends - time.Duration(s.Ends)*time.Microsecond).Abs() > beatStep
	if hold != w.hold || w.took > 0 || w.conn > 0 || moved {
		return
	}
	w.took = w.now
	w.taken++
	w.later(10, func() { w.watch.Taken("holder") })
}

func (w *world) tick() {
	w.now += ms
	woke := w.pause == w.now
	if woke {
		w.woke = w.now
	}
	// Up is called in the first statement, before anything else has run. A hold that was ordered to
	// end is not valid in any case.
	if w.awake() && w.took > 0 && w.ending == 0 {
		if w.established(w.up) && !(w.lossy && w.shut[w.up]) {
			w.err = fmt.Errorf("at %v Up is true, taken over at %v", w.now, w.took)
		}
	}
	if w.awake() && w.took > 0 {
		if w.holding && !w.lossy && w.now > w.woke+w.returns+4*ms { // what the handlers do before they return is theirs: they can ask Up
			w.err = fmt.Errorf("at %v the handlers still run, taken over at %v (last woken at %v)", w.now, w.took, w.woke)
		}
	}
	due := w.agenda
	w.agenda = nil
	for _, e := range due {
		switch {
		case e.holder && w.dead:
		case e.at > w.now || e.holder && !w.awake():
			w.agenda = append(w.agenda, e)
		default:
			e.do()
		}
	}
	if w.awake() && w.now >= w.next {
		w.look()
	}
}

func TestTwoDoNotHoldAtOnce(t *testing.T) {
	s := seed(t)
	taken, back, slowest := 0, 0, time.Duration(0)
	for round := range uint64(300) {
		watch, err := NewWatch(WatchConfig{Self: "self"})
		if err != nil {
			t.Fatal(err)
		}
		dice := rand.New(rand.NewPCG(s, round))
		w := &world{dice: dice, now: time.Second, fin: map[int]time.Duration{}, shut: map[int]bool{}, watch: watch, start: time.Now(), late: true, lossy: round%3 == 2}
		w.tenure, w.returns, w.ends = tenure{grace: HolderGrace}, w.upTo(40), 3*time.Second
		w.dial()
		w.judge()
		closes, pauses, downs := 100+dice.IntN(2000), 300+dice.IntN(3000), 300+dice.IntN(3000)
		for w.now < 20*time.Second && w.err == nil {
			if w.now%time.Second == 0 && w.awake() {
				w.beat()
			}
			if dice.IntN(closes) == 0 {
				w.close()
			}
			if dice.IntN(downs) == 0 {
				w.down = w.now + w.upTo(600)
			}
			if dice.IntN(pauses) == 0 && w.awake() && round%2 == 0 {
				w.pause = w.now + w.upTo(1500)
			}
			w.tick()
		}
		// Now it is killed for good, and nothing is late any more.
		for w.late = false; w.err == nil && !(w.holding && w.established(w.up) && w.conn > 0); {
			w.down = 0
			w.tick()
		}
		for calm := w.now + time.Second; w.err == nil && w.now < calm; {
			w.tick()
		}
		if w.err == nil {
			w.dead = true
			killed := w.now
			for w.close(); w.err == nil && w.took == 0; w.tick() {
				if w.now > killed+time.Second {
					w.err = fmt.Errorf("killed at %v and nobody takes over", killed)
				}
			}
			slowest = max(slowest, w.took-killed)
		}
		if w.err != nil {
			t.Fatalf("round %d: %v", round, w.err)
		}
		taken, back = taken+w.taken, back+w.back
	}
	fmt.Printf("%s: taken over %d times, back %d times, the slowest takeover of a killed one %v\n", t.Name(), taken, back, slowest)
	if taken < 600 || back < 3000 {
		t.Error("too few: this tests nothing")
	}
}
