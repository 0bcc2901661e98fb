package worqr_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/worqr/worqr-go/events"
	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// scenario 67: on reconnect. The worker does not look by itself within this test.
func TestTaskEnqueuedWhileUnsubscribedRunsOnReconnect(t *testing.T) {
	t.Parallel()
	ns := redistest.Namespace(t)
	m, proxy := deaf(t, ns)
	c := redistest.Shared(t).Conn(t)
	producer := openAt(t, redistest.Shared(t).URL(), worqr.Config{Namespace: ns})
	ran := make(chan string, 10)
	run(t, m, handling(patient(), "q", 1, gather(ran)))
	heard := make(chan events.Event, 100)
	seed := start(t, m, patient())
	if _, err := seed.On("taken", func(e events.Event) { heard <- e }); err != nil {
		t.Fatal(err)
	}
	if err := seed.StartWork(t.Context(), "taken"); err != nil {
		t.Fatal(err)
	}
	for _, task := range numbered("t", 5) {
		redistest.Eventually(t, soon, "the subscription", m.Listener().Ready)
		awaitIdle(t, c, ns, "q", 1)
		proxy.Refuse(true)
		redistest.Eventually(t, soon, "the subscription is lost", func() bool { return !m.Listener().Ready() })
		enqueue(t, producer, "q", task)
		enqueue(t, producer, "taken", task)
		if len(ran) > 0 {
			t.Fatalf("%q has run, so the subscription was not lost", <-ran)
		}
		proxy.Refuse(false)
		if got := receive(t, "a run", ran); got != task {
			t.Errorf("ran %q, want %q", got, task)
		}
		// the seed's way: the callback is told that there is work
		for receive(t, "a work event", heard).Kind != events.Work {
		}
		finish(t, take(t, seed, "taken"))
		for receive(t, "the done event", heard).Kind != events.Done {
		}
	}
}

// scenario 67, scenario 70: no notification arrives, ever. It measures time: no other test runs
// beside its faults.
func TestTasksRunWithoutAnyNotification(t *testing.T) {
	for name, fault := range map[string]func(*redistest.Proxy){
		"refused": func(p *redistest.Proxy) { p.Refuse(true) },
		"silent":  func(p *redistest.Proxy) { p.Freeze(redistest.ToClient) },
	} {
		for _, queues := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s, %d queues", name, queues), func(t *testing.T) {
				t.Parallel()
				runsWithoutNotification(t, queues, fault)
			})
		}
	}
}

func runsWithoutNotification(t *testing.T, queues int, fault func(*redistest.Proxy)) {
	ns := redistest.Namespace(t)
	m, proxy := deaf(t, ns)
	defer proxy.Thaw()
	c := redistest.Shared(t).Conn(t)
	producer := openAt(t, redistest.Shared(t).URL(), worqr.Config{Namespace: ns})
	const beat = time.Second // the default
	type first struct {
		task string
		at   time.Time
	}
	ran := make(chan first, 100)
	cfg := worqr.WorkerConfig{}
	names := numbered("q", queues)
	for _, q := range names {
		cfg = handling(cfg, q, 1, func(_ context.Context, p *worqr.Process) error {
			ran <- first{string(p.Task()), time.Now()}
			return nil
		})
	}
	run(t, m, cfg)
	redistest.Eventually(t, soon, "the subscription", m.Listener().Ready)
	for _, q := range names {
		awaitIdle(t, c, ns, q, 1) // an enqueue pops it, and its wake-up is lost
	}
	fault(proxy)
	enqueued := map[string]time.Time{}
	for _, q := range names {
		enqueue(t, producer, q, q+" a", q+" b")
		enqueued[q+" a"], enqueued[q+" b"] = time.Now(), time.Now()
	}
	limit := time.Duration(queues)*beat + beat/2 // one beat per queue served, and its turn
	for range enqueued {
		r := receive(t, "a run", ran)
		if took := r.at.Sub(enqueued[r.task]); took > limit {
			t.Errorf("%s ran after %v, want %v at most", r.task, took, limit)
		}
	}
}

// scenario 68
func TestWakeUpsAreNoStorm(t *testing.T) {
	t.Parallel()
	const workers, tasks = 100, 1_000
	for name, pieces := range map[string]int{"one by one": 1, "at once": tasks} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := redistest.Namespace(t)
			m, proxy := mortal(t, ns)
			c := redistest.Shared(t).Conn(t)
			producer := openAt(t, redistest.Shared(t).URL(), worqr.Config{Namespace: ns})
			ran := make(chan string, tasks)
			var runs sync.Map
			cfg := handling(patient(), "q", 1, func(_ context.Context, p *worqr.Process) error {
				if _, twice := runs.LoadOrStore(string(p.Task()), true); twice {
					t.Errorf("%s ran twice", p.Task())
				}
				ran <- string(p.Task())
				return nil
			})
			for range workers {
				run(t, m, cfg)
			}
			awaitIdle(t, c, ns, "q", workers)
			commands := counted(proxy)
			list := numbered("t", tasks)
			for i := 0; i < tasks; i += pieces {
				enqueue(t, producer, "q", list[i:i+pieces]...)
			}
			for range tasks {
				receive(t, "a run", ran)
			}
			awaitIdle(t, c, ns, "q", workers)
			// A task costs the take that brings it and the one after it, which brings another one
			// or parks. The bound leaves room for wake-ups that came too late.
			takes, wakes := commands("take"), commands("wake")
			t.Logf("%d takes, %d wake-ups passed on", takes, wakes)
			if most := 3*tasks + 2*workers; takes > most || wakes > most {
				t.Errorf("%d takes and %d wake-ups passed on for %d tasks and %d workers, want %d at most", takes, wakes, tasks, workers, most)
			}
			if takes < workers {
				t.Errorf("only %d takes are counted", takes)
			}
		})
	}
}

// scenario 68: of idle workers, each task wakes as many as it takes and no more
func TestOneTaskWakesOneWorker(t *testing.T) {
	t.Parallel()
	const workers = 50
	ns := redistest.Namespace(t)
	m, proxy := mortal(t, ns)
	c := redistest.Shared(t).Conn(t)
	ran := make(chan string, 10)
	for range workers {
		run(t, m, handling(patient(), "q", 1, gather(ran)))
	}
	awaitIdle(t, c, ns, "q", workers)
	redistest.Eventually(t, soon, "the subscriptions", m.Listener().Ready)
	commands := counted(proxy)
	quiet, judged := -1, 0 // looks until the task before; those that follow the subscription find tasks, too
	for _, task := range numbered("t", 60) {
		looks, before := commands("look"), commands("take")
		enqueue(t, m, "q", task)
		receive(t, "a run", ran)
		awaitIdle(t, c, ns, "q", workers)
		n := commands("take") - before
		if rested := quiet == looks && commands("look") == looks; rested {
			judged++
			if n > 2 { // the one that brings it and the one that parks again
				t.Errorf("%s cost %d takes, want 2", task, n)
			}
		}
		quiet = looks
	}
	if judged == 0 {
		t.Error("the workers never came to rest")
	}
}
