package integration

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// scenario 40: 50 workers in ten processes that are killed, frozen, stopped and started at random,
// while their way to Redis is slow at random and is cut now and then.
func TestStorm(t *testing.T) {
	const processes, workers, tasks = 10, 5, 10_000
	length := 20 * time.Second
	if os.Getenv("WORQR_LONG") != "" {
		length = time.Minute
	}
	s := &storm{field: newField(t), r: seeded(t), counts: map[string]int{}}
	told := s.listen(t)
	s.proxy = redistest.NewProxy(t, s.server.URL())
	s.proxy.Latency(latency)
	for range processes {
		s.up = append(s.up, s.daemon(t, s.setup(workers)))
	}
	s.all = append(s.all, s.up...)

	names := named("t", tasks)
	began := stamp()
	for sent, next := 0, began; stamp()-began < length; pass(20 * time.Millisecond) {
		due := min(tasks, int(int64(tasks)*int64(stamp()-began)/int64(length*9/10)))
		if sent < due {
			s.enqueue(t, names[sent:due]...)
			sent = due
		}
		if now := stamp(); now >= next {
			s.strike(t, workers)
			next = now + 300*time.Millisecond + time.Duration(s.r.IntN(int(500*time.Millisecond)))
		}
	}
	s.proxy.Latency(nil)
	s.thaw(t)
	redistest.Eventually(t, 3*soon, "every task is finished", func() bool { return told.count() >= tasks })
	told.onlyOnce(t, names...)
	for _, d := range s.up {
		d.joined(t, workers)
	}
	s.awaitRegistered(t, processes*workers)
	for _, d := range s.up {
		d.Term(t)
	}
	for _, d := range s.up {
		if code := d.Wait(t, soon); code != 0 {
			t.Errorf("exit code %d", code)
		}
	}
	s.awaitClean(t)
	s.review(t)
}

type storm struct {
	*field
	r       *rand.Rand
	proxy   *redistest.Proxy
	up, all []*daemon
	frozen  []*daemon
	counts  map[string]int
}

func (s *storm) setup(workers int) setup {
	return setup{
		URL: s.proxy.URL(), Workers: workers, Queue: queue, Limit: 2, Do: "nap", Nap: 20 * time.Millisecond, Grace: soon, Takeover: worqr.TakeoverFast,
	}
}

// latency returns a millisecond or two, and now and then as much as casts doubt on a judge that
// meets it.
func latency() time.Duration {
	if rand.IntN(200) == 0 {
		return rand.N(100 * time.Millisecond)
	}
	return rand.N(2 * time.Millisecond)
}

// strike does one thing to one of the processes, or to all connections.
func (s *storm) strike(t *testing.T, workers int) {
	t.Helper()
	i := s.r.IntN(len(s.up))
	d := s.up[i]
	replace := func() {
		s.up[i] = s.daemon(t, s.setup(workers))
		s.all = append(s.all, s.up[i])
	}
	what := []string{"kill", "kill", "kill", "stop", "freeze", "freeze", "thaw", "thaw", "cut"}[s.r.IntN(9)]
	switch what {
	case "kill":
		d.Kill(t)
		replace()
	case "stop": // a frozen one would not end before it is killed
		s.thaw(t)
		d.Term(t)
		replace()
	case "freeze":
		d.Freeze(t)
		s.frozen = append(s.frozen, d)
	case "thaw":
		s.thaw(t)
	case "cut":
		s.proxy.Cut()
	}
	s.counts[what]++
}

// thaw lets all continue that were frozen and live.
func (s *storm) thaw(t *testing.T) {
	t.Helper()
	for _, d := range s.frozen {
		select {
		case <-d.Exited():
		default:
			d.Thaw(t)
		}
	}
	s.frozen = nil
}

// review checks what the daemons printed: none learned twice that it finished a task.
func (s *storm) review(t *testing.T) {
	t.Helper()
	won, ran := map[string]int{}, 0
	for _, d := range s.all {
		task := map[string]string{}
		for _, run := range d.deliveries(t) {
			task[run.process] = run.task
			ran++
		}
		for _, rest := range d.said("finished ") {
			process, answer, _ := strings.Cut(rest, " ")
			if strings.HasPrefix(answer, "true") {
				won[task[process]]++
			}
		}
	}
	for name, n := range won {
		if n > 1 {
			t.Errorf("%s: finish answered true %d times", name, n)
		}
	}
	t.Logf("%v; %d processes in all; %d runs, %d times a live caller was told true", s.counts, len(s.all), ran, len(won))
}
