package model

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/worqr"
)

const (
	maxTask = 64
	ioTime  = 5 * time.Second
)

// host is a daemon: a worker with a mesh and a network of its own.
type host struct {
	name   string
	net    *network
	pool   *redis.Pool
	mesh   *worqr.Mesh
	worker *worqr.Worker // nil for the client
	life   *life         // of the model; nil before the start and after the end
	gone   bool          // it died: nothing is asked of it any more

	mu      sync.Mutex
	settled map[string][]settled // what OnSettle told of each process
	reasons []error              // why it lapsed, each time
	errs    []string             // what OnError told

	lapses int

	slow  bool // its handlers take a while to end
	ready bool // and tell when they have begun

	drained map[string]bool // queues of which nothing may begin on it; guarded by the ledger
}

type settled struct {
	result string
	err    error
}

func (h *host) running() bool { return h.life != nil && !h.gone }

// told returns what the hook was told of a process.
func (h *handle) told() []settled {
	h.host.mu.Lock()
	defer h.host.mu.Unlock()
	return slices.Clone(h.host.settled[h.model.id])
}

// newHost makes a mesh as Open does, but over a network that can fail.
func (f *fleet) newHost(name string) *host {
	h := &host{
		name: name, settled: map[string][]settled{},
		net: &network{reach: f.world.reach, conns: map[*wire]bool{}},
	}
	dial := func(ctx context.Context) (redis.Conn, error) {
		return redis.DialURLContext(ctx, f.world.url, redis.DialContextFunc(h.net.dial),
			redis.DialReadTimeout(ioTime), redis.DialWriteTimeout(ioTime))
	}
	h.pool = &redis.Pool{
		DialContext: dial, MaxIdle: 16, MaxActive: 32, Wait: true,
		TestOnBorrow: func(conn redis.Conn, since time.Time) error {
			if time.Since(since) < time.Second {
				return nil
			}
			_, err := conn.Do("PING")
			return err
		},
	}
	var err error
	if h.mesh, err = worqr.New(h.pool, worqr.Config{Namespace: f.world.namespace, MaxTask: maxTask}); err != nil {
		f.fatalf("new mesh: %v", err)
	}
	f.all = append(f.all, h)
	return h
}

// newWorker makes a host with a worker that is not started.
func (f *fleet) newWorker() *host {
	f.born++
	h := f.newHost(fmt.Sprintf("w%d", f.born))
	cfg := f.world.worker
	if f.equip != nil {
		f.equip(h, &cfg)
	}
	cfg.Hooks = worqr.Hooks{
		OnSettle: func(p *worqr.Process, result worqr.Outcome, err error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.settled[p.ID()] = append(h.settled[p.ID()], settled{string(result), err})
		},
		OnLapse: func(_ string, cause error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.reasons = append(h.reasons, cause)
		},
		OnError: func(err error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.errs = append(h.errs, fmt.Sprintf("%s: %s: %v", f.world.now().Format("05.000"), h.name, err))
		},
	}
	w, err := h.mesh.NewWorker(cfg)
	if err != nil {
		f.fatalf("new worker: %v", err)
	}
	h.worker = w
	return h
}

// start starts a further worker.
func (f *fleet) start() *host {
	h := f.newWorker()
	ctx, cancel := f.within()
	defer cancel()
	if err := h.worker.Start(ctx); err != nil {
		f.fatalf("start of %s: %v", h.name, err)
	}
	f.register(h)
	return h
}

// register enters a new incarnation of a worker into the model.
func (f *fleet) register(h *host) {
	h.life = f.model.join(h.worker.ID(), f.world.now())
	f.lives[h.life] = h
}

// die cuts the network of a host for good. What a dead process does no more ends here too, in the
// background: without a network nobody hears of it.
func (f *fleet) die(h *host) {
	h.net.set(refusing)
	h.gone = true
	h.life.died = f.world.now()
	f.retire(h)
}

// retire closes a host in the background.
func (f *fleet) retire(h *host) {
	f.retired.Go(func() {
		_ = h.mesh.Close() // what it could not return peers do
		_ = h.pool.Close()
	})
}

// rejoined waits until a worker that has lost its heartbeat is there again, under a new id, with
// all its queues.
func (f *fleet) rejoined(h *host, died time.Time) {
	old, serves := h.life, h.life.serves
	f.until(soon, h.name+" has joined again and serves what it served", func() bool {
		id := h.worker.ID()
		if id == old.id || !h.worker.Alive() {
			return false
		}
		ctx, cancel := f.within()
		defer cancel()
		queues, err := f.client.mesh.WorkingQueues(ctx, id)
		return err == nil && len(queues) == len(serves)
	})
	f.model.lapse(old, died)
	f.register(h)
	for _, name := range f.model.names {
		if serves[name] {
			f.model.startWork(h.life, f.model.queues[name])
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.reasons) != 1 {
		f.fatalf("%s was told of %d lapses: %v; want one", h.name, len(h.reasons), h.reasons)
	}
	h.reasons = nil
	h.lapses++
	if dead := f.dead(); h.lapses > 1 && len(dead) > 0 && len(f.running()) > 1 {
		f.did("it has rested, and its peers reclaim the dead")
		f.buried(dead)
		f.reclaimed(dead)
	}
}

// close ends all that still runs.
func (f *fleet) close() {
	for _, h := range f.all {
		if !h.gone {
			f.retire(h)
		}
	}
	f.retired.Wait()
	_ = f.eye.conn.Close()
	f.world.close()
}

// lost tells of a worker that has lapsed by itself, which happens when the machine stands still for
// longer than a lease.
func (f *fleet) lost() error {
	for _, h := range f.all {
		if h.gone {
			continue // it ends without a network
		}
		h.mu.Lock()
		reasons := h.reasons
		h.mu.Unlock()
		if len(reasons) > 0 {
			return fmt.Errorf("%s has lapsed: %w", h.name, reasons[0])
		}
	}
	return nil
}

// same reports whether an error is what the model says, by its sentinel.
func same(got, want error) bool {
	if want == nil || got == nil {
		return got == want
	}
	return errors.Is(got, want)
}
