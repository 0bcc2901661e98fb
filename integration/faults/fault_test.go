//go:build linux

package faults

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/worqr/worqr-go/internal/redistest"
)

// kind is a kind of fault. Its function brings the fault upon the mesh. It returns what it did, and
// a function that ends the fault: nil if it ends by itself, or never. It returns "" when there is
// no worker to strike.
type kind struct {
	name   string
	weight int
	strike func(f *fleet, lasts time.Duration) (what string, heal func())
}

var kinds = []kind{
	{"kill", 6, kill},
	{"freeze", 6, freeze},
	{"flap", 3, flap},
	{"point", 8, point},
	{"cut", 5, cut},
	{"refuse", 2, refuse},
	{"silence", 6, silence},
	{"mute", 4, mute},
	{"keep", 3, keep},
	{"double", 2, double},
	{"tear", 3, tear},
	{"slow", 2, slow},
	{"pause", 3, pause},
	{"hold up", 2, holdUp},
	{"restart", 2, restart},
	{"worker clock", 3, workerClock},
	{"server clock", 2, serverClock},
	{"server back", 2, serverBack},
	{"demote", 4, demote},
	{"add", 3, add},
	{"stop", 5, stop},
	{"drain", 2, drain},
	{"reopen", 3, reopen},
	{"break", 3, breakFeed},
	{"change", 4, change},
	{"again", 3, again},
	{"fail", 2, failByHand},
}

// chosen returns the kinds that WORQR_FAULT_KINDS leaves.
func chosen() []kind {
	names := os.Getenv("WORQR_FAULT_KINDS")
	if names == "" {
		return kinds
	}
	without := strings.HasPrefix(names, "-")
	var list []kind
	if without {
		list = slices.Clone(kinds)
	}
	for name := range strings.SplitSeq(names, ",") {
		name, not := strings.CutPrefix(name, "-")
		i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })
		switch {
		case i < 0:
			panic("WORQR_FAULT_KINDS: there is no kind " + name)
		case not != without:
			panic("WORQR_FAULT_KINDS: a minus stands before all names or before none")
		case without:
			list = slices.DeleteFunc(list, func(k kind) bool { return k.name == name })
		default:
			list = append(list, kinds[i])
		}
	}
	return list
}

func kill(f *fleet, _ time.Duration) (string, func()) {
	w := f.some(alive)
	if w == nil {
		return "", nil
	}
	w.Kill(f)
	f.bury(w)
	again := func() { f.spawn() }
	if f.random.IntN(3) == 0 {
		again = nil
	}
	return "kill " + w.name, again
}

func freeze(f *fleet, _ time.Duration) (string, func()) {
	w := f.some(func(w *worker) bool { return active(w) && !w.doomed }) // it is not about to end
	if w == nil {
		return "", nil
	}
	w.Freeze(f)
	w.frozen = true
	return "freeze " + w.name, func() { f.thaw(w) }
}

// flap makes a worker stand still for longer than its lapse, run for less, and so on, like a worker
// on a host that swaps.
func flap(f *fleet, _ time.Duration) (string, func()) {
	able := func(w *worker) bool { return active(w) && !w.doomed }
	w, times := f.some(able), 2+f.random.IntN(3)
	if w == nil {
		return "", nil
	}
	var stand func(left int)
	stand = func(left int) {
		if !able(w) {
			return
		}
		w.Freeze(f)
		w.frozen = true
		f.later(stamp()+f.timing.Lapse*11/10, func() {
			f.thaw(w)
			if left > 1 {
				f.later(stamp()+f.timing.Lapse*4/10, func() { stand(left - 1) })
			}
		})
	}
	stand(times)
	return fmt.Sprintf("%s stands still %d times", w.name, times), nil
}

// thaw lets a worker continue, if it stands still.
func (f *fleet) thaw(w *worker) {
	if alive(w) && standsStill(w.Pid()) { // so it does not end meanwhile, and the id is its own; it may stop again at once
		if err := syscall.Kill(w.Pid(), syscall.SIGCONT); err != nil {
			f.Fatal(err)
		}
	}
	w.frozen = false
}

// standsStill reports whether a process is stopped. A process that has ended is not.
func standsStill(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, ok := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " ")
	return err == nil && ok && strings.HasPrefix(state, "T")
}

// point makes a worker freeze or die at a certain place, if it gets there in this run.
func point(f *fleet, _ time.Duration) (string, func()) {
	w := f.some(active)
	if w == nil {
		return "", nil
	}
	place, what := places[f.random.IntN(len(places))], "freeze"
	if f.random.IntN(3) == 0 {
		what, w.doomed = "die", true
	}
	f.order(w, fmt.Sprintf("at %s %s", place, what))
	return fmt.Sprintf("%s is to %s at %s", w.name, what, place), func() { f.thaw(w) }
}

func cut(f *fleet, _ time.Duration) (string, func()) {
	w := f.some(alive)
	if w == nil {
		return "", nil
	}
	d := []redistest.Direction{redistest.ToServer, redistest.ToClient, redistest.Both}[f.random.IntN(3)]
	w.way.Freeze(d)
	return fmt.Sprintf("cut %s from Redis, %s", w.name, []string{"", "its commands", "its replies", "both"}[d]), w.way.Thaw
}

func refuse(f *fleet, _ time.Duration) (string, func()) {
	w := f.some(alive)
	if w == nil {
		return "", nil
	}
	w.way.Refuse(true)
	return "refuse connections of " + w.name, func() { w.way.Refuse(false) }
}

// trouble makes trouble for one class of connections of a worker.
func (f *fleet) trouble(what string, of class, tr trouble) (string, func()) {
	w := f.some(alive)
	if w == nil {
		return "", nil
	}
	if tr.share == 0 {
		tr.share = 1
	}
	w.way.set(of, tr)
	return fmt.Sprintf("%s %s of %s", what, of, w.name), func() { w.way.unset(of) }
}

func (f *fleet) class() class { return []class{beats, beats, data, data, notes}[f.random.IntN(5)] }

// silence makes commands wait; they go on afterwards.
func silence(f *fleet, _ time.Duration) (string, func()) {
	return f.trouble("commands wait: ", f.class(), trouble{gate: make(chan struct{})})
}

// mute lets commands run without a reply; the connection stays so for ever.
func mute(f *fleet, _ time.Duration) (string, func()) {
	return f.trouble("no replies: ", f.class(), trouble{action: redistest.DropReply})
}

// keep makes commands stay in the buffers of a dead connection, to come late, if ever.
func keep(f *fleet, _ time.Duration) (string, func()) {
	what, heal := f.trouble("commands come late: ", f.class(), trouble{action: redistest.Hold})
	f.releaseLater()
	return what, heal
}

// double makes commands come again, much later.
func double(f *fleet, _ time.Duration) (string, func()) {
	what, heal := f.trouble("commands come twice: ", data, trouble{action: redistest.Duplicate, share: 0.3})
	f.releaseLater()
	return what, heal
}

// releaseLater releases what was kept at some time.
func (f *fleet) releaseLater() {
	f.later(stamp()+f.upTo(4*f.timing.Lapse), func() {
		for _, w := range f.ways {
			if !f.paused && w.Kept() > 0 {
				f.note("release of %d late commands", w.Release(f))
			}
		}
	})
}

// tear makes connections end before or after some commands.
func tear(f *fleet, _ time.Duration) (string, func()) {
	action := []redistest.Action{redistest.CutBefore, redistest.CutAfter}[f.random.IntN(2)]
	return f.trouble("connections tear: ", []class{beats, data}[f.random.IntN(2)], trouble{action: action, share: 0.2})
}

func slow(f *fleet, _ time.Duration) (string, func()) {
	w := f.some(alive)
	if w == nil {
		return "", nil
	}
	most := f.timing.Lapse/20 + f.upTo(f.timing.Lapse/2)
	w.way.slow(most)
	return fmt.Sprintf("delay %s by up to %v", w.name, most), func() { w.way.Latency(nil) }
}
