package integration

import (
	"cmp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/worqr/worqr-go/internal/redistest"
)

// scenario 25: ten peers find the dead worker, and each comes to its first step before any of them
// does it.
func TestTenPeersReclaimAtOnce(t *testing.T) {
	t.Parallel()
	f := newField(t)
	const dead, peers = 700, 10 // more than one step
	tasks := named("t", dead+5)
	f.enqueue(t, tasks...)
	a := f.daemon(t, setup{Queue: queue, Limit: dead, Do: "hold"})
	a.holdAll(t, dead)

	proxy := redistest.NewProxy(t, f.server.URL())
	reclaim := lua(t, "reclaim")
	came, goOn := make(chan struct{}, 100), make(chan struct{})
	proxy.Intercept(func(c redistest.Command) redistest.Action {
		if reclaim.is(c) {
			raise(came)
			<-goOn
		}
		return redistest.Pass
	})
	a.Kill(t)
	var sweepers []*daemon
	for range 2 {
		sweepers = append(sweepers, f.daemon(t, setup{URL: proxy.URL(), Workers: peers / 2}))
	}
	for range peers {
		receive(t, came, "ten peers are about to reclaim")
	}
	close(goOn)
	f.awaitGone(t, a.joined(t, 1))
	f.awaitWaiting(t, tasks...)
	for _, s := range sweepers {
		s.end(t)
	}
	returned := 0
	for _, s := range sweepers {
		for _, rest := range s.said("reclaimed " + a.joined(t, 1) + " " + queue + " ") {
			n, err := strconv.Atoi(rest)
			if err != nil {
				t.Fatal(err)
			}
			returned += n
		}
	}
	if returned > dead { // fewer: the answer to a step was lost, as the wait before it was long
		t.Fatalf("the peers put back %d together, of %d", returned, dead)
	}
	f.awaitWaiting(t, tasks...)
}

// scenario 41: the first reclaimer has done one step of many.
func TestAReclaimerDiesHalfWay(t *testing.T) {
	t.Parallel()
	f := newField(t)
	const dead = 1200
	tasks := named("t", dead+5)
	f.enqueue(t, tasks...)
	a := f.daemon(t, setup{Queue: queue, Limit: dead, Do: "hold"})
	a.holdAll(t, dead)
	r := f.firstStepOnly(t, brisk)
	a.Kill(t)
	receive(t, r.stopped, "the reclaimer has done its first step")
	r.Kill(t)
	if n := len(f.waiting(t)); n != 5+8 {
		t.Fatalf("%d tasks wait after one step of 8, want %d", n, 5+8)
	}
	f.daemon(t, setup{}) // another peer
	f.awaitWaiting(t, tasks...)
	f.awaitGone(t, a.joined(t, 1))
	f.awaitWaiting(t, tasks...)
	if held := f.held(t); len(held) > 0 {
		t.Fatalf("in hand: %v", short(held))
	}
}

// halting is a reclaimer that stands still before its second step.
type halting struct {
	*daemon
	stopped chan struct{}
}

func (f *field) firstStepOnly(t testing.TB, at timing) halting {
	t.Helper()
	proxy := redistest.NewProxy(t, f.server.URL())
	reclaim := lua(t, "reclaim")
	stopped, never := make(chan struct{}, 1), make(chan struct{})
	steps := 0
	proxy.Intercept(func(c redistest.Command) redistest.Action {
		if !reclaim.is(c) || !c.Is("EVALSHA") {
			return redistest.Pass
		}
		if steps++; steps > 1 { // one reclaimer: its steps come one after the other
			raise(stopped)
			<-never
		}
		return redistest.Pass
	})
	t.Cleanup(func() { close(never) })
	lua(t, "reclaim").load(t, f) // so that a step is one command
	d := f.daemon(t, setup{URL: proxy.URL(), Timing: at})
	d.joined(t, 1)
	return halting{d, stopped}
}

// scenario 42: once the connection fails at each reclaim, once the server refuses it.
func TestAReclaimThatFailsIsTriedAgain(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"connection", "server"} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			f := newField(t)
			tasks := []string{"t1", "t2", "t3"}
			f.enqueue(t, tasks...)
			a := f.daemon(t, setup{Queue: queue, Limit: 2, Do: "hold"})
			a.holdAll(t, 2)
			proxy := redistest.NewProxy(t, f.server.URL())
			reclaim, audit, tried := lua(t, "reclaim"), lua(t, "audit"), make(chan struct{}, 100)
			proxy.Intercept(func(c redistest.Command) redistest.Action {
				switch {
				case reclaim.is(c) && fault == "connection":
					raise(tried)
					return redistest.CutBefore
				case audit.is(c) && fault == "server": // it reads what the reclaim is to work on
					raise(tried)
				}
				return redistest.Pass
			})
			if fault == "server" {
				f.count(t, "LPUSH", f.key("returning"), "no set")
			}
			f.daemon(t, setup{URL: proxy.URL()})
			a.Kill(t)
			for range 8 { // more than one round of attempts
				receive(t, tried, "a reclaim is tried")
			}
			if ids := f.registered(t); !slices.Contains(ids, a.joined(t, 1)) {
				t.Fatalf("the dead worker is forgotten, and its tasks are not back: %v", ids)
			}
			f.awaitWaiting(t, "t3")
			proxy.Intercept(nil)
			if fault == "server" {
				f.count(t, "DEL", f.key("returning"))
			}
			f.awaitWaiting(t, tasks...)
			f.awaitGone(t, a.joined(t, 1))
		})
	}
}

// scenario 104: peers take while 2,000 processes are on their way back, and the reclaimer dies
// between two steps.
func TestTakersCompleteAReclaimInOrder(t *testing.T) {
	t.Parallel()
	f := newField(t)
	const dead = 2000
	tasks := named("t", dead+100)
	f.enqueue(t, tasks...)
	calm := brisk
	calm.Lapse = 5 * time.Second // a taker that lapsed would have no peer that sweeps
	a := f.daemon(t, setup{Queue: queue, Limit: dead, Do: "hold", Timing: calm})
	a.holdAll(t, dead)
	r := f.firstStepOnly(t, calm)
	a.Kill(t)
	receive(t, r.stopped, "the reclaimer has done its first step")

	// They only take: a sweep of theirs would end the reclaim. And they take nothing ahead of their
	// slots, as their handlers are not quick: where no slot becomes free for 10 ms, as on a busy
	// machine, what was taken ahead goes back and is taken again, under a later token. The order of
	// the takes is still that of the tasks; that of the last tokens is not.
	var takers []*daemon
	for range 2 {
		takers = append(takers, f.daemon(t, setup{Queue: queue, Limit: 3, Do: "nap", Nap: 2 * time.Millisecond, Timing: lazy(calm)}))
	}
	redistest.Eventually(t, soon, "peers have taken", func() bool { return len(takers[0].said("run "))+len(takers[1].said("run ")) > 0 })
	r.Kill(t)
	var runs []delivery
	redistest.Eventually(t, 2*soon, "all tasks ran", func() bool {
		return len(takers[0].said("finished "))+len(takers[1].said("finished ")) >= len(tasks)
	})
	for _, d := range takers {
		runs = append(runs, d.deliveries(t)...)
	}
	slices.SortFunc(runs, func(a, b delivery) int { return cmp.Compare(a.token, b.token) })
	order := make([]string, len(runs))
	for i, run := range runs {
		order[i] = run.task
	}
	for i, task := range order {
		if task != tasks[i] {
			t.Fatalf("number %d that was taken is %s, want %s; behind it %s", i+1, task, tasks[i], short(order[i+1:]))
		}
	}
}

// Two workers die at the same moment: what they had taken by turns comes back by turns.
func TestWhatTwoDeadHeldComesBackInOneOrder(t *testing.T) {
	t.Parallel()
	f := newField(t)
	const n = 100 // several steps
	tasks := named("t", n)
	f.enqueue(t, append(tasks, "later")...)
	ghosts := []string{"ghost1", "ghost2"}
	for _, w := range ghosts {
		lua(t, "join").onMesh(t, f, w, brisk.Lapse.Milliseconds(), 1)
		lua(t, "serve").onMesh(t, f, w, queue, 1)
		lua(t, "open").on(t, f, w+".1", lua(t, "newest").on(t, f))
	}
	for i := range n {
		lua(t, "take").on(t, f, ghosts[i%2]+".1", i/2+1, 1, 0)
	}
	// They may lapse now, and in one step.
	if _, err := f.conn.Do("UNLINK", f.meshKey("worker:ghost1"), f.meshKey("worker:ghost2")); err != nil {
		t.Fatal(err)
	}
	f.daemon(t, setup{Workers: 1}) // it supervises
	for _, w := range ghosts {
		f.awaitGone(t, w)
	}
	f.awaitWaiting(t, append(tasks, "later")...)
}
