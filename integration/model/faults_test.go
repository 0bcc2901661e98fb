package model

import (
	"errors"
	"slices"
	"strings"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/worqr"
)

// lossy does another step while the next command of each host meets a fault: its connection breaks
// before it is sent, or before its reply. Everything but a plain enqueue is sent again, and has one
// effect.
func (f *fleet) lossy(s step) {
	kind := pick([]fault{lostAway, lostReply}, s.b)
	do := pick([]func(*fleet, step){
		(*fleet).enqueue, (*fleet).take, (*fleet).take, (*fleet).finish, (*fleet).finish, (*fleet).stop, (*fleet).stopToBack,
		(*fleet).cancel, (*fleet).deleteQueue, (*fleet).startWork, (*fleet).stopWork, (*fleet).startAnother, (*fleet).failOwn,
		(*fleet).list,
	}, s.c)
	hosts := slices.Clone(f.all)
	f.did("from here on each host's next command loses %s", map[fault]string{lostAway: "its way", lostReply: "its reply"}[kind])
	for _, h := range hosts {
		h.net.arm(kind)
	}
	f.losing = kind
	do(f, s)
	for _, h := range hosts {
		h.net.arm(none)
	}
	f.losing, f.aged = none, true // the pauses before a repetition
}

// unknown resolves an enqueue of unknown outcome: the fault says what became of it.
func (f *fleet) unknown(err error) (stored bool) {
	if f.losing == none || !errors.Is(err, worqr.ErrUnknown) {
		f.expect("enqueue", err, nil)
		return true
	}
	return f.losing == lostReply
}

// fence takes a worker out of a queue behind its back, as an operator's hand in Redis would: peers
// find a member without an owner and reclaim it. The worker is refused, and opens the queue again.
func (f *fleet) fence(s step) {
	hosts := f.victims(s)
	if len(hosts) == 0 || !f.world.virtual {
		f.take(s)
		return
	}
	f.long(step{}) // so that nobody else is reclaimed meanwhile
	h := pick(hosts, s.a)
	serves := f.served(h.life)
	if len(serves) == 0 {
		return
	}
	q := f.model.queues[pick(serves, s.b)]
	f.did("%s is fenced out of %q", h.name, q.name)
	f.aged = true
	if n, err := redis.Int(f.eye.conn.Do("SREM", f.eye.mesh()+":workmap:"+h.life.id, q.name)); n != 1 || err != nil {
		f.fatalf("the workmap of %s: %d, %v", h.name, n, err)
	}
	old := f.eye.member(q, h.life)
	f.until(soon, "peers have reclaimed it", func() bool { return f.eye.member(q, h.life) != old })
	held := slices.DeleteFunc(f.mine(), func(m *handle) bool { return m.host != h || m.model.queue != q })
	f.model.fence(h.life, q)
	if f.eye.member(q, h.life) == "" { // it has not noticed: either of these tells it
		if len(held) > 0 && s.c%2 == 0 {
			f.settle(held[0], pick([]string{finish, front, back}, s.c/2))
		} else {
			ctx, cancel := f.within()
			defer cancel()
			_, err := h.worker.Take(ctx, q.name)
			f.expect("take by the fenced "+h.name, err, worqr.ErrFenced)
		}
	}
	f.until(soon, h.name+" has opened the queue again", func() bool { return f.eye.member(q, h.life) != "" })
}

// member returns a life's membership of a queue, or "".
func (e *eye) member(q *queue, l *life) string {
	for _, m := range e.ask([]any{"HKEYS", e.queue(q.name) + ":workers"})[0] {
		if strings.HasPrefix(m, l.id+".") {
			return m
		}
	}
	return ""
}

// fence returns what a life holds on a queue, and the holder has lost it.
func (m *mesh) fence(l *life, q *queue) {
	for _, p := range slices.Backward(q.held(l)) {
		p.over = worqr.ErrFenced
		p.end(worqr.ErrFenced)
		p.putBack(front)
		p.result = ""
	}
}
