package simulator

import (
	"os"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/redistest"
)

const (
	schedules = 20000 // how many run by default
	holds     = 12000 // of persistent tasks, which are as dear as 18,000
	lanes     = 4     // at once, to keep Redis busy
)

// scenario 27, scenario 41, scenario 92, scenario 98, scenario 100, scenario 101, scenario 102,
// scenario 103,
// scenario 104, scenario 105
func TestSchedules(t *testing.T) { runAll(t, schedules, false, expected) }

// The same of persistent tasks: at most one holder, a present task is somewhere, and no checkpoint
// goes back.
// scenario 97, scenario 98, scenario 100, scenario 101, scenario 103
func TestPersistentSchedules(t *testing.T) { runAll(t, holds, true, expectedOfHolds) }

// runAll runs the schedules of one kind of queue. expected is what they must have brought about.
func runAll(t *testing.T, count int, persistent bool, expected []string) {
	if slow {
		count /= 10
	}
	first, count := seeds(t, count)
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // a state a command is much garbage
	end := first + uint64(count)
	begun := time.Now()
	// Whom a wake-up reaches depends on whether anybody listens: the odd seeds have a server with a
	// listener.
	silent, heard := redistest.Own(t), redistest.Own(t)
	listen(t, heard)
	var commands, ran atomic.Int64
	var rare tally
	var next [2]atomic.Uint64
	next[first%2].Store(first)
	next[(first+1)%2].Store(first + 1)
	var running sync.WaitGroup
	for lane := range lanes {
		odd := lane % 2
		on, db := []*redistest.Server{silent, heard}[odd], lane/2
		conn := on.Conn(t)
		if _, err := conn.Do("SELECT", db); err != nil {
			t.Fatal(err)
		}
		s, err := newServer(conn, on.Conn(t), db, odd == 1)
		if err != nil {
			t.Fatal(err)
		}
		running.Go(func() {
			for !t.Failed() {
				seed := next[odd].Add(2) - 2
				if seed >= end {
					return
				}
				w, err := run(s, seed, persistent)
				if err != nil {
					t.Errorf("WORQR_SEED=%d go test -run '%s$' ./integration/simulator: %v\n%s", seed, t.Name(), err, w.history())
					return
				}
				if count == 1 {
					t.Logf("seed %d\n%s", seed, w.history())
				}
				ran.Add(1)
				commands.Add(int64(w.commands))
				rare.add(w.rare)
			}
		})
	}
	running.Wait()
	rare.check(t, int(ran.Load()), expected)
	t.Logf("%d schedules of seeds %d to %d, %d commands, in %v", ran.Load(), first, end-1, commands.Load(), time.Since(begun).Round(time.Second))
}

// run runs the schedule of one seed on an empty database.
func run(s *server, seed uint64, persistent bool) (*world, error) {
	w := newWorld(s, seed, persistent)
	if err := s.reset(); err != nil {
		return w, err
	}
	return w, w.schedule()
}

// listen subscribes to everything, until the end of the test.
func listen(t *testing.T, s *redistest.Server) {
	conn := s.Conn(t)
	sub := redis.PubSubConn{Conn: conn}
	if err := sub.PSubscribe("*"); err != nil {
		t.Fatal(err)
	}
	sub.Receive()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			if _, failed := sub.Receive().(error); failed {
				return
			}
		}
	}()
	t.Cleanup(func() {
		conn.Close()
		<-ended
	})
}

// seeds returns the first seed and how many schedules to run.
func seeds(t *testing.T, count int) (uint64, int) {
	if s := os.Getenv("WORQR_SEED"); s != "" {
		seed, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatalf("WORQR_SEED: %v", err)
		}
		return seed, 1
	}
	if s := os.Getenv("WORQR_SCHEDULES"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("WORQR_SCHEDULES: %v", err)
		}
		count = n
	}
	return uint64(time.Now().UnixMilli()) * 1000, count
}
