package integration

import (
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// usual are the default times of a worker.
var usual = timing{Beat: time.Second, Lapse: 3 * time.Second, Margin: 300 * time.Millisecond, Sweep: time.Second}

// clocked is a server whose wall clock a test can step.
type clocked struct {
	*redistest.Server
	file  *os.File // 8 bytes: by how many seconds it is off
	shift time.Duration
}

func newClocked(t testing.TB, library string) *clocked {
	t.Helper()
	path := filepath.Join(t.TempDir(), "clock")
	if err := os.WriteFile(path, make([]byte, 8), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return &clocked{Server: redistest.OwnWithEnv(t, []string{"LD_PRELOAD=" + library, "WORQR_CLOCK_FILE=" + path}), file: file}
}

// step moves the server's wall clock forward, or back.
func (c *clocked) step(t testing.TB, by time.Duration) {
	t.Helper()
	c.shift += by
	if _, err := c.file.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(int64(c.shift.Seconds()))), 0); err != nil {
		t.Fatal(err)
	}
}

// stepping is a field whose server's clock goes back: where the server is, or because a replica
// takes its place.
type stepping struct {
	*field
	way   *redistest.Proxy // to the server, whichever it is
	clock *clocked
	by    time.Duration
	heir  *clocked // that replica, or nil
}

// eachStep runs a test with each way and each width of a step back.
func eachStep(t *testing.T, test func(t *testing.T, s *stepping)) {
	if testing.Short() {
		t.Skip("it waits for lapses")
	}
	library := buildClock(t)
	for _, by := range []time.Duration{10 * time.Second, time.Minute, time.Hour} {
		for _, how := range []string{"in place", "by a replica"} {
			t.Run(fmt.Sprintf("%v %s", by, how), func(t *testing.T) {
				t.Parallel()
				s := newStepping(t, library, by)
				if how == "by a replica" {
					s.follow(t, newClocked(t, library))
				}
				test(t, s)
			})
		}
	}
}

func newStepping(t testing.TB, library string, by time.Duration) *stepping {
	t.Helper()
	clock := newClocked(t, library)
	s := &stepping{clock: clock, by: by, way: redistest.NewProxy(t, clock.URL())}
	s.field = &field{server: clock.Server, ns: redistest.Namespace(t), conn: clock.Conn(t)}
	s.mesh = s.client(t, s.way.URL())
	return s
}

func (s *stepping) client(t testing.TB, url string) *worqr.Mesh {
	t.Helper()
	m, err := worqr.Open(t.Context(), url, worqr.Config{Namespace: s.ns})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() }) // its connections may be gone
	return m
}

// follow makes a server whose clock is behind a replica.
func (s *stepping) follow(t testing.TB, heir *clocked) {
	t.Helper()
	s.heir = heir
	heir.step(t, -s.by)
	host, port, err := net.SplitHostPort(s.server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := heir.Conn(t).Do("REPLICAOF", host, port); err != nil {
		t.Fatal(err)
	}
	redistest.Eventually(t, soon, "the replica follows", func() bool {
		n, err := redis.Int(s.conn.Do("WAIT", 1, 1000))
		return err == nil && n == 1
	})
}

// back steps the clock back, and returns when that is done.
func (s *stepping) back(t testing.TB) (at time.Duration) {
	t.Helper()
	if s.heir == nil {
		s.clock.step(t, -s.by)
		return stamp()
	}
	conn := s.heir.Conn(t)
	s.server.Kill(t)
	if _, err := conn.Do("REPLICAOF", "NO", "ONE"); err != nil {
		t.Fatal(err)
	}
	s.server, s.clock, s.conn = s.heir.Server, s.heir, conn
	s.way.Retarget(s.server)
	return stamp()
}

// scenario 115: Redis's clock goes back by 10 s, a minute, an hour, in place or by promoting a
// replica that is behind; then a worker is killed: reclaimed within 2T plus one interval plus 1 s,
// whatever stored claims and dates say.
func TestAWorkerIsReclaimedAfterTheClockWentBack(t *testing.T) {
	t.Parallel()
	eachStep(t, func(t *testing.T, s *stepping) {
		const tasks = 9
		limit := 2*usual.Lapse + usual.Sweep + time.Second
		s.enqueue(t, named("t", tasks)...)
		up := map[string]*daemon{}
		for range 3 {
			d := s.daemon(t, setup{URL: s.way.URL(), Queue: queue, Do: "hold", Limit: tasks / 3, Timing: usual})
			up[d.joined(t, 1)] = d
		}
		redistest.Eventually(t, soon, "all are held", func() bool { return len(s.held(t)) == tasks })
		heir := s.daemon(t, setup{URL: s.way.URL(), Queue: queue, Do: "hold", Limit: 3 * tasks, Timing: usual})
		s.awaitMember(t, heir.joined(t, 1))
		pass(usual.Lapse + usual.Sweep) // the doubt of the start passes
		var owner string
		redistest.Eventually(t, soon, "somebody has claimed the round", func() bool {
			owner, _ = redis.String(s.conn.Do("GET", s.meshKey("sweep")))
			return owner != ""
		})
		if up[owner] == nil { // it is the one that takes over
			for owner = range up {
			}
		}
		at := s.back(t)
		for _, when := range []string{"at the step", "after the doubt of the step"} {
			victim := up[owner]
			victim.Kill(t)
			delete(up, owner)
			redistest.Eventually(t, 2*soon, "its tasks run again", func() bool { return len(heir.deliveries(t)) >= heir.seen+tasks/3 })
			var last time.Duration
			for range tasks / 3 {
				last = max(last, heir.next(t).at-at)
			}
			t.Logf("a worker was killed %s: %d tasks run again %v later", when, tasks/3, last.Round(time.Millisecond))
			if last > limit {
				t.Errorf("a worker was killed %s: its tasks run again after %v, want %v at most", when, last, limit)
			}
			for owner = range up {
			}
			pass(usual.Lapse)
			at = stamp()
		}
	})
}
