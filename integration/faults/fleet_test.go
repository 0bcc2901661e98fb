//go:build linux

package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/internal/witness"
	"github.com/worqr/worqr-go/worqr"
)

const (
	leastWorkers, mostWorkers = 2, 4
	leastTasks, mostTasks     = 6, 20

	// soon is how long a test waits for a fact. The fact is tested, not the time.
	soon = 45 * time.Second
)

// fleet is one mesh with its faults: a server and a witness of its own, workers in processes, and
// the tasks that they hold.
type fleet struct {
	testing.TB
	name, namespace     string
	random              *rand.Rand
	timing              timing
	liar                bool
	groupRate, moveRate float64
	server              *server
	spare               *server          // its replica; nil in one mesh of two
	beside              *redistest.Proxy // of mesh: it leads to the primary
	mesh                *worqr.Mesh      // beside the faults
	witness             *witness.Witness
	address             string
	ways                [mostWorkers]*way
	judge               judge

	workers []*worker // the living ones
	born    []*worker // all there ever were
	tasks   []string  // the tasks that are wanted
	removed []string  // canceled tasks, which may be added again
	queues  []string
	broken  map[string]int // how often a feed broke
	struck  map[string]int // how often a kind of fault struck in the present run
	pending bool           // they were changed, and the mesh does not know it yet
	made    int            // tasks ever
	paused  bool           // the server does not reply
	killed  bool
	stepped time.Duration // when the clock stepped
	heldUp  time.Duration // until when the server does not reply

	run, over int           // the present one, and the last that all workers know to be over
	began     time.Duration // of the present run
	past      []event       // of the present run
	soons     []soonEvent   // what is still to happen in it
	wrong     []string      // what was found in it
	syncs     int

	overlaps, faults int // that the witness has reported
}

// worker is one worker process.
type worker struct {
	*redistest.Child
	name     string
	way      *way
	records  *records
	capacity int
	frozen   bool
	leaving  bool
	doomed   bool // it was ordered to die somewhere
}

func newFleet(t testing.TB, name string, seed uint64, liar bool) *fleet {
	t.Helper()
	random, library := rand.New(rand.NewPCG(seed, 1)), buildClock(t)
	lapse := []time.Duration{300, 400, 500, 600, 800, 1000}[random.IntN(6)] * time.Millisecond
	f := &fleet{
		TB: t, name: name, namespace: fmt.Sprintf("faults-%x", rand.Uint64()), random: random, server: newServer(t, library), liar: liar,
		timing: timing{
			Lapse: lapse, Beat: lapse / time.Duration(3+random.IntN(2)), Sweep: lapse / time.Duration(2+random.IntN(4)),
			Settle: lapse / time.Duration(1+random.IntN(3)),
		},
		queues: []string{"feeds", "feeds/hd", "cameras"}[:1+random.IntN(3)], broken: map[string]int{}, struck: map[string]int{},
		witness: witness.New(witness.Config{Every: told, Keep: 200}),
	}
	f.groupRate, f.moveRate = f.rate(), []float64{0, 10, 30}[f.random.IntN(3)]
	f.judge = judge{margin: lapse / 10, known: map[string]bool{}}
	if os.Getenv("WORQR_FAULT_FAST") != "" {
		f.judge.takeover = worqr.TakeoverFast
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f.address = ln.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- f.witness.Serve(ctx, ln) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	if f.random.IntN(2) == 0 {
		f.follow(library)
	}
	f.beside = redistest.NewProxy(t, f.server.URL())
	f.mesh, err = worqr.Open(t.Context(), f.beside.URL(), worqr.Config{Namespace: f.namespace})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.mesh.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	for i := range f.ways {
		f.ways[i] = newWay(t, f.server.URL(), rand.New(rand.NewPCG(seed, 2+uint64(i))))
	}
	for range leastTasks + f.random.IntN(mostTasks-leastTasks+1) {
		f.make()
	}
	for range leastWorkers + f.random.IntN(mostWorkers-leastWorkers+1) {
		f.spawn()
	}
	return f
}

// make adds a task to those that are wanted.
func (f *fleet) make() {
	f.made++
	f.tasks = append(f.tasks, fmt.Sprintf("t%d", f.made))
	f.pending = true
}

// spawn starts a worker, if a way is free.
func (f *fleet) spawn() *worker {
	f.Helper()
	free := slices.IndexFunc(f.ways[:], func(way *way) bool {
		return !slices.ContainsFunc(f.workers, func(w *worker) bool { return w.way == way })
	})
	if free < 0 {
		return nil
	}
	w := &worker{name: fmt.Sprintf("w%d", len(f.born)+1), way: f.ways[free], capacity: 1 + f.random.IntN(3)}
	path := filepath.Join(f.TempDir(), w.name)
	var err error
	if w.records, err = mapRecords(path); err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { w.records.close(f) })
	arg, err := json.Marshal(setup{
		URL: w.way.URL(), Namespace: f.namespace, Name: w.name, Witness: f.address, Records: path, Timing: f.timing, Liar: f.liar,
		Queues: f.queues, Capacity: w.capacity, StartRate: f.rate(), GroupRate: f.groupRate,
		MoveRate: f.moveRate, Takeover: f.judge.takeover, Limit: []int{0, mostTasks}[f.random.IntN(2)],
	})
	if err != nil {
		f.Fatal(err)
	}
	w.Child = redistest.StartChild(f, "holder", string(arg))
	f.workers, f.born = append(f.workers, w), append(f.born, w)
	f.order(w, fmt.Sprintf("over %d", f.over))
	return w
}

// order sends an order to a worker. It is no failure if the worker dies because of an earlier
// order.
func (f *fleet) order(w *worker, what string) {
	if _, err := io.WriteString(w.Stdin, what+"\n"); err != nil && !w.doomed {
		f.Fatalf("order %q to %s: %v", what, w.name, err)
	}
}

// bury removes a worker whose process has ended from those that live.
func (f *fleet) bury(w *worker) {
	f.workers = slices.DeleteFunc(f.workers, func(other *worker) bool { return other == w })
}

// ended reports whether the process has ended.
func (w *worker) ended() bool {
	select {
	case <-w.Exited():
		return true
	default:
		return false
	}
}

// reconcile makes the mesh know which tasks are wanted. If Redis does not reply now, it tries
// again.
func (f *fleet) reconcile(limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	for _, queue := range f.queues {
		var list [][]byte
		for _, task := range f.tasks {
			if f.queueOf(task) == queue {
				list = append(list, []byte(task))
			}
		}
		done, err := f.mesh.Reconcile(ctx, queue, list)
		f.note("reconcile %s: %+v %v", queue, done, err)
		if err != nil {
			return err
		}
	}
	f.pending = false
	return nil
}

func (f *fleet) queueOf(task string) string { return f.queues[numberOf(task)%len(f.queues)] }

// rate returns a limit of starts per second, or none.
func (f *fleet) rate() float64 { return []float64{0, 0, 20, 100}[f.random.IntN(4)] }

// some returns one of the living workers for which are is true, at random.
func (f *fleet) some(are func(*worker) bool) *worker {
	var list []*worker
	for _, w := range f.workers {
		if are(w) {
			list = append(list, w)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return list[f.random.IntN(len(list))]
}

func alive(w *worker) bool { return !w.ended() }

func active(w *worker) bool { return !w.frozen && !w.leaving && !w.ended() }

// do sends one command to the primary.
func (f *fleet) do(command string, args ...any) any {
	f.Helper()
	return f.on(f.server, command, args...)
}
