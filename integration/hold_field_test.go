package integration

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/worqr/worqr-go/internal/redistest"
	outside "github.com/worqr/worqr-go/internal/witness"
)

// watched is a field whose processes hold persistent tasks, watched by a witness.
type watched struct {
	*field
	keeper  keeper // what a new process is
	witness *outside.Witness
	tasks   []string
	began   int                // processes, ever
	up      map[string]*daemon // those that were not ended, by the names that the witness knows
}

func watch(t testing.TB, f *field, k keeper) *watched {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &watched{field: f, keeper: k, witness: outside.New(outside.Config{Keep: 100}), up: map[string]*daemon{}}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- w.witness.Serve(ctx, ln) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	w.keeper.URL, w.keeper.Namespace, w.keeper.Witness = f.server.URL(), f.ns, ln.Addr().String()
	return w
}

// start starts one more process, and returns its name.
func (w *watched) start(t testing.TB) string {
	t.Helper()
	w.began++
	k := w.keeper
	k.Name = fmt.Sprintf("p%02d", w.began)
	arg, err := json.Marshal(k)
	if err != nil {
		t.Fatal(err)
	}
	w.up[k.Name] = &daemon{Child: redistest.StartChild(t, "holder", string(arg))}
	return k.Name
}

// hold starts so many processes, declares the tasks that are wanted, and waits until they are held.
func (w *watched) hold(t testing.TB, processes, tasks int) {
	t.Helper()
	for range processes {
		w.start(t)
	}
	redistest.Eventually(t, soon, "all serve the queue", func() bool { return w.count(t, "HLEN", w.key("workers")) == processes })
	w.tasks = named("t", tasks)
	w.desire(t)
	w.awaitShared(t)
}

// desire declares the tasks that are wanted.
func (w *watched) desire(t testing.TB) {
	t.Helper()
	desired := make([][]byte, len(w.tasks))
	for i, task := range w.tasks {
		desired[i] = []byte(task)
	}
	if _, err := w.mesh.Reconcile(t.Context(), queue, desired); err != nil {
		t.Fatal(err)
	}
}

// awaitHeld waits until all is held, in the eyes of the witness, by processes that are up.
func (w *watched) awaitHeld(t testing.TB) { t.Helper(); w.awaitSpread(t, len(w.tasks)) }

// awaitShared waits until all is held, and no two processes differ by more than one.
func (w *watched) awaitShared(t testing.TB) { t.Helper(); w.awaitSpread(t, 1) }

func (w *watched) awaitSpread(t testing.TB, most int) {
	t.Helper()
	what := ""
	defer func() {
		if t.Failed() {
			t.Logf("at last: %s\n%s", what, w.witness.Report())
		}
	}()
	redistest.Eventually(t, soon, fmt.Sprintf("all %d are held, the spread is %d at most", len(w.tasks), most), func() bool {
		pass(100 * time.Millisecond) // a report costs something
		r := w.witness.Report()
		held := 0
		for _, k := range r.Keys {
			if k.State == "held" && w.up[k.Holder] != nil && slices.Contains(w.tasks, k.Key) {
				held++
			}
		}
		counts := []int{0}
		if len(w.up) > 0 {
			counts = nil
		}
		for _, h := range r.Holders {
			if w.up[h.Holder] != nil {
				counts = append(counts, h.Holds)
			}
		}
		what = fmt.Sprintf("%d held, by each %v", held, counts)
		return held == len(w.tasks) && len(counts) == len(w.up) && slices.Max(counts)-slices.Min(counts) <= most
	})
}

// kill ends a process by SIGKILL, returns when, and waits until the witness knows.
func (w *watched) kill(t testing.TB, name string) time.Duration {
	t.Helper()
	at := stamp()
	w.up[name].Kill(t)
	w.ended(t, name)
	return at
}

// ended waits until the witness knows that a process has ended.
func (w *watched) ended(t testing.TB, name string) {
	t.Helper()
	delete(w.up, name)
	redistest.Eventually(t, soon, "the witness knows that "+name+" has ended", func() bool {
		pass(20 * time.Millisecond)
		for _, h := range w.witness.Report().Holders {
			if h.Holder == name {
				return h.Connected == 0
			}
		}
		return false
	})
}

// names returns the processes that are up, the oldest first.
func (w *watched) names() []string {
	var list []string
	for name := range w.up {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// passage is how a task came from one hold to the next. Its instants are on the machine's clock.
type passage struct {
	key      string
	from, to outside.Span
	since    time.Duration // the handler before began
	ended    time.Duration // it had returned, or its process had ended
	begun    time.Duration // the next handler began
}

// passages returns all of them, in the order of their begins.
func passages(r outside.Report) []passage {
	var list []passage
	for _, k := range r.Keys {
		slices.SortFunc(k.Spans, func(a, b outside.Span) int { return cmp.Compare(a.Begin, b.Begin) })
		for i := 1; i < len(k.Spans); i++ {
			from, to := k.Spans[i-1], k.Spans[i]
			list = append(list, passage{k.Key, from, to, r.Zero + from.Begin, r.Zero + from.End, r.Zero + to.Begin})
		}
	}
	slices.SortFunc(list, func(a, b passage) int { return cmp.Compare(a.begun, b.begun) })
	return list
}

// gaps returns how long the tasks were without a handler, for the handlers that came for this
// reason after one that had returned.
func gaps(list []passage, reason string) []time.Duration {
	var gaps []time.Duration
	for _, p := range list {
		if p.to.Reason == reason && p.from.State == "ended" {
			gaps = append(gaps, p.begun-p.ended)
		}
	}
	return gaps
}

// review fails the test when two held a task at once, by the witness or by when their handlers
// returned, or when the witness could not see it. It returns the passages.
func (w *watched) review(t testing.TB) []passage {
	t.Helper()
	r := w.witness.Report()
	if r.Totals.Overlaps+r.Possible+r.Totals.Falls+r.Totals.Faults > 0 {
		t.Errorf("the witness saw:\n%s", r)
	}
	list := passages(r)
	early := slices.DeleteFunc(slices.Clone(list), func(p passage) bool {
		return (p.from.State == "ended" || p.from.State == "cut") && p.begun >= p.ended
	})
	for _, p := range early[:min(len(early), 5)] {
		t.Errorf("%s began %s at %v, while %s had it, %s, until %v (%q); there are %d of this kind", p.to.Holder, p.key, p.begun,
			p.from.Holder, p.from.State, p.ended, p.to.Reason, len(early))
	}
	t.Logf("%d holds, %d moves, %d returns, overlaps %d, possible %d", r.Holds, r.Moves, r.Returns, r.Totals.Overlaps, r.Possible)
	return list
}
