package integration

import (
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/redistest"
)

const off = 10 * time.Minute

// scenario 35: the workers' wall clocks are ten minutes off, in both directions. The server's clock
// is shifted here, which has the same effect: no other two clocks could be compared. All that is
// sent is checked too: no argument of any command carries what a client's clock shows.
func TestAWorkersClockIsTenMinutesOff(t *testing.T) {
	t.Parallel()
	library := buildClock(t)
	for _, shift := range []time.Duration{off, -off} {
		t.Run(shift.String(), func(t *testing.T) {
			t.Parallel()
			server := redistest.OwnWithEnv(t, []string{
				"LD_PRELOAD=" + library, fmt.Sprintf("WORQR_CLOCK_SHIFT=%.0f", shift.Seconds()),
			})
			f := fieldAt(t, server)
			clock, err := redis.Int64s(f.conn.Do("TIME"))
			if err != nil {
				t.Fatal(err)
			}
			if d := time.Until(time.Unix(clock[0], 0)) - shift; d.Abs() > off/2 {
				t.Fatalf("the server's clock is not shifted by %v, but %v more", shift, d)
			}
			proxy := redistest.NewProxy(t, server.URL())
			sent := watchClocks(t, proxy)

			f.enqueue(t, "t1", "t2")
			a := f.daemon(t, setup{URL: proxy.URL(), Queue: queue, Do: "hold"})
			t1 := a.nextIs(t, "t1")
			b := f.daemon(t, setup{URL: proxy.URL(), Queue: queue, Do: "hold"})
			t2 := b.nextIs(t, "t2")
			// never reclaimed while alive
			sent.sweeps.await(t, 12)
			if held := f.held(t); !slices.Equal(held, []string{t1.process + " t1", t2.process + " t2"}) {
				t.Fatalf("in hand: %v", held)
			}
			// never immortal when dead
			a.Kill(t)
			f.awaitGone(t, t1.worker())
			b.mustFinish(t, t2)
			b.mustFinish(t, b.nextIs(t, "t1"))
			f.enqueue(t, "t3")
			t3 := b.nextIs(t, "t3")
			if _, err := f.mesh.Cancel(t.Context(), queue, []byte("t3")); err != nil {
				t.Fatal(err)
			}
			b.await(t, "ended "+t3.process+" ")
			b.end(t)
			f.awaitClean(t)
			sent.none(t)
		})
	}
}

// buildClock builds the library that shifts a server's clock.
func buildClock(t *testing.T) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skipf("needs a C compiler, as the race detector does: %v", err)
	}
	library := filepath.Join(t.TempDir(), "clock.so")
	if out, err := exec.Command(cc, "-shared", "-fPIC", "-O1", "-o", library, "testdata/clock.c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return library
}

// sentClocks are the arguments of commands that lie close to what this machine's clock shows. The
// server's clock is off by more, so what the server made does not.
type sentClocks struct {
	sweeps sweepCount

	mu       sync.Mutex
	commands int
	found    []string
}

func watchClocks(t *testing.T, proxy *redistest.Proxy) *sentClocks {
	t.Helper()
	s, sweep := &sentClocks{sweeps: sweepCount{make(chan struct{}, 100)}}, lua(t, "sweep")
	proxy.Intercept(func(c redistest.Command) redistest.Action {
		if sweep.is(c) {
			raise(s.sweeps.seen)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.commands++
		for _, arg := range c.Args {
			if n, err := strconv.ParseFloat(string(arg), 64); err == nil && nearNow(n) {
				s.found = append(s.found, fmt.Sprintf("%.200q", c.Args))
			}
		}
		return redistest.Pass
	})
	return s
}

// nearNow reports whether a number is this instant, to three minutes, in some unit since the epoch.
func nearNow(n float64) bool {
	now := float64(time.Now().UnixNano())
	for _, unit := range []time.Duration{time.Nanosecond, time.Microsecond, time.Millisecond, time.Second} {
		if math.Abs(n*float64(unit)-now) < float64(3*time.Minute) {
			return true
		}
	}
	return false
}

func (s *sentClocks) none(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.commands < 50 {
		t.Errorf("only %d commands were seen", s.commands)
	}
	if len(s.found) > 0 {
		t.Errorf("%d commands carry a client's clock, the first: %s", len(s.found), s.found[0])
	}
}
