package integration

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/redistest"
)

// ledger receives every finish, from the script that makes it true, over a connection without
// faults. So it also knows those whose owner died before it could report.
type ledger struct {
	f    *field
	conn redis.Conn

	mu       sync.Mutex
	finished map[string]int         // by task
	tokens   map[string][]int64     // by task
	at       map[int]map[string]int // what was finished at each snapshot
	marks    int
}

func (f *field) listen(t testing.TB) *ledger {
	t.Helper()
	conn, err := redis.DialURL(f.server.URL())
	if err != nil {
		t.Fatal(err)
	}
	l := &ledger{f: f, conn: conn, finished: map[string]int{}, tokens: map[string][]int64{}, at: map[int]map[string]int{}}
	sub := redis.PubSubConn{Conn: conn}
	if err := sub.Subscribe(f.channels(t)+":"+queue+":done", f.channels(t)+":ledger"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, ok := sub.Receive().(redis.Subscription); !ok {
			t.Fatal("not subscribed")
		}
	}
	var reading sync.WaitGroup
	reading.Go(func() {
		for {
			switch m := sub.Receive().(type) {
			case redis.Message:
				l.note(m)
			case error:
				return
			}
		}
	})
	t.Cleanup(func() {
		_ = conn.Close()
		reading.Wait()
	})
	return l
}

func (l *ledger) note(m redis.Message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if strings.HasSuffix(m.Channel, ":ledger") {
		n, _ := strconv.Atoi(string(m.Data)) // this package published it
		l.at[n] = maps.Clone(l.finished)
		return
	}
	head, task, _ := strings.Cut(string(m.Data), "\n")
	token, _ := strconv.ParseInt(head[strings.LastIndexByte(head, ' ')+1:], 10, 64)
	l.finished[task]++
	l.tokens[task] = append(l.tokens[task], token)
}

func (l *ledger) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.finished)
}

// onlyOnce waits until these tasks are finished, and shows that each was once, and nothing else
// was.
func (l *ledger) onlyOnce(t testing.TB, tasks ...string) {
	t.Helper()
	redistest.Eventually(t, soon, fmt.Sprintf("%d tasks are finished", len(tasks)), func() bool { return l.count() >= len(tasks) })
	s := l.snapshot(t) // so that a second finish that is under way is received too
	for task, n := range s.finished {
		if n != 1 {
			t.Errorf("%q was finished %d times", task, n)
		}
	}
	if got := slices.Sorted(maps.Keys(s.finished)); !slices.Equal(got, sorted(tasks)) {
		t.Errorf("finished: %s, want %s", short(got), short(sorted(tasks)))
	}
}

// snapshot is the queue at one instant.
type snapshot struct {
	waiting  []string
	inHand   []string
	finished map[string]int
}

// One script reads what waits and what is in hand, and publishes to the ledger: whatever was
// finished before is heard before, on the same connection.
const snapshotScript = `
	local q = KEYS[1]
	local inHand = {}
	local function add(m)
		for _, n in ipairs(redis.call('ZRANGE', q..':processes:'..m, 0, -1)) do
			inHand[#inHand + 1] = redis.call('LINDEX', q..':process:'..m..'.'..n, 0)
		end
	end
	for _, m in ipairs(redis.call('HKEYS', q..':workers')) do add(m) end
	for _, m in ipairs(redis.call('SMEMBERS', q..':returning')) do add(m) end
	redis.call('PUBLISH', ARGV[1], ARGV[2])
	return {redis.call('LRANGE', q..':tasks', 0, -1), inHand}`

func (l *ledger) snapshot(t testing.TB) snapshot {
	t.Helper()
	l.marks++
	n := l.marks
	reply, err := redis.Values(l.f.conn.Do("EVAL", snapshotScript, 1, l.f.ns+":{"+queue+"}", l.f.channels(t)+":ledger", n))
	var s snapshot
	if err == nil {
		_, err = redis.Scan(reply, &s.waiting, &s.inHand)
	}
	if err != nil {
		t.Fatal(err)
	}
	redistest.Eventually(t, soon, "the ledger has the snapshot", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		s.finished = l.at[n]
		delete(l.at, n)
		return s.finished != nil
	})
	return s
}

// lastHeld returns the last instant at which this process was reported to be held.
func (d *daemon) lastHeld(t testing.TB, run delivery) time.Duration {
	t.Helper()
	last := run.at
	for _, rest := range d.said("hold " + run.process + " ") {
		_, at, _ := strings.Cut(rest, " ")
		ns, err := strconv.ParseInt(at, 10, 64)
		if err != nil {
			t.Fatalf("hold %q", rest)
		}
		last = max(last, time.Duration(ns))
	}
	return last
}
