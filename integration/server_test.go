package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// stream is two daemons that work, and a producer that goes on whatever becomes of the server.
type stream struct {
	*field
	daemons []*daemon
	tasks   []string
}

// working starts a stream.
func working(t testing.TB, server *redistest.Server) *stream {
	t.Helper()
	s := &stream{field: fieldAt(t, server)}
	for range 2 {
		s.daemons = append(s.daemons, s.daemon(t, setup{Queue: queue, Limit: 4, Do: "nap", Nap: 10 * time.Millisecond, Takeover: worqr.TakeoverFast}))
	}
	for _, d := range s.daemons {
		s.awaitMember(t, d.joined(t, 1))
	}
	s.more(t)
	return s
}

// more enqueues tasks one by one until each was certainly accepted. After an unknown outcome it
// tries again under another name, so that a task that was stored all the same is not mistaken for
// one that ran twice.
func (s *stream) more(t testing.TB) {
	t.Helper()
	for range 40 {
		redistest.Eventually(t, soon, "the server accepts a task", func() bool {
			name := fmt.Sprintf("t%05d", len(s.tasks))
			s.tasks = append(s.tasks, name)
			if err := s.mesh.Enqueue(t.Context(), queue, []byte(name)); err != nil {
				s.tasks[len(s.tasks)-1] = "" // may or may not be there
				return false
			}
			return true
		})
	}
}

// recovered waits until every accepted task is finished, by the processes that there were before,
// and shows that none was finished twice.
func (s *stream) recovered(t testing.TB) {
	t.Helper()
	s.more(t)
	won := map[string]int{}
	missing := ""
	redistest.Eventually(t, 2*soon, "every task is finished", func() bool {
		clear(won)
		unknown := map[string]bool{}
		for _, d := range s.daemons {
			task := map[string]string{}
			for _, run := range d.deliveries(t) {
				task[run.process] = run.task
			}
			for _, rest := range d.said("finished ") {
				process, answer, _ := strings.Cut(rest, " ")
				switch {
				case strings.HasPrefix(answer, "true"):
					won[task[process]]++
				case strings.Contains(answer, "unknown"):
					unknown[task[process]] = true
				}
			}
		}
		for _, name := range s.tasks {
			if name != "" && won[name] == 0 && !unknown[name] {
				missing = name
				return false
			}
		}
		return true
	})
	for name, n := range won {
		if n > 1 {
			t.Errorf("%s: finish answered true %d times (%s was the last one missing)", name, n, missing)
		}
	}
	s.awaitRegistered(t, len(s.daemons))
	for _, d := range s.daemons {
		d.end(t)
	}
	s.conn = s.server.Conn(t) // the old one may have ended with the server
	s.awaitClean(t)
}

// scenario 91
func TestScriptsAreFlushedWhileTheyRun(t *testing.T) {
	t.Parallel()
	s := working(t, redistest.Own(t))
	told := s.listen(t)
	for range 30 {
		if _, err := s.conn.Do("SCRIPT", "FLUSH"); err != nil {
			t.Fatal(err)
		}
		before := told.count()
		s.enqueue(t, fmt.Sprintf("flushed %d", before))
		redistest.Eventually(t, soon, "a task is finished after the flush", func() bool { return told.count() > before })
	}
	s.recovered(t)
}

// scenario 91: the server restarts, by SIGTERM and by SIGKILL, shorter and longer than the lapse.
// What it acknowledged is on its disk.
func TestTheServerRestarts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		end  func(*redistest.Server, testing.TB)
		down time.Duration
	}{
		{"stopped", (*redistest.Server).Stop, 0},
		{"killed", (*redistest.Server).Kill, 0},
		{"killed and down for longer than the lapse", (*redistest.Server).Kill, 2 * brisk.Lapse},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := working(t, redistest.Own(t, "--appendonly", "yes", "--appendfsync", "always"))
			for range 2 {
				s.more(t)
				c.end(s.server, t)
				pass(c.down)
				s.server.Start(t)
			}
			s.recovered(t)
		})
	}
}

// scenario 91: for a while the server is a replica of one that does not answer, and refuses every
// write.
func TestTheServerIsReadOnlyForAWhile(t *testing.T) {
	t.Parallel()
	s := working(t, redistest.Own(t))
	nobody := redistest.NewProxy(t, s.server.URL())
	nobody.Refuse(true)
	host, port, _ := strings.Cut(nobody.Addr(), ":")
	s.more(t)
	replicaOf := func(host, port string) {
		if _, err := s.conn.Do("REPLICAOF", host, port); err != nil {
			t.Fatal(err)
		}
	}
	replicaOf(host, port)
	_, err := s.conn.Do("SET", s.meshKey("mesh"), "x")
	if refused, ok := err.(redis.Error); !ok || !strings.HasPrefix(string(refused), "READONLY") {
		t.Fatalf("a write: %v; want READONLY", err)
	}
	pass(brisk.Lapse / 2)
	replicaOf("NO", "ONE")
	s.recovered(t)
}
