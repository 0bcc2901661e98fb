package integration

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
)

// scenario 98: accepted = waiting + in hand + finished + canceled + deleted, at every snapshot,
// and task by task: none is in two places, and none is nowhere but those that were canceled or
// deleted. A snapshot is one script.
func TestEveryTaskIsAccountedFor(t *testing.T) {
	t.Parallel()
	f := newField(t)
	b := &books{field: f, ledger: f.listen(t), r: seeded(t), canceled: map[string]bool{}, mayDrop: map[string]bool{}, ended: map[string]int64{}}
	working := setup{Queue: queue, Limit: 3, Do: "nap", Nap: 15 * time.Millisecond}
	var daemons, all []*daemon
	for range 4 {
		daemons = append(daemons, f.daemon(t, working))
	}
	all = append(all, daemons...)
	replace := func(i int) {
		daemons[i].Kill(t)
		daemons[i] = f.daemon(t, working)
		all = append(all, daemons[i])
	}
	var frozen *daemon
	for step := range 250 {
		if step == 40 || step == 80 { // not later: a delete covers all cancels before it
			b.delete(t)
		}
		switch b.r.IntN(20) {
		case 0, 1, 2, 3, 4, 5, 6, 7, 8:
			batch := named("t", len(b.accepted)+1+b.r.IntN(20))[len(b.accepted):]
			f.enqueue(t, batch...)
			b.accepted = append(b.accepted, batch...)
		case 9, 10, 11, 12, 13:
			b.cancel(t)
		case 14, 15:
			if i := b.r.IntN(len(daemons)); step%3 == 0 && daemons[i] != frozen {
				replace(i)
			}
		case 16:
			if frozen != nil {
				frozen.Thaw(t)
				frozen = nil
			} else if step%2 == 0 {
				frozen = daemons[b.r.IntN(len(daemons))]
				frozen.Freeze(t)
				for range 3 { // some of what it holds: it does not hear of it
					b.last = b.snapshot(t)
					b.cancel(t)
				}
			}
		case 17: // with what it holds, canceled tasks too
			if frozen != nil {
				replace(slices.Index(daemons, frozen))
				frozen = nil
			}
		default:
			pass(time.Duration(b.r.IntN(int(60 * time.Millisecond))))
		}
		b.last = b.snapshot(t)
		b.check(t, b.last)
		if t.Failed() {
			t.FailNow()
		}
	}
	if frozen != nil {
		frozen.Thaw(t)
	}
	f.awaitWaiting(t)
	for _, d := range daemons {
		d.joined(t, 1)
	}
	f.awaitRegistered(t, len(daemons))
	for _, d := range daemons {
		d.end(t)
	}
	end := b.snapshot(t)
	b.check(t, end)
	if len(end.waiting)+len(end.inHand) > 0 {
		t.Errorf("left: %v, %v", end.waiting, end.inHand)
	}
	f.awaitClean(t)
	b.review(t, all)
	t.Logf("accepted %d = finished %d + canceled and deleted %d", len(b.accepted), len(end.finished), len(b.accepted)-len(end.finished))
}

// books are kept by the one client that enqueues, cancels and deletes.
type books struct {
	*field
	*ledger
	r        *rand.Rand
	accepted []string
	canceled map[string]bool
	deleted  int // of accepted: so many were there at the last delete
	removed  int // waiting ones that cancels and deletes have removed, by their results
	last     snapshot
	ended    map[string]int64 // no token above this may ever be drawn for it
	mayDrop  map[string]bool  // in hand when they were canceled, or their queue deleted: dropped if they ever come back
}

func (b *books) cancel(t *testing.T) {
	t.Helper()
	if len(b.accepted) == 0 {
		return
	}
	task := b.accepted[max(0, len(b.accepted)-1-b.r.IntN(80))]
	if n := len(b.last.inHand); n > 0 && b.r.IntN(2) == 0 {
		task = b.last.inHand[b.r.IntN(n)]
	}
	answer, err := b.mesh.Cancel(t.Context(), queue, []byte(task))
	if err != nil {
		t.Fatal(err)
	}
	if b.canceled[task] && answer.Waiting > 0 {
		t.Errorf("%s was canceled twice and waited twice", task)
	}
	b.canceled[task] = true
	b.end(t, task)
	b.removed += answer.Waiting
	if answer.Waiting == 0 {
		b.mayDrop[task] = true
	}
}

func (b *books) delete(t *testing.T) {
	t.Helper()
	before := b.snapshot(t)
	n, err := b.mesh.DeleteQueue(t.Context(), queue)
	if err != nil {
		t.Fatal(err)
	}
	after := b.snapshot(t)
	b.deleted = len(b.accepted)
	b.end(t, b.accepted...)
	b.removed += n
	for _, task := range append(before.inHand, after.inHand...) {
		b.mayDrop[task] = true
	}
	if len(after.waiting) > 0 {
		t.Errorf("waiting after the delete: %v", after.waiting)
	}
}

// end records that these tasks were canceled, or deleted, before the next token is drawn.
func (b *books) end(t *testing.T, tasks ...string) {
	t.Helper()
	token, err := redis.Int64(b.field.conn.Do("GET", b.key("token")))
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		if b.ended[task] == 0 {
			b.ended[task] = token
		}
	}
}

// review checks what ran: nothing that was canceled or deleted was ever taken again.
func (b *books) review(t *testing.T, daemons []*daemon) {
	t.Helper()
	for _, d := range daemons {
		for _, run := range d.deliveries(t) {
			if end := b.ended[run.task]; end != 0 && run.token > end {
				t.Errorf("%s was taken with token %d, and had been canceled or deleted by %d", run.task, run.token, end)
			}
		}
	}
}

func (b *books) check(t *testing.T, s snapshot) {
	t.Helper()
	places := map[string]string{}
	put := func(task, place string) {
		if other := places[task]; other != "" {
			t.Errorf("%s is %s and %s", task, other, place)
		}
		places[task] = place
	}
	for _, task := range s.waiting {
		put(task, "waiting")
	}
	for _, task := range s.inHand {
		put(task, "in hand")
	}
	for task, n := range s.finished {
		put(task, "finished")
		if n > 1 {
			t.Errorf("%s was finished %d times", task, n)
		}
	}
	nowhere := 0
	for i, task := range b.accepted {
		if places[task] == "" {
			if nowhere++; !b.canceled[task] && i >= b.deleted {
				t.Errorf("%s is lost", task)
			}
		}
		delete(places, task)
	}
	if len(places) > 0 {
		t.Errorf("never accepted: %v", places)
	}
	if nowhere < b.removed || nowhere > b.removed+len(b.mayDrop) {
		t.Errorf("%d tasks are canceled or deleted; the answers said %d waited, and %d were in hand", nowhere, b.removed, len(b.mayDrop))
	}
}
