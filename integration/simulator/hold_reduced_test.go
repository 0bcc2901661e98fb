package simulator

import (
	"strconv"
	"testing"

	"github.com/worqr/worqr-go/internal/redistest"
)

// reduced are the smallest schedules of what random ones have found. Each step is judged as theirs
// are.
var reduced = []struct {
	name string
	play func(w *world, do func(script string, args ...string) reply)
}{
	{"the holder of an offered task leaves: it waits once", func(w *world, do func(string, ...string) reply) {
		do("offer", "a.1", "1", w.token("a.1.1"))
		do("reclaim", "a.1", "8", "drain", "0")
	}},
	{"the handler of an offered task returns: it is delayed only", func(w *world, do func(string, ...string) reply) {
		do("offer", "a.1", "1", w.token("a.1.1"))
		w.settleNow("a.1.1", "later")
	}},
	{"an offered task is finished: it does not wait any more", func(w *world, do func(string, ...string) reply) {
		do("offer", "a.1", "1", w.token("a.1.1"))
		w.settleNow("a.1.1", "finish")
	}},
	{"a task is canceled before it is offered: nobody else gets it", func(w *world, do func(string, ...string) reply) {
		do("cancel", "t", do("newest").words[0])
		do("offer", "a.1", "1", w.token("a.1.1"))
	}},
	{"its queue is deleted before a task is offered: nobody else gets it", func(w *world, do func(string, ...string) reply) {
		do("delete", do("newest").words[0])
		do("offer", "a.1", "1", w.token("a.1.1"))
	}},
	{"a task was finished where it went: the holder before hears of it", func(w *world, do func(string, ...string) reply) {
		do("offer", "a.1", "1", w.token("a.1.1"))
		do("open", "b.1", do("newest").words[0], "1", "0", "9", "0")
		do("hold_take", "b.1", "1", "1")
		w.settleNow("b.1.1", "finish")
		do("offer", "a.1", "1", w.token("a.1.1"))
	}},
	{"a task is added again while it ends: takes go on", func(w *world, do func(string, ...string) reply) {
		do("cancel", "t", do("newest").words[0])
		do("add", "", "t")
		do("hold_take", "a.1", "2", "1")
		w.settleNow("a.1.1", "cancel")
		do("hold_take", "a.1", "3", "1")
	}},
}

func TestReducedSchedules(t *testing.T) {
	both := map[string]*server{"Redis": onRedis(t, redistest.Own(t)), "embedded": onEmbedded(t)}
	for _, schedule := range reduced {
		for on, s := range both {
			t.Run(schedule.name+"/"+on, func(t *testing.T) {
				w := newWorld(s, 0, true)
				if err := s.reset(); err != nil {
					t.Fatal(err)
				}
				defer func() {
					if v, is := recover().(violation); is {
						t.Errorf("%v\n%s", v.error, w.history())
					}
				}()
				do := func(script string, args ...string) reply {
					return w.execute(&command{script: script, queue: "q", args: args}, "")
				}
				w.execute(&command{script: "note", args: []string{"q"}}, "")
				do("open", "a.1", "0", "1", "0", "1", "0")
				do("add", "", "t")
				if r := do("hold_take", "a.1", "1", "1"); len(r.words) < 5 {
					w.fail("it took nothing")
				}
				schedule.play(w, do)
			})
		}
	}
}

// token is that of a process in hand.
func (w *world) token(process string) string {
	return strconv.FormatInt(w.state.queues["q"].tokenOf(process), 10)
}

// settleNow settles one process.
func (w *world) settleNow(p, outcome string) {
	q := w.state.queues["q"]
	meant := settling{[]process{{p, q.tokenOf(p), q.task(p)}}, []string{outcome}}
	w.execute(&command{script: "hold_settle", queue: "q", args: []string{membershipOf(p), meant.packed()}, about: meant}, "")
}
