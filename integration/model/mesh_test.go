package model

import (
	"slices"
	"time"

	"github.com/worqr/worqr-go/worqr"
)

// mesh is the plain model: what the mesh is to be after each verb, without Redis, goroutines or
// concurrency. Its verbs change it and answer what the real ones have to answer.
type mesh struct {
	names  []string // of all queues that a sequence uses
	queues map[string]*queue
	lives  []*life // the registered ones, the oldest first
}

// queue is one queue and the books about it.
type queue struct {
	name    string
	waiting []string   // the front first
	inHand  []*process // the oldest token first
	listed  bool       // it is on the list of queues
	newest  int64      // the highest token seen

	accepted, finished, canceled, deleted int
}

// life is one incarnation of a worker, as the mesh sees it.
type life struct {
	id     string
	joined time.Time
	serves map[string]bool
	died   time.Time // when its heartbeat was last renewed, at the latest; zero: it lives
	byHand time.Time // when it was failed from elsewhere
}

func (l *life) dead() bool { return !l.died.IsZero() }

// process is a task in a worker's hands, and for its handle's sake it is kept when it is there no
// more.
type process struct {
	queue *queue
	life  *life
	task  string
	id    string
	token int64

	canceled, deleted bool // the task was canceled, its queue deleted, since it was taken

	asked  string // the outcome that was asked for first
	result string // what became of it then
	over   error  // why no outcome can be sent any more
	cause  error  // why its context ended
}

func newMesh(names ...string) *mesh {
	m := &mesh{names: names, queues: map[string]*queue{}}
	for _, name := range names {
		m.queues[name] = &queue{name: name}
	}
	return m
}

func (m *mesh) join(id string, now time.Time) *life {
	l := &life{id: id, joined: now, serves: map[string]bool{}}
	m.lives = append(m.lives, l)
	return l
}

// members are the lives that serve a queue, and the dead ones that nobody has reclaimed yet.
func (m *mesh) members(q *queue) (ids []string) {
	for _, l := range m.lives {
		if l.serves[q.name] {
			ids = append(ids, l.id)
		}
	}
	return ids
}

func (q *queue) enqueue(tasks []string) {
	q.waiting = append(q.waiting, tasks...)
	q.accepted += len(tasks)
	q.listed = true
}

// take moves the task at the front into a process; nil when there is none.
func (q *queue) take(l *life) *process {
	if len(q.waiting) == 0 {
		return nil
	}
	p := &process{queue: q, life: l, task: q.waiting[0]}
	q.waiting = q.waiting[1:]
	q.inHand = append(q.inHand, p)
	return p
}

// outcomes that a holder asks for; returned: it did not ask, and its worker stopped the work
const (
	finish   = "finish"
	front    = "front"
	back     = "back"
	returned = "returned"
)

func (p *process) finish() (bool, error) {
	switch {
	case p.asked == returned:
		return false, worqr.ErrStopping
	case p.asked != "" && p.asked != finish:
		return false, nil
	case p.over != nil:
		p.asked = finish
		return false, p.over
	case p.asked == finish:
		return false, nil
	}
	p.asked, p.result = finish, "done"
	p.leaveHand()
	p.queue.finished++
	p.end(worqr.ErrSettled)
	return true, nil
}

func (p *process) stop(where string) error {
	switch p.asked {
	case "":
	case returned:
		return worqr.ErrStopping
	default:
		return worqr.ErrSettled
	}
	p.asked = where
	if p.over != nil {
		return p.over
	}
	p.putBack(where)
	p.end(worqr.ErrSettled)
	return nil
}

// putBack returns the task, or drops it when it was canceled or its queue deleted.
func (p *process) putBack(where string) {
	q := p.queue
	p.leaveHand()
	p.result = returned
	switch {
	case p.dropped():
		p.result = "dropped"
	case where == front:
		q.waiting = append([]string{p.task}, q.waiting...)
	default:
		q.waiting = append(slices.Clone(q.waiting), p.task)
	}
}

// dropped reports whether the task is not to come back, and enters it in the books then.
func (p *process) dropped() bool {
	switch {
	case p.canceled:
		p.queue.canceled++
	case p.deleted:
		p.queue.deleted++
	default:
		return false
	}
	return true
}

func (p *process) leaveHand() {
	p.queue.inHand = slices.DeleteFunc(p.queue.inHand, func(o *process) bool { return o == p })
}

// end ends the context of a process; the first cause stays.
func (p *process) end(cause error) {
	if p.cause == nil {
		p.cause = cause
	}
}

// held are a life's processes on a queue, the oldest token first.
func (q *queue) held(l *life) (list []*process) {
	for _, p := range q.inHand {
		if p.life == l {
			list = append(list, p)
		}
	}
	return list
}

func (m *mesh) startWork(l *life, q *queue) {
	l.serves[q.name] = true
	q.listed = true
}

// stopWork ends the serving of a queue: what came by take goes back to the front, in its order.
func (m *mesh) stopWork(l *life, q *queue) {
	for _, p := range slices.Backward(q.held(l)) {
		p.end(worqr.ErrStopping)
		p.putBack(front)
		p.asked, p.result = returned, returned // dropped or not: the worker is not told
	}
	delete(l.serves, q.name)
}

// leave is the end of a worker by itself.
func (m *mesh) leave(l *life) {
	for _, name := range m.names {
		if l.serves[name] {
			m.stopWork(l, m.queues[name])
		}
	}
	m.unregister(l)
}

func (m *mesh) unregister(l *life) {
	m.lives = slices.DeleteFunc(m.lives, func(o *life) bool { return o == l })
}

// lapse ends the trust of a holder. What it held stays listed under it until a peer reclaims it.
func (m *mesh) lapse(l *life, died time.Time) {
	l.died = died
	for _, name := range m.names {
		for _, p := range m.queues[name].held(l) {
			p.over = worqr.ErrLapsed
			p.end(worqr.ErrLapsed)
		}
	}
}

// cancel ends every copy of a task. It returns how many waited, and who holds one.
func (q *queue) cancel(task string) (waiting int, running []*process) {
	before := len(q.waiting)
	q.waiting = slices.DeleteFunc(slices.Clone(q.waiting), func(t string) bool { return t == task })
	waiting = before - len(q.waiting)
	q.canceled += waiting
	for _, p := range q.inHand {
		if p.task == task {
			p.canceled = true
			running = append(running, p)
			if !p.life.dead() {
				p.end(worqr.ErrCanceled)
			}
		}
	}
	return waiting, running
}

// delete removes what waits. What is in hand goes on, and does not come back.
func (m *mesh) delete(q *queue) int {
	n := len(q.waiting)
	q.waiting = nil
	q.deleted += n
	for _, p := range q.inHand {
		p.deleted = true
	}
	if len(m.members(q)) == 0 {
		q.listed = false
	}
	return n
}
