package worqr_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/events"
	"github.com/worqr/worqr-go/internal/embedded"
	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// failing fails in one of the ways in which a handler can.
func failing(i int) error {
	switch i % 3 {
	case 0:
		panic("burst pipe")
	case 1:
		runtime.Goexit()
	}
	return errors.New("no luck")
}

// scenario 73: 1,000 failures in 1,000 slots, and afterwards all of them are in use at once
func TestSlotsAreFreeAfterFailures(t *testing.T) {
	t.Parallel()
	m := open(t)
	const n = 1_000
	var failures atomic.Int64
	var reported sync.Map
	failed := make(chan struct{}, n)
	all := make(chan struct{})
	var inside crowd
	cfg := handling(worqr.WorkerConfig{}, "q", n, func(ctx context.Context, p *worqr.Process) error {
		if string(p.Task()) == "fails" {
			i := failures.Add(1)
			defer func() { failed <- struct{}{} }()
			if i > n {
				return nil
			}
			return failing(int(i))
		}
		inside.enter()
		defer inside.leave()
		if inside.now.Load() == n {
			close(all)
		}
		select {
		case <-all:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	cfg.Hooks.OnError = func(err error) {
		for _, kind := range []string{"panic: burst pipe", "failing(", "runtime.Goexit", "no luck", `queue "q"`} {
			if strings.Contains(err.Error(), kind) {
				reported.Store(kind, true)
			}
		}
	}
	run(t, m, cfg)
	tasks := make([]string, n)
	for i := range tasks {
		tasks[i] = "fails"
	}
	enqueue(t, m, "q", tasks...)
	for range 2 * n { // each fails once, goes back to the front and is finished
		receive(t, "the failures and their repetitions", failed)
	}
	enqueue(t, m, "q", numbered("t", n)...)
	receive(t, "all slots to be in use at once", all)
	for _, kind := range []string{"panic: burst pipe", "failing(", "runtime.Goexit", "no luck", `queue "q"`} {
		if _, ok := reported.Load(kind); !ok {
			t.Errorf("OnError was told no error with %q", kind)
		}
	}
}

// virtual returns a mesh on the embedded server, in the time of a synctest bubble. Its end is the
// test's to call.
func virtual(t testing.TB) (m *worqr.Mesh, end func()) {
	t.Helper()
	server := embedded.Virtual()
	pool := &redis.Pool{DialContext: server.Dial, MaxIdle: 8}
	m, err := worqr.New(pool, worqr.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return m, func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		_ = pool.Close()
		server.Close()
	}
}

// scenario 73: a slot that fails again and again pauses from 100 ms doubling to 30 s, and is free
// each time
func TestPausesOfAFailingSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, end := virtual(t)
		defer end()
		const failures = 14
		var began []time.Time
		var ended time.Time
		var pauses []time.Duration
		finished := make(chan struct{})
		w, err := m.NewWorker(handling(patient(), "q", 1, func(context.Context, *worqr.Process) error {
			if !ended.IsZero() {
				pauses = append(pauses, time.Since(ended))
			}
			began = append(began, time.Now())
			switch {
			case len(began) <= failures:
				ended = time.Now()
				return failing(len(began))
			case len(began) == failures+2: // a success in between starts the pauses over
				ended = time.Now()
				return failing(0)
			case len(began) == failures+3:
				close(finished)
			}
			ended = time.Now()
			return nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ran := make(chan error)
		go func() { ran <- w.Run(ctx) }()
		synctest.Wait()
		enqueue(t, m, "q", "a", "b")
		<-finished
		cancel()
		if err := <-ran; err != nil {
			t.Error(err)
		}
		for i, pause := range pauses {
			wanted := min(100*time.Millisecond<<i, 30*time.Second)
			switch i {
			case failures: // after the success
				wanted = 0
			case failures + 1:
				wanted = 100 * time.Millisecond
			}
			if pause != wanted {
				t.Errorf("pause %d is %v, want %v", i+1, pause, wanted)
			}
		}
	})
}

// scenario 73: 1,000 failures of a few slots, with their pauses, and none of the slots is lost
func TestSlotsOutliveAThousandFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, end := virtual(t)
		defer end()
		const limit, failures = 10, 1_000
		var runs atomic.Int64
		var inside crowd
		all, finished := make(chan struct{}), make(chan struct{}, limit)
		w, err := m.NewWorker(handling(patient(), "q", limit, func(context.Context, *worqr.Process) error {
			inside.enter()
			defer inside.leave()
			if i := runs.Add(1); i <= failures {
				return failing(int(i))
			}
			if inside.now.Load() == limit {
				close(all)
			}
			<-all
			finished <- struct{}{}
			return nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ran := make(chan error)
		go func() { ran <- w.Run(ctx) }()
		enqueue(t, m, "q", numbered("t", limit)...)
		for range limit {
			<-finished
		}
		cancel()
		if err := <-ran; err != nil {
			t.Error(err)
		}
		if n := runs.Load(); n != failures+limit {
			t.Errorf("%d runs, want %d", n, failures+limit)
		}
	})
}

// scenario 74
func TestFinishIsRetriedWhileTheSlotIsFree(t *testing.T) {
	t.Parallel()
	for name, action := range map[string]redistest.Action{
		"cut before": redistest.CutBefore, "cut after": redistest.CutAfter, "reply dropped": redistest.DropReply,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			finishIsRetried(t, action)
		})
	}
}

// settles returns whether a command settles: settle, or a take that settles before.
func settles(c redistest.Command) bool {
	const plain = 10 // words of a take that does not
	return scriptOf(c) == "settle" || scriptOf(c) == "take" && len(c.Args) > plain
}

func finishIsRetried(t *testing.T, action redistest.Action) {
	ns := redistest.Namespace(t)
	watcher := openAt(t, redistest.Shared(t).URL(), worqr.Config{Namespace: ns})
	heard := hear(t, watcher, "q", events.Done)
	m, proxy := mortal(t, ns)
	ran := make(chan string, 100)
	cfg := handling(worqr.WorkerConfig{Lapse: 30 * time.Second}, "q", 1, gather(ran))
	settled := make(chan string, 100)
	cfg.Hooks.OnSettle = func(p *worqr.Process, result worqr.Outcome, err error) {
		settled <- fmt.Sprint(string(p.Task()), " ", result, " ", err)
	}
	run(t, m, cfg)
	var broken atomic.Int64
	healed := make(chan struct{})
	proxy.Intercept(func(c redistest.Command) redistest.Action {
		if !settles(c) {
			return redistest.Pass
		}
		select {
		case <-healed:
			return redistest.Pass
		default:
			if broken.Add(1) > 1 && action == redistest.DropReply {
				return redistest.Pass // each mutes a connection, which the takes share
			}
			return action
		}
	})
	enqueue(t, watcher, "q", "a", "b", "c")
	var runs []string
	for range 3 { // while the finish of a cannot be sent; what a lost take has brought may come later
		runs = append(runs, receive(t, "a run", ran))
	}
	slices.Sort(runs)
	want(t, "ran", runs, []string{"a", "b", "c"})
	redistest.Eventually(t, soon, "a finish to be broken", func() bool { return broken.Load() > 0 })
	close(healed)
	var outcomes []string // in any order: what was not answered goes apart from the rest
	for range 3 {
		outcomes = append(outcomes, receive(t, "the outcome", settled))
	}
	slices.Sort(outcomes)
	want(t, "settled", outcomes, []string{"a done <nil>", "b done <nil>", "c done <nil>"})
	enqueue(t, watcher, "q", "marker")
	if got := receive(t, "a run", ran); got != "marker" {
		t.Errorf("ran %q again", got)
	}
	var done []string
	for range 4 {
		done = append(done, string(receive(t, "a done event", heard).Task))
	}
	slices.Sort(done)
	want(t, "done, each once", done, []string{"a", "b", "c", "marker"})
}

// scenario 74: all connections fail for longer than a few attempts take, and the handler itself
// asks for the finish
func TestFinishOutlivesAnOutage(t *testing.T) {
	t.Parallel()
	m, proxy := mortal(t, redistest.Namespace(t))
	w := start(t, m, worqr.WorkerConfig{Lapse: 60 * time.Second, Beat: 20 * time.Second, Sweep: 20 * time.Second}, "q")
	enqueue(t, m, "q", "a", "b")
	p, other := take(t, w, "q"), take(t, w, "q")
	proxy.Refuse(true)
	short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if ok, err := p.Finish(short); ok || !errors.Is(err, worqr.ErrUnknown) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Finish: %v, %v; want ErrUnknown at the end of its context", ok, err)
	}
	if err := p.Stop(t.Context()); !errors.Is(err, worqr.ErrSettled) {
		t.Errorf("Stop: %v, want ErrSettled: only the first outcome is ever sent", err)
	}
	result := make(chan bool, 1)
	go func() {
		ok, err := p.Finish(t.Context()) // answers what becomes of the first
		if err != nil {
			t.Error(err)
		}
		result <- ok
	}()
	proxy.Refuse(false)
	if !receive(t, "the finish", result) {
		t.Error("Finish: false, want true")
	}
	want(t, "in hand", held(t, m, "q"), []string{w.ID() + ":b"})
	finish(t, other)
}
