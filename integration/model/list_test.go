package model

import (
	"slices"

	"github.com/worqr/worqr-go/worqr"
)

// list asks every list for what the model has.
func (f *fleet) list(s step) {
	f.did("list everything")
	mesh := f.client.mesh
	if hosts := f.running(); len(hosts) > 0 && s.a%2 == 0 {
		mesh = pick(hosts, s.b).mesh
	}
	ctx, cancel := f.within()
	defer cancel()
	names, err := mesh.Queues(ctx)
	f.expect("queues", err, nil)
	f.sameQueues(names)
	for _, name := range f.model.names {
		f.listQueue(mesh, f.model.queues[name], s)
	}

	workers, err := mesh.Workers(ctx)
	f.expect("workers", err, nil)
	var ids, should []string
	for _, w := range workers {
		ids = append(ids, w.ID)
	}
	for _, l := range f.model.lives {
		should = append(should, l.id)
	}
	sameList(f, "workers", ids, should)
	for i, l := range f.model.lives {
		f.sameBeat(l, workers[i].Alive)
		served, err := mesh.WorkingQueues(ctx, l.id)
		f.expect("working queues", err, nil)
		sameList(f, "working queues of "+f.lives[l].name, served, f.served(l))
	}
	for _, id := range append(f.former(), "nobody") {
		served, err := mesh.WorkingQueues(ctx, id)
		f.expect("working queues", err, nil)
		sameList(f, "working queues of "+id, served, nil)
	}
}

func (f *fleet) listQueue(mesh *worqr.Mesh, q *queue, s step) {
	ctx, cancel := f.within()
	defer cancel()
	n, err := mesh.Len(ctx, q.name)
	f.expect("len", err, nil)
	if n != len(q.waiting) {
		f.fatalf("len of %q: %d, want %d", q.name, n, len(q.waiting))
	}
	next, err := mesh.Peek(ctx, q.name)
	if len(q.waiting) == 0 {
		f.expect("peek", err, worqr.ErrEmpty)
	} else if f.expect("peek", err, nil); string(next) != q.waiting[0] {
		f.fatalf("peek at %q: %q, want %q", q.name, next, q.waiting[0])
	}
	offset, limit := s.b%(len(q.waiting)+2), s.c%(len(q.waiting)+2)
	page, err := mesh.Tasks(ctx, q.name, offset, limit)
	f.expect("tasks", err, nil)
	from := min(offset, len(q.waiting))
	sameList(f, "tasks of "+q.name, texts(page), q.waiting[from:min(from+limit, len(q.waiting))])

	processes, err := mesh.Processes(ctx, q.name)
	f.expect("processes", err, nil)
	f.sameProcesses("processes of "+q.name, processes, q.inHand)
}

func (f *fleet) sameProcesses(what string, got []worqr.ProcessInfo, should []*process) {
	same := slices.EqualFunc(got, should, func(g worqr.ProcessInfo, p *process) bool {
		return g.ID == p.id && g.Queue == p.queue.name && g.Worker == p.life.id && g.Token == p.token && string(g.Task) == p.task
	})
	if !same {
		var list []string
		for _, p := range should {
			list = append(list, p.id)
		}
		f.fatalf("%s: %+v, want %q", what, got, list)
	}
}

// served are the queues of a life, sorted.
func (f *fleet) served(l *life) (names []string) {
	for _, name := range f.model.names {
		if l.serves[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// former are ids that were workers and are no more.
func (f *fleet) former() (ids []string) {
	for _, h := range f.handles {
		if id := h.model.life.id; !f.registered(h.model.life) && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

func (f *fleet) registered(l *life) bool { return slices.Contains(f.model.lives, l) }

func texts(list [][]byte) (out []string) {
	for _, b := range list {
		out = append(out, string(b))
	}
	return out
}

func sameList(f *fleet, what string, got, should []string) {
	if !slices.Equal(got, should) {
		f.fatalf("%s: %q, want %q", what, got, should)
	}
}
