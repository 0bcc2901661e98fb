package main

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// strike kills the worker with the most in its hands and freezes the next one. It returns false
// when nobody has anything in hand, unless all is done, and when one of the two does not serve the
// queue yet: peers have nothing to reclaim of it.
func (d *demo) strike(ctx context.Context) bool {
	if err := d.look(ctx); err != nil {
		return false
	}
	busiest := slices.SortedFunc(slices.Values(d.fleet), func(a, b *process) int {
		return cmp.Compare(len(d.seen.hands[d.life(b)]), len(d.seen.hands[d.life(a)]))
	})
	done, _ := d.books.progress()
	if len(d.seen.hands[d.life(busiest[0])]) == 0 && done < len(d.books.files) {
		return false
	}
	for _, p := range busiest[:2] {
		queues, err := d.mesh.WorkingQueues(ctx, d.life(p))
		if err != nil || !slices.Contains(queues, d.queue) {
			return false
		}
	}
	d.struck = time.Now()
	d.hit(busiest[0], "SIGKILL", (*process).kill)
	d.hit(busiest[1], "SIGSTOP", (*process).freeze)
	if err := d.look(ctx); err != nil {
		d.note("no look: %v", err)
	}
	for _, v := range d.victims {
		d.note("%s for worker %s, pid %d, tasks in its hands: %d", v.blow, short(v.life), v.worker.pid(), len(v.held))
	}
	return true
}

func (d *demo) hit(p *process, blow string, hit func(*process) error) {
	l := d.books.ledger(p.number)
	v := &victim{worker: p, blow: blow, life: l.life, lives: l.lives, at: time.Now()}
	if err := hit(p); err != nil {
		d.note("no %s for worker %s: %v", blow, short(l.life), err)
		return
	}
	d.victims = append(d.victims, v)
}

func (d *demo) life(p *process) string { return d.books.ledger(p.number).life }

// release lets a frozen worker go on when its peers have its work.
func (d *demo) release() {
	for _, v := range d.victims {
		late := time.Since(v.at) > 4*lapse
		if v.worker.fate == frozen && (late || !v.back.IsZero() && time.Since(v.back) > lapse/4) {
			v.thawed = time.Now()
			if err := v.worker.thaw(); err != nil {
				d.note("no SIGCONT for worker %s: %v", short(v.life), err)
				continue
			}
			d.note("SIGCONT for worker %s after %.1f s", short(v.life), v.thawed.Sub(v.at).Seconds())
		}
	}
}

// over reports whether the victims have been struck, their tasks are back, and the frozen one is a
// worker again.
func (d *demo) over() bool {
	if d.struck.IsZero() {
		return false
	}
	if time.Since(d.struck) > storyEnd {
		return true
	}
	for _, v := range d.victims {
		again := v.worker.fate == killed || v.worker.fate == thawed && d.books.ledger(v.worker.number).lives > v.lives
		if v.back.IsZero() || !again {
			return false
		}
	}
	return true
}

// tell takes in news.
func (d *demo) tell(ctx context.Context, n news) {
	p := d.fleet[n.worker]
	switch n.Kind {
	case lapsed:
		d.note("worker %s learns that it has lapsed: it drops what it had in hand and joins anew", short(n.Worker))
	case joined:
		d.note("worker %s has joined, pid %d", short(n.Worker), p.pid())
	case trouble:
		if p.fate != thawed { // whose commands were cut off in the middle
			d.note("trouble in pid %d: %s", p.pid(), n.Note)
		}
	case reclaimed:
		for _, v := range d.victims {
			if v.life == n.Worker && v.back.IsZero() {
				d.returned(ctx, v)
			}
		}
	}
}

// returned is called when a peer has told that what a victim held is back. It looks where: what was
// taken again already is judged at the end.
func (d *demo) returned(ctx context.Context, v *victim) {
	v.back = time.Now()
	d.note("peers have reclaimed what worker %s held, %.1f s after the blow; tasks back at the front: %d", short(v.life), v.back.Sub(v.at).Seconds(), len(v.held))
	waiting, err := d.mesh.Tasks(ctx, d.queue, 0, len(d.books.files))
	if err != nil {
		d.note("no look at the front: %v", err)
	}
	v.behind = d.books.inPlace(v, d.victims, waiting)
}
