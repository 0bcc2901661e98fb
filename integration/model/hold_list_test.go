package model

import (
	"context"
	"slices"
	"strings"

	"github.com/worqr/worqr-go/worqr"
)

// list asks where each task is, and who holds what.
func (c *crew) list(s step) {
	q := c.roll(s.a)
	c.did("where is everything of %q", q.name)
	ctx, cancel := c.within()
	defer cancel()
	for _, task := range append(slices.Clone(universe), "absent") {
		before := c.eye.stock(q.name)
		at, err := c.client.mesh.Locate(ctx, q.name, []byte(task))
		if !c.world.virtual {
			if q.tasks[task] != nil {
				c.expect("locate", err, nil)
			}
			continue
		}
		c.sameLocation(q, before, task, at, err)
	}
	if !c.world.virtual {
		return
	}
	stock := c.eye.stock(q.name)
	processes, err := c.client.mesh.Processes(ctx, q.name)
	c.expect("processes", err, nil)
	if len(processes) != len(stock.processes) {
		c.fatalf("processes of %q: %+v, want %+v", q.name, processes, stock.processes)
	}
	for _, p := range processes {
		if h := stock.processes[p.ID]; h.task != string(p.Task) || h.token != p.Token || p.Worker != c.workerOf(p.ID) {
			c.fatalf("processes of %q: %+v, want %+v", q.name, p, h)
		}
	}
}

// sameLocation compares what Locate returns with what is known.
func (c *crew) sameLocation(q *roll, s *stock, task string, at worqr.Location, err error) {
	w := q.tasks[task]
	if w == nil {
		c.expect("locate "+task, err, worqr.ErrGone)
		return
	}
	c.expect("locate "+task, err, nil)
	p, state := s.holders[task], ""
	switch date, delayed := s.delayed[task]; {
	case p != "" && w.doomed == p:
		state = "ending"
	case p != "":
		state = "held"
	case delayed && s.deaths(task) > 2:
		state = "suspect"
		c.tally.add("a suspect", 1)
	case delayed:
		state = "delayed"
		if at.Due.UnixMicro() != date {
			c.fatalf("%q is due %v, want %d", task, at.Due, date)
		}
	default:
		state = "waiting"
	}
	if string(at.State) != state || at.Process != p || at.Worker != c.workerOf(p) || at.Token != s.processes[p].token || at.Deaths != s.deaths(task) {
		c.fatalf("locate %q: %+v, want %s by %q, token %d, %d deaths", task, at, state, p, s.processes[p].token, s.deaths(task))
	}
}

func (c *crew) workerOf(id string) string {
	worker, _, _ := strings.Cut(id, ".")
	return worker
}

// misuse calls what has to be refused. Nothing changes by it.
func (c *crew) misuse(s step) {
	q, mesh := c.roll(s.a).name, c.client.mesh
	c.did("misuse of %q", q)
	ctx, cancel := c.within()
	defer cancel()
	_, err := mesh.Reconcile(ctx, q, raw([]string{"x", "y", "x"}))
	c.expect("a list with a double", err, worqr.ErrInvalid)
	_, err = mesh.Reconcile(ctx, q, [][]byte{make([]byte, maxTask+1)})
	c.expect("a task over MaxTask", err, worqr.ErrInvalid)
	_, err = mesh.Locate(ctx, "q q", nil)
	c.expect("locate in a bad name", err, worqr.ErrInvalid)
	if t := c.someTurn(s.b); t != nil {
		c.expect("a checkpoint that is too long", t.p.Checkpoint(ctx, make([]byte, worqr.MaxCheckpoint+1)), worqr.ErrInvalid)
	}
	c.asOneShot(ctx, q)
}

// asOneShot has a worker serve a persistent queue as one of one-shot tasks.
func (c *crew) asOneShot(ctx context.Context, q string) {
	cfg := c.world.worker
	w, err := c.client.mesh.NewWorker(cfg)
	c.expect("new worker", err, nil)
	c.expect("start", w.Start(ctx), nil)
	c.expect("start work as one-shot", w.StartWork(ctx, q), worqr.ErrConfig)
	c.expect("fail", w.Fail(ctx), nil)
}
