package pipeline_test

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/pipeline"
	"github.com/worqr/worqr-go/internal/redistest"
)

// storm is a Redis behind faults. The fate of a call is drawn from the seed and the call's number
// alone. So the same seed makes the same storm, whichever caller makes which call.
type storm struct {
	t       *testing.T
	seed    uint64
	calls   uint64
	proxy   *redistest.Proxy
	pipe    *pipeline.Pipe
	scripts [kinds]string

	mu     sync.Mutex
	direct redis.Conn

	next         atomic.Int64
	seen, unsent numbers
	newest       atomic.Int64 // connection
	back         atomic.Int64 // how often an older one was used again

	answered, refused, left, late, lost, notSent atomic.Int64
}

// The kinds of command.
const (
	echo = iota
	nest
	refuse
	kinds
)

// The faults. The caller raises the first two before its call. The others meet the call at the
// proxy.
const (
	none = iota
	cutAll
	killAll // CLIENT KILL
	cutBefore
	cutAfter
	silence // the connection replies no more
	slow    // it goes on after 50 ms
)

// One call in so many meets a fault, in this order.
const faultEvery = 2500

var faults = []int{
	cutAll, cutBefore, cutAfter, killAll, slow, cutAll, cutBefore, cutAfter, silence,
	cutAll, cutBefore, cutAfter, killAll, slow, cutAll, cutBefore, cutAfter, slow,
}

const maxPayload = 64 << 10

func newStorm(t *testing.T, calls int) *storm {
	server := redistest.Own(t) // CLIENT KILL spares nobody
	s := &storm{t: t, seed: seeded(t), calls: uint64(calls), proxy: redistest.NewProxy(t, server.URL()), direct: server.Conn(t)}
	s.seen, s.unsent = make(numbers, calls/64+1), make(numbers, calls/64+1)
	for kind, script := range map[int]string{
		nest:   "return {#ARGV[1], false, ARGV[1]}",
		refuse: "return {err = 'ODD ' .. ARGV[1]}",
	} {
		sha, err := redis.String(s.direct.Do("SCRIPT", "LOAD", script))
		if err != nil {
			t.Fatal(err)
		}
		s.scripts[kind] = sha
	}
	s.proxy.Intercept(s.see)
	return s
}

// draw returns the random number of call id for one question.
func (s *storm) draw(id, question uint64) uint64 {
	x := s.seed + id*0x9e3779b97f4a7c15 + question*0xd1b54a32d192ed03 // splitmix64
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (s *storm) fault(id uint64) int {
	if n := id + s.seed%faultEvery; n%faultEvery == 0 {
		return faults[n/faultEvery%uint64(len(faults))]
	}
	return none
}

func (s *storm) kind(id uint64) int {
	switch s.draw(id, 1) % 16 {
	case 0:
		return refuse
	case 1:
		return nest
	}
	return echo
}

// patience reports whether the context of a call may end before its reply, and when.
func (s *storm) patience(id uint64) (time.Duration, bool) {
	x := s.draw(id, 2)
	return time.Duration(x>>8%3000) * time.Microsecond, x%32 == 0
}

// hurried reports whether a call is a Try.
func (s *storm) hurried(id uint64) bool { return s.draw(id, 5)%4 == 0 }

// payload returns the number of the call and what fills it up: mostly little, sometimes more than a
// buffer holds.
func (s *storm) payload(b []byte, id uint64) []byte {
	size := 16 + int(s.draw(id, 3)%50)
	switch s.draw(id, 4) % 2048 {
	case 0:
		size = maxPayload
	case 1, 2, 3, 4, 5, 6, 7, 8:
		size = 5000
	}
	if s.kind(id) == refuse {
		size = 16
	}
	text := strconv.FormatUint(id|1<<63, 16) // 16 digits
	for len(b) < size {
		b = append(b, text...)
	}
	return b[:size]
}

// see decides what happens to a command at the proxy.
func (s *storm) see(c redistest.Command) redistest.Action {
	if !c.Is("ECHO") && !c.Is("EVALSHA") {
		return redistest.Pass
	}
	payload := string(c.Args[len(c.Args)-1])
	id, err := strconv.ParseUint(payload[:min(16, len(payload))], 16, 64)
	id &^= 1 << 63
	if err != nil || id >= s.calls || payload != string(s.payload(nil, id)) {
		s.t.Errorf("sent, but asked by nobody: %.100q", payload)
		return redistest.Pass
	}
	if s.seen.add(id) {
		s.t.Errorf("call %d was sent twice", id)
	}
	if n := s.newest.Load(); int64(c.Conn) > n {
		s.newest.CompareAndSwap(n, int64(c.Conn))
	} else if int64(c.Conn) < n {
		s.back.Add(1)
	}
	switch s.fault(id) {
	case cutBefore:
		return redistest.CutBefore
	case cutAfter:
		return redistest.CutAfter
	case silence:
		return redistest.DropReply
	case slow:
		pass(50 * time.Millisecond)
	}
	return redistest.Pass
}

// kill makes the server end every other connection.
func (s *storm) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.direct.Do("CLIENT", "KILL", "TYPE", "normal"); err != nil {
		s.t.Errorf("CLIENT KILL: %v", err)
	}
}

// numbers is a set of call numbers.
type numbers []uint64

// add reports whether n was in the set before.
func (n numbers) add(id uint64) bool {
	bit := uint64(1) << (id % 64)
	return atomic.OrUint64(&n[id/64], bit)&bit != 0
}

func (n numbers) has(id uint64) bool { return atomic.LoadUint64(&n[id/64])>>(id%64)&1 != 0 }
