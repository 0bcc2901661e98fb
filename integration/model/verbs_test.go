package model

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/worqr/worqr-go/worqr"
)

// letters are tasks that come again and again; all others are new ones.
var letters = []string{"a", "", "\x00\xff\r\n"}

func (f *fleet) enqueue(s step) {
	q, mesh := f.queue(s.a), f.client.mesh
	if hosts := f.running(); len(hosts) > 0 && s.c%3 == 0 {
		mesh = pick(hosts, s.b).mesh
	}
	var tasks []string
	for i := range 1 + s.b%4 {
		if (s.c+i)%3 == 0 {
			tasks = append(tasks, pick(letters, s.a+i))
		} else {
			f.unique++
			tasks = append(tasks, fmt.Sprintf("t%d", f.unique))
		}
	}
	f.did("enqueue %q to %q", tasks, q.name)
	raw := make([][]byte, len(tasks))
	for i, task := range tasks {
		raw[i] = []byte(task)
	}
	ctx, cancel := f.within()
	defer cancel()
	if f.unknown(mesh.Enqueue(ctx, q.name, raw...)) {
		q.enqueue(tasks)
	}
	q.listed = true // it was noted before its tasks were sent
}

// take takes up to three tasks, one by one, where there are some; now and then for a worker that
// does not serve the queue, or from an empty one.
func (f *fleet) take(s step) {
	type place struct {
		h *host
		q *queue
	}
	var all, good []place
	for _, h := range f.running() {
		for _, name := range f.model.names {
			at := place{h, f.model.queues[name]}
			all = append(all, at)
			if h.life.serves[name] && len(at.q.waiting) > 0 {
				good = append(good, at)
			}
		}
	}
	switch {
	case len(all) == 0:
		f.startAnother(s)
	case s.c%16 == 0:
		at := pick(all, s.a)
		f.takeBy(at.h, at.q)
	case len(good) == 0:
		f.enqueue(s)
	default:
		at := pick(good, s.a)
		for range 1 + s.b%3 {
			f.takeBy(at.h, at.q)
		}
	}
}

// takeBy takes for one worker and returns the handle, nil when there was nothing to take.
func (f *fleet) takeBy(h *host, q *queue) *handle {
	f.did("%s takes from %q", h.name, q.name)
	ctx, cancel := f.within()
	defer cancel()
	p, err := h.worker.Take(ctx, q.name)
	if !h.life.serves[q.name] {
		f.expect("take", err, worqr.ErrNotWorking)
		return nil
	}
	should := q.take(h.life)
	if should == nil {
		f.expect("take", err, worqr.ErrEmpty)
		return nil
	}
	f.expect("take", err, nil)
	if string(p.Task()) != should.task || p.Queue() != q.name {
		f.fatalf("took %q of %q, want %q of %q", p.Task(), p.Queue(), should.task, q.name)
	}
	if p.Token() <= q.newest {
		f.fatalf("took under token %d, a former one of the queue is %d", p.Token(), q.newest)
	}
	should.id, should.token, q.newest = p.ID(), p.Token(), p.Token()
	taken := &handle{real: p, model: should, host: h}
	f.handles = append(f.handles, taken)
	return taken
}

// finish finishes a process, now and then by three callers at once.
func (f *fleet) finish(s step) {
	mine := f.mine()
	if len(mine) == 0 {
		f.take(s)
		return
	}
	h := pick(mine, s.a)
	if s.c%6 != 0 {
		f.settle(h, finish)
		return
	}
	f.did("%s finishes %q three times at once", h.host.name, h.model.task)
	ctx, cancel := f.within()
	defer cancel()
	var calls sync.WaitGroup
	var won [3]bool
	var errs [3]error
	for i := range won {
		calls.Go(func() { won[i], errs[i] = h.real.Finish(ctx) })
	}
	calls.Wait()
	h.model.finish()
	f.expect("finish at once", errors.Join(errs[:]...), nil)
	if n := len(slices.DeleteFunc(won[:], func(b bool) bool { return !b })); n != 1 {
		f.fatalf("%d of three calls of Finish answered true", n)
	}
}

func (f *fleet) stop(s step)       { f.putBack(s, front) }
func (f *fleet) stopToBack(s step) { f.putBack(s, back) }

func (f *fleet) putBack(s step, where string) {
	if mine := f.mine(); len(mine) > 0 {
		f.settle(pick(mine, s.a), where)
	} else {
		f.take(s)
	}
}

// settleAgain settles any process that was ever taken, whatever became of it.
func (f *fleet) settleAgain(s step) {
	var known []*handle
	for _, h := range f.handles {
		if !h.host.gone {
			known = append(known, h)
		}
	}
	if len(known) == 0 {
		f.take(s)
		return
	}
	f.settle(known[len(known)-1-s.a%min(len(known), 12)], pick([]string{finish, front, back}, s.b))
}

// settle asks for an outcome and compares the answer.
func (f *fleet) settle(h *handle, outcome string) {
	f.did("%s: %s %q of %q", h.host.name, outcome, h.model.task, h.model.queue.name)
	h.late = h.late || h.model.asked == "" && !h.host.running()
	ctx, cancel := f.within()
	defer cancel()
	if outcome == finish {
		won, err := h.real.Finish(ctx)
		should, fault := h.model.finish()
		f.expect("finish", err, fault)
		if won != should {
			f.fatalf("finish: %v, want %v", won, should)
		}
		if fault != nil {
			f.tally.add("a finish came too late", 1)
		}
		return
	}
	call := h.real.Stop
	if outcome == back {
		call = h.real.StopToBack
	}
	f.expect("stop", call(ctx), h.model.stop(outcome))
	if h.model.result == "dropped" {
		h.unsure = h.unsure || f.losing == lostReply // also when it is settled again
		f.tally.add("a stopped task was dropped", 1)
	}
}

func (f *fleet) cancel(s step) {
	q := f.queue(s.a)
	candidates := append(slices.Clone(q.waiting), "absent", pick(letters, s.c))
	for _, p := range q.inHand {
		candidates = append(candidates, p.task)
	}
	task := pick(candidates, s.b)
	f.did("cancel %q in %q", task, q.name)
	ctx, cancel := f.within()
	defer cancel()
	got, err := f.client.mesh.Cancel(ctx, q.name, []byte(task))
	f.expect("cancel", err, nil)
	waiting, running := q.cancel(task)
	if got.Waiting != waiting && (got.Waiting != 0 || f.losing != lostReply) {
		f.fatalf("cancel of %q: %d waited, want %d", task, got.Waiting, waiting)
	}
	f.sameProcesses("cancel: running", got.Running, running)
}

func (f *fleet) deleteQueue(s step) {
	q := f.queue(s.a)
	f.did("delete %q", q.name)
	ctx, cancel := f.within()
	defer cancel()
	n, err := f.client.mesh.DeleteQueue(ctx, q.name)
	f.expect("delete", err, nil)
	if should := f.model.delete(q); n != should && (n != 0 || f.losing != lostReply) {
		f.fatalf("delete of %q: %d waited, want %d", q.name, n, should)
	}
}

func (f *fleet) startWork(s step) {
	hosts := f.running()
	if len(hosts) == 0 {
		f.startAnother(s)
		return
	}
	h, q := pick(hosts, s.a), f.queue(s.b)
	f.did("%s starts work on %q", h.name, q.name)
	ctx, cancel := f.within()
	defer cancel()
	f.expect("start work", h.worker.StartWork(ctx, q.name), nil)
	f.model.startWork(h.life, q)
}

func (f *fleet) stopWork(s step) {
	hosts := f.running()
	if len(hosts) == 0 {
		f.startAnother(s)
		return
	}
	h, q := pick(hosts, s.a), f.queue(s.b)
	f.did("%s stops work on %q", h.name, q.name)
	ctx, cancel := f.within()
	defer cancel()
	err := h.worker.StopWork(ctx, q.name)
	if !h.life.serves[q.name] {
		f.expect("stop work", err, worqr.ErrNotWorking)
		return
	}
	f.expect("stop work", err, nil)
	f.model.stopWork(h.life, q)
}

// startAnother starts a further worker; four run at most.
func (f *fleet) startAnother(s step) {
	if len(f.running()) >= 4 {
		f.startWork(s)
		return
	}
	h := f.start()
	f.hosts = append(f.hosts, h)
	f.did("%s starts", h.name)
	if s.a%4 != 0 { // most serve a queue from the start
		q := f.queue(s.a)
		ctx, cancel := f.within()
		defer cancel()
		f.did("%s starts work on %q", h.name, q.name)
		f.expect("start work", h.worker.StartWork(ctx, q.name), nil)
		f.model.startWork(h.life, q)
	}
	f.resolve()
}

// failOwn ends a worker that hands back what it holds.
func (f *fleet) failOwn(s step) {
	hosts := f.running()
	if len(hosts) == 0 {
		f.startAnother(s)
		return
	}
	f.end(pick(hosts, s.a))
}

func (f *fleet) end(h *host) {
	f.did("%s fails itself", h.name)
	ctx, cancel := f.within()
	defer cancel()
	f.expect("fail", h.worker.Fail(ctx), nil)
	f.model.leave(h.life)
	delete(f.lives, h.life)
	h.life = nil
}

// expect compares an error.
func (f *fleet) expect(what string, got, want error) {
	if !same(got, want) {
		f.fatalf("%s: %v, want %v", what, got, want)
	}
}
