package main

import (
	"context"
	"time"

	"github.com/worqr/worqr-go/worqr"
)

const (
	lookEvery = 250 * time.Millisecond
	drawEvery = 100 * time.Millisecond
	stalled   = 30 * time.Second // without any report, and nothing in hand: something is wrong
	storyEnd  = 20 * time.Second // the victims' fate is known by then, or something is wrong
)

// demo is one run. Its fields are confined to the goroutine of perform; reports come in by the
// books.
type demo struct {
	mesh   *worqr.Mesh
	queue  string
	books  *books
	fleet  fleet
	screen *screen
	began  time.Time

	victims []*victim // the killed one, then the frozen one
	struck  time.Time
	seen    seen // at the last look
}

// seen is what Redis has.
type seen struct {
	workers map[string]worqr.WorkerInfo
	hands   map[string][]worqr.ProcessInfo // by worker
	waiting int
}

// play enqueues the files and watches until all are done and the victims' story is over.
func (d *demo) play(ctx context.Context, files []string) error {
	tasks := make([][]byte, len(files))
	for i, path := range files {
		tasks[i] = []byte(path)
	}
	enqueued := make(chan error, 1)
	go func() { enqueued <- d.mesh.Enqueue(ctx, d.queue, tasks...) }()

	look, draw := time.NewTicker(lookEvery), time.NewTicker(drawEvery)
	defer look.Stop()
	defer draw.Stop()
	half, armed := d.books.half, false
	for {
		select {
		case <-ctx.Done():
			if enqueued != nil {
				<-enqueued // its context has ended too
			}
			return ctx.Err()
		case err := <-enqueued:
			if err != nil {
				return err
			}
			enqueued = nil
		case <-half:
			half, armed = nil, !d.strike(ctx)
		case n := <-d.books.news:
			d.tell(ctx, n)
		case <-look.C:
			if err := d.look(ctx); err != nil {
				d.note("no look: %v", err)
			}
			d.release()
			if done, silence := d.books.progress(); done == len(files) && enqueued == nil && d.over() {
				d.rest(ctx)
				d.screen.draw(d.view())
				return nil
			} else if silence > stalled && len(d.seen.hands) == 0 {
				d.note("nothing was reported for %v", stalled)
				return nil // the books tell what is lost
			}
		case <-draw.C:
			armed = armed && !d.strike(ctx)
			d.screen.draw(d.view())
		}
	}
}

// look reads from Redis what is in whose hands. What it last lists for a victim is what a peer
// finds there.
func (d *demo) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	workers, err := d.mesh.Workers(ctx)
	if err != nil {
		return err
	}
	processes, err := d.mesh.Processes(ctx, d.queue)
	if err != nil {
		return err
	}
	waiting, err := d.mesh.Len(ctx, d.queue)
	if err != nil {
		return err
	}
	d.seen = seen{workers: map[string]worqr.WorkerInfo{}, hands: map[string][]worqr.ProcessInfo{}, waiting: waiting}
	for _, w := range workers {
		d.seen.workers[w.ID] = w
	}
	for _, p := range processes {
		d.seen.hands[p.Worker] = append(d.seen.hands[p.Worker], p)
	}
	for _, v := range d.victims {
		if held := d.seen.hands[v.life]; len(held) > 0 {
			v.held = held
		}
	}
	return nil
}

// rest takes in the news that have come and wait.
func (d *demo) rest(ctx context.Context) {
	for {
		select {
		case n := <-d.books.news:
			d.tell(ctx, n)
		default:
			return
		}
	}
}

func (d *demo) note(format string, args ...any) {
	d.screen.say("%5.1f s  "+format, append([]any{time.Since(d.began).Seconds()}, args...)...)
}
