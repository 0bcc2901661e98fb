package integration

import (
	"cmp"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/worqr/worqr-go/internal/redistest"
	outside "github.com/worqr/worqr-go/internal/witness"
)

// scenario 117: one of three processes that hold twelve tasks is stopped for a little longer than
// its lapse and runs for less than half of one, again and again; or its beats alone are cut off. It
// lapses each time, and has not died: no task is suspected, none is without a holder for longer
// than that takes to see, and who flaps is given less. Then it has its share.
//
// By default with short leases, for 20 s; with WORQR_LONG with the worker's defaults, for 60 s, and
// 30 s of cut beats.
func TestAFlappingHostIsNotBlamed(t *testing.T) {
	if testing.Short() {
		t.Skip("it flaps for 20 s")
	}
	f := flapping{timing: brisk, lapse: brisk.Lapse, stopped: 20 * time.Second, cut: 10 * time.Second}
	if os.Getenv("WORQR_LONG") != "" {
		f = flapping{timing: timing{Beat: time.Second}, lapse: lapse, stopped: 60 * time.Second, cut: 30 * time.Second}
	}
	t.Run("stopped again and again", func(t *testing.T) {
		t.Parallel()
		f.run(t, f.stopped, func(d *daemon, _ *redistest.Proxy) {
			d.Freeze(t)
			pass(f.lapse * 16 / 15)
			d.Thaw(t)
			pass(f.lapse * 2 / 5)
		})
	})
	t.Run("its beats are cut off", func(t *testing.T) {
		t.Parallel()
		beat := lua(t, "beat")
		f.run(t, f.cut, func(_ *daemon, p *redistest.Proxy) {
			p.Intercept(func(c redistest.Command) redistest.Action {
				if beat.is(c) {
					return redistest.Hold
				}
				return redistest.Pass
			})
			pass(f.lapse)
		})
	})
}

// flapping is in which way, and for how long.
type flapping struct {
	timing       timing
	lapse        time.Duration
	stopped, cut time.Duration
}

func (f flapping) run(t *testing.T, during time.Duration, flap func(*daemon, *redistest.Proxy)) {
	const processes, tasks = 3, 12
	machine := watchMachine(t, 1)
	w := watch(t, newField(t), keeper{Timing: f.timing})
	proxy := redistest.NewProxy(t, w.server.URL())
	direct := w.keeper.URL
	w.keeper.URL = proxy.URL()
	flapper := w.start(t)
	w.keeper.URL = direct
	for range processes - 1 {
		w.start(t)
	}
	redistest.Eventually(t, soon, "all serve the queue", func() bool { return w.count(t, "HLEN", w.key("workers")) == processes })
	w.tasks = named("t", tasks)
	w.desire(t)
	w.awaitShared(t)
	pass(f.lapse) // whoever was started a moment ago is in doubt of others

	began := stamp()
	machine.since()
	for stamp()-began < during {
		flap(w.up[flapper], proxy)
		w.noneIsBlamed(t)
	}
	ended := stamp()
	proxy.Intercept(nil)
	lack := machine.since()
	r := w.witness.Report()
	lapses := len(w.up[flapper].said("lapsed "))
	given, held := givenTo(r, flapper, began, ended)
	fair := float64(tasks) / processes
	longest, key := longestGap(r, began)
	t.Logf("%d lapses in %v; it was given %d tasks and held %.1f of %d at a time; %s was without a holder for %v; %v",
		lapses, (ended - began).Round(time.Second), given, held, tasks, key, longest.Round(time.Millisecond), lack)
	if lapses < 3 {
		t.Errorf("it lapsed %d times, want 3 at least: this shows nothing", lapses)
	}
	if most := 2 * int(fair); given > most {
		t.Errorf("it was given %d tasks, want what it gets once, at most: %d", given, most)
	}
	if held > fair/2 {
		t.Errorf("it held %.1f tasks, want less than half of its share, %.0f", held, fair)
	}
	others := 0 // lapses of who does not flap: the machine is too busy to say how long anything takes
	for name, d := range w.up {
		if name != flapper {
			others += len(d.said("lapsed "))
		}
	}
	// A judge that is late itself waits another lapse.
	bound := 5 * time.Second
	if lack.any() {
		bound += f.lapse
	}
	if others > 0 {
		t.Logf("the others have lapsed %d times", others)
	} else if longest > bound {
		t.Errorf("%s was without a holder for %v, want %v at most", key, longest, bound)
	}
	redistest.Eventually(t, 3*soon+10*f.lapse, "it holds its share again", func() bool {
		pass(100 * time.Millisecond)
		for _, h := range w.witness.Report().Holders {
			if h.Holder == flapper {
				return h.Holds >= int(fair)-1
			}
		}
		return false
	})
	w.awaitShared(t)
	w.noneIsBlamed(t)
	if r := w.witness.Report(); r.Totals.Overlaps+r.Totals.Falls > 0 {
		t.Errorf("the witness saw:\n%s", r)
	}
}

// noneIsBlamed fails the test when a death is counted for a task, or one is suspected.
func (w *watched) noneIsBlamed(t testing.TB) {
	t.Helper()
	for _, task := range w.tasks {
		at, err := w.mesh.Locate(t.Context(), queue, []byte(task))
		if err != nil {
			t.Fatal(err)
		}
		if at.State == "suspect" || at.Deaths > 0 {
			t.Errorf("%s: %+v, and nobody has died", task, at)
		}
	}
}

// givenTo returns how many holds one began in this time, and how many tasks it held on average.
func givenTo(r outside.Report, name string, from, to time.Duration) (given int, held float64) {
	var sum time.Duration
	for _, k := range r.Keys {
		for _, s := range k.Spans {
			begin, last := r.Zero+s.Begin, r.Zero+s.Last
			if s.Holder != name || last < from {
				continue
			}
			if begin > from {
				given++
			}
			sum += max(0, min(last, to)-max(begin, from))
		}
	}
	return given, float64(sum) / float64(to-from)
}

// longestGap returns for how long a task was without a holder at most: from when it was certainly
// held last.
func longestGap(r outside.Report, from time.Duration) (longest time.Duration, key string) {
	for _, k := range r.Keys {
		slices.SortFunc(k.Spans, func(a, b outside.Span) int { return cmp.Compare(a.Begin, b.Begin) })
		for i := 1; i <= len(k.Spans); i++ {
			next := r.Now
			if i < len(k.Spans) {
				next = k.Spans[i].Begin
			}
			if gap := next - k.Spans[i-1].Last; r.Zero+next > from && gap > longest {
				longest, key = gap, k.Key
			}
		}
	}
	return longest, key
}
