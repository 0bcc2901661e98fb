package model

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// A history has rounds, and the whole state is read after each.
const (
	clients = 8
	rounds  = 3
	acts    = 2 // of each client in a round
)

// Eight clients work on one queue of a real Redis at the same time, some commands losing their
// replies: what they saw has to be what a plain queue would have shown them, one after another.
//
// scenario 22, 65, 92, 98
func TestHistoriesAreLinearizable(t *testing.T) {
	n := wanted(t, "WORQR_MODEL_HISTORIES", 200)
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("WORQR_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("WORQR_SEED: %v", err)
		}
	}
	t.Logf("WORQR_SEED=%d", seed)
	redistest.Shared(t)
	seen := newTally()
	t.Cleanup(func() {
		seen.want(t, n >= 200, "take", "take of nothing", "finish", "finish of nothing", "stop", "stop to back", "cancel",
			"cancel of nothing", "fail", "of unknown outcome", "fail by id")
		if seen.counts[void] > n/10 {
			t.Errorf("%d of %d %s", seen.counts[void], n, void)
		}
	})
	const lanes = 8
	for lane := range lanes {
		t.Run(fmt.Sprint(lane), func(t *testing.T) {
			t.Parallel()
			for i := lane; i < n && !t.Failed(); i += lanes {
				for try := 0; !linearizable(t, rand.New(rand.NewPCG(seed, uint64(i))), i%10 == 0, seen); try++ {
					seen.add(void, 1)
				}
			}
		})
	}
}

// linearizable records one history and checks it. False: it says nothing, as a worker lapsed of
// itself.
func linearizable(t *testing.T, random *rand.Rand, mortal bool, seen *tally) bool {
	r := record(t, random, mortal)
	if r.stalled {
		return false
	}
	if len(r.faults) > 0 {
		t.Fatalf("what should not happen: %v", errors.Join(r.faults...))
	}
	for _, op := range r.history {
		in, out := op.Input.(call), op.Output.(reply)
		name := string(in.verb)
		if !out.done && (in.verb == takes || in.verb == finishes || in.verb == cancels) {
			name += " of nothing"
		}
		if in.verb == fails && mortal {
			name += " by id"
		}
		if out.unknown {
			name = "of unknown outcome"
		}
		seen.add(name, 1)
	}
	check(t, r.history)
	return true
}

// check fails the test for a history that is not linearizable, and leaves a picture of it.
func check(t *testing.T, history []porcupine.Operation) {
	t.Helper()
	result, info := porcupine.CheckOperationsVerbose(queueSpec, ranked(history), time.Minute)
	if result == porcupine.Ok {
		return
	}
	dir, err := os.MkdirTemp("", "worqr-history-")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "history.html")
	if err := porcupine.VisualizePath(queueSpec, info, path); err != nil {
		t.Errorf("the picture of the history: %v", err)
	}
	for _, op := range history {
		t.Logf("client %d [%d, %d] %s", op.ClientId, op.Call, op.Return, queueSpec.DescribeOperation(op.Input, op.Output))
	}
	t.Errorf("a history of %d operations is %s; see %s", len(history), result, path)
}

// record lets the clients loose on an empty queue.
func record(t *testing.T, random *rand.Rand, mortal bool) *recorder {
	r := &recorder{ns: redistest.Namespace(t), began: time.Now(), owners: map[string]byte{}, known: map[string]bool{}, failed: map[string]bool{}}
	url := redistest.Shared(t).URL()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var list []*client
	for i := range clients {
		c := newClient(t, r, url, mortal)
		defer func() {
			_ = c.mesh.Close()
			_ = c.pool.Close()
		}()
		c.number, c.rand = i, rand.New(rand.NewPCG(random.Uint64(), random.Uint64()))
		if err := c.join(ctx); err != nil {
			t.Fatalf("join: %v", err)
		}
		list = append(list, c)
	}
	for range rounds {
		var working sync.WaitGroup
		for _, c := range list {
			working.Go(func() {
				for range acts {
					if !c.done {
						c.act(ctx)
					}
				}
			})
		}
		working.Wait()
		if slices.ContainsFunc(list, func(c *client) bool { return c.done }) {
			break // a look may put something back at any time
		}
		r.read(ctx, list[0].mesh)
	}
	return r
}

// newClient makes a client whose network can lose replies.
func newClient(t *testing.T, r *recorder, url string, mortal bool) *client {
	c := &client{t: t, r: r, mortal: mortal, net: &network{conns: map[*wire]bool{}}}
	c.net.reach = func(ctx context.Context, network, address string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, address)
	}
	c.pool = &redis.Pool{MaxIdle: 16, DialContext: func(ctx context.Context) (redis.Conn, error) {
		return redis.DialURLContext(ctx, url, redis.DialContextFunc(c.net.dial), redis.DialReadTimeout(ioTime), redis.DialWriteTimeout(ioTime))
	}}
	var err error
	if c.mesh, err = worqr.New(c.pool, worqr.Config{Namespace: r.ns}); err != nil {
		t.Fatal(err)
	}
	if mortal {
		c.cfg = worqr.WorkerConfig{Takeover: worqr.TakeoverStrict, Beat: 200 * time.Millisecond, Lapse: time.Second, Sweep: 200 * time.Millisecond}
	}
	c.cfg.Hooks.OnLapse = func(worker string, _ error) { r.lapsed(worker) }
	return c
}

// read adds the whole state to a history.
func (r *recorder) read(ctx context.Context, mesh *worqr.Mesh) {
	from := r.now()
	tasks, err := mesh.Tasks(ctx, theQueue, 0, 1000)
	if err != nil {
		r.fault("tasks", err)
		return
	}
	var s shelf
	for _, task := range tasks {
		s.waiting += string(task)
	}
	processes, err := mesh.Processes(ctx, theQueue)
	if err != nil {
		r.fault("processes", err)
		return
	}
	for _, p := range processes {
		owner := r.owner(p.ID)
		if !r.known[p.ID] {
			owner |= lost
		}
		s.inHand += string([]byte{owner, p.Task[0], ' '})
	}
	r.add(clients, from, call{verb: reads}, reply{state: s})
}
