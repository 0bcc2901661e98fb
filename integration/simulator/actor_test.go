package simulator

import (
	"iter"
	"slices"
)

// actor is a coroutine that sends commands. Between two of them the schedule may run others, or let
// it die.
type actor struct {
	w       *world
	name    string
	over    func() bool // its part has ended: what it was about to send may still go out, and then it gives up
	sending *command    // what it sends next

	yield func(struct{}) bool
	next  func() (struct{}, bool)
	stop  func()
}

// What ends an actor's code from inside a call.
type (
	died  struct{} // the schedule has stopped it
	ended struct{} // over said so
)

// spawn adds an actor that runs fn.
func (w *world) spawn(name string, fn func(a *actor)) *actor {
	a := &actor{w: w, name: name}
	a.next, a.stop = iter.Pull(func(yield func(struct{}) bool) {
		defer func() {
			if r := recover(); r != nil {
				if _, dead := r.(died); !dead {
					panic(r)
				}
			}
		}()
		a.yield = yield
		fn(a)
	})
	w.actors = append(w.actors, a)
	return a
}

// resume lets an actor go on to its next command. One that has ended goes.
func (w *world) resume(a *actor) {
	if _, more := a.next(); !more {
		w.remove(a)
	}
}

// kill ends an actor. What it was sending may be on the way already.
func (w *world) kill(a *actor) {
	if c := a.sending; c != nil && w.chance(0.5) {
		w.bag = append(w.bag, c)
	}
	a.stop()
	w.remove(a)
}

func (w *world) remove(a *actor) {
	w.actors = slices.DeleteFunc(w.actors, func(o *actor) bool { return o == a })
}

// pause hands over to the schedule.
func (a *actor) pause() {
	if !a.yield(struct{}{}) {
		panic(died{})
	}
}

// untilEnded runs fn until it returns or the actor's part is over. It answers which.
func untilEnded(fn func()) (over bool) {
	defer func() {
		if r := recover(); r != nil {
			if _, is := r.(ended); !is {
				panic(r)
			}
			over = true
		}
	}()
	fn()
	return false
}

// call sends a command as the library does: again when no answer came, up to three times or until
// it gives up. known is false when no answer came at all; repeated tells that a copy before the one
// that was answered may have run.
func (a *actor) call(script, queue string, about any, args ...string) (r reply, repeated, known bool) {
	w := a.w
	c := &command{script: script, queue: queue, args: args, by: a.name, number: len(w.log), about: about}
	for range 3 {
		a.sending = c
		a.pause()
		a.sending = nil
		if a.over != nil && a.over() {
			if w.chance(0.5) {
				w.bag = append(w.bag, c)
			}
			panic(ended{})
		}
		switch x := w.rng.Float64(); {
		case x < w.odds.late:
			w.bag = append(w.bag, c)
			w.note("%s is on the way", c)
			repeated = true
		case x < w.odds.late+w.odds.lost:
			w.execute(c, "unheard")
			repeated = true
		case x < w.odds.late+w.odds.lost+w.odds.refused:
			// no connection: it was not sent
		default:
			r = w.execute(c, "")
			if script != "enqueue" && w.chance(w.odds.twice) {
				w.bag = append(w.bag, c)
			}
			return r, repeated, true
		}
		if script == "enqueue" && repeated || w.chance(0.25) {
			break
		}
	}
	return reply{}, repeated, false
}

// read sends a plain command that changes nothing.
func (a *actor) read(args ...string) (list []string, known bool) {
	r, _, known := a.call("", "", nil, args...)
	slices.Sort(r.words)
	return r.words, known
}
