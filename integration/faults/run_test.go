//go:build linux

package faults

import (
	"fmt"
	"slices"
	"time"
)

// soonEvent is something that is to happen.
type soonEvent struct {
	at time.Duration
	do func()
}

// later schedules something for that time, in this run.
func (f *fleet) later(at time.Duration, do func()) {
	f.soons = append(f.soons, soonEvent{at, do})
}

func (f *fleet) upTo(d time.Duration) time.Duration {
	return time.Duration(f.random.Int64N(int64(d) + 1))
}

// suffer brings one to four faults upon the mesh, each at a time and for a time of its own, and
// heals it.
func (f *fleet) suffer() {
	f.run++
	f.began, f.past, f.soons = stamp(), nil, nil
	if f.random.IntN(2) == 0 { // let nobody stay in doubt: then a takeover is quick
		f.later(f.began+f.timing.Lapse*3/2, func() {})
		f.pass()
	}
	of := chosen()
	for range 1 + f.random.IntN(4) {
		k := pick(f, of)
		lasts := f.timing.Lapse/10 + f.upTo(f.timing.Lapse*6/10) // shorter than the lapse
		if f.random.IntN(2) == 0 {
			lasts += f.timing.Lapse + f.upTo(f.timing.Lapse*time.Duration(1+2*f.random.IntN(2)))
		}
		f.later(stamp()+f.upTo(f.timing.Lapse*3/2), func() {
			what, heal := k.strike(f, lasts)
			if what == "" {
				return
			}
			f.struck[k.name]++
			f.note("%s: %s, for %v", k.name, what, lasts.Round(time.Millisecond))
			if heal != nil {
				f.later(stamp()+lasts, func() {
					heal()
					f.note("end: %s", what)
				})
			}
		})
	}
	f.pass()
	f.heal()
}

// pass waits until all that is scheduled has happened.
func (f *fleet) pass() {
	for len(f.soons) > 0 {
		next := 0
		for i, e := range f.soons {
			if e.at < f.soons[next].at {
				next = i
			}
		}
		e := f.soons[next]
		f.soons = slices.Delete(f.soons, next, next+1)
		if d := e.at - stamp(); d > 0 {
			<-time.After(d)
		}
		e.do()
	}
}

// pick draws a kind by its weight.
func pick(f *fleet, of []kind) kind {
	sum := 0
	for _, k := range of {
		sum += k.weight
	}
	at := f.random.IntN(sum)
	for _, k := range of {
		if at -= k.weight; at < 0 {
			return k
		}
	}
	panic("not reached")
}

// heal ends all faults. Mute connections stay mute until their users find out.
func (f *fleet) heal() {
	f.Helper()
	for _, w := range f.ways {
		w.heal()
	}
	f.resume()
	for _, w := range slices.Clone(f.workers) {
		f.thaw(w)
	}
	f.buryEnded()
	for f.staying() < leastWorkers {
		if f.spawn() == nil {
			f.await("a worker that was stopped has ended", func() bool { return f.buryEnded() > 0 })
		}
	}
	for _, w := range f.ways {
		if w.Kept() > 0 && f.random.IntN(2) == 0 {
			f.note("release of %d late commands", w.Release(f))
		}
	}
	for _, w := range f.workers {
		if active(w) {
			f.order(w, fmt.Sprintf("over %d", f.run))
		}
	}
	f.over = f.run
	f.note("healed")
}

// staying counts the workers that were not ordered to end.
func (f *fleet) staying() int {
	n := 0
	for _, w := range f.workers {
		if !w.leaving && !w.ended() {
			n++
		}
	}
	return n
}

// buryEnded removes the workers that have ended, and returns how many. They were ordered to end, or
// something is wrong.
func (f *fleet) buryEnded() int {
	f.Helper()
	n := 0
	for _, w := range slices.Clone(f.workers) {
		if !w.ended() {
			continue
		}
		if code := w.Wait(f, soon); (!w.leaving || code != 0) && !w.doomed {
			f.fail("%s has ended with code %d; it was ordered to: %t", w.name, code, w.leaving)
		}
		f.bury(w)
		n++
	}
	return n
}
