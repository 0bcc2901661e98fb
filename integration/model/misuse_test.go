package model

import (
	"context"
	"strings"

	"github.com/worqr/worqr-go/worqr"
)

// misuse calls what has to be refused, by a worker in the wrong state or with a wrong argument.
// Nothing changes by it.
func (f *fleet) misuse(s step) {
	cases := []func(context.Context, step){f.badArguments, f.notStarted}
	if len(f.running()) > 0 {
		cases = append(cases, f.startedAlready, f.anotherLapse)
	}
	if len(f.ended()) > 0 {
		cases = append(cases, f.endedAlready)
	}
	ctx, cancel := f.within()
	defer cancel()
	pick(cases, s.a)(ctx, s)
}

func (f *fleet) badArguments(ctx context.Context, s step) {
	mesh, q := f.client.mesh, f.queue(s.b).name
	bad := pick([]string{"", "/q", "q q", "{q}", strings.Repeat("q", 201), "q\x00"}, s.c)
	f.did("bad arguments, queue name %.10q", bad)
	task := []byte("a")
	f.expect("an empty batch", mesh.Enqueue(ctx, q), worqr.ErrInvalid)
	f.expect("a task over MaxTask", mesh.Enqueue(ctx, q, task, make([]byte, maxTask+1)), worqr.ErrInvalid)
	f.expect("enqueue to a bad name", mesh.Enqueue(ctx, bad, task), worqr.ErrInvalid)
	_, err := mesh.Cancel(ctx, bad, task)
	f.expect("cancel in a bad name", err, worqr.ErrInvalid)
	_, err = mesh.DeleteQueue(ctx, bad)
	f.expect("delete of a bad name", err, worqr.ErrInvalid)
	_, err = mesh.Tasks(ctx, q, -1, 1)
	f.expect("tasks from below 0", err, worqr.ErrInvalid)
}

// notStarted asks a worker that never starts.
func (f *fleet) notStarted(ctx context.Context, s step) {
	h, q := f.newWorker(), f.queue(s.b).name
	f.did("%s is not started", h.name)
	_, err := h.worker.Take(ctx, q)
	f.expect("take before the start", err, worqr.ErrNotStarted)
	f.expect("start work before the start", h.worker.StartWork(ctx, q), worqr.ErrNotStarted)
	f.expect("stop work before the start", h.worker.StopWork(ctx, q), worqr.ErrNotStarted)
	f.expect("fail before the start", h.worker.Fail(ctx), nil)
	f.expect("start after the end", h.worker.Start(ctx), worqr.ErrClosed)
}

func (f *fleet) startedAlready(ctx context.Context, s step) {
	h := pick(f.running(), s.b)
	f.did("%s starts again", h.name)
	f.expect("a second start", h.worker.Start(ctx), worqr.ErrStarted)
}

// anotherLapse starts a worker that contradicts the mesh.
func (f *fleet) anotherLapse(ctx context.Context, _ step) {
	f.did("a worker with another lapse")
	cfg := f.world.worker
	cfg.Lapse *= 2
	w, err := f.client.mesh.NewWorker(cfg)
	f.expect("new worker", err, nil)
	f.expect("start with another lapse", w.Start(ctx), worqr.ErrConfig)
	f.expect("fail of a worker that could not start", w.Fail(ctx), nil)
}

// ended are the hosts whose worker has ended by itself.
func (f *fleet) ended() (list []*host) {
	for _, h := range f.hosts {
		if h.life == nil && !h.gone {
			list = append(list, h)
		}
	}
	return list
}

func (f *fleet) endedAlready(ctx context.Context, s step) {
	h, q := pick(f.ended(), s.b), f.queue(s.c).name
	f.did("%s has ended", h.name)
	_, err := h.worker.Take(ctx, q)
	f.expect("take after the end", err, worqr.ErrClosed)
	f.expect("start work after the end", h.worker.StartWork(ctx, q), worqr.ErrClosed)
	f.expect("stop work after the end", h.worker.StopWork(ctx, q), worqr.ErrClosed)
	f.expect("start after the end", h.worker.Start(ctx), worqr.ErrClosed)
	f.expect("fail after the end", h.worker.Fail(ctx), nil)
}
