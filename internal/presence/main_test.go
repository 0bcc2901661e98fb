package presence

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m, children) }

const soon = 10 * time.Second

// dialURL dials as worqr does, with the socket captured.
func dialURL(url string) func(context.Context) (redis.Conn, error) {
	return func(ctx context.Context) (redis.Conn, error) {
		return redis.DialURLContext(ctx, url, redis.DialReadTimeout(soon), redis.DialWriteTimeout(soon),
			redis.DialContextFunc(Through((&net.Dialer{Timeout: soon}).DialContext)))
	}
}

// told counts the callbacks of a line.
type told struct {
	mu         sync.Mutex
	back, lost int
	lastBack   time.Time
	lastLost   time.Time
	failed     []error
}

func (n *told) counts() (back, lost int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.back, n.lost
}

func (n *told) all(cfg Config) Config {
	cfg.Back = func() { n.mu.Lock(); n.back++; n.lastBack = time.Now(); n.mu.Unlock() }
	cfg.Lost = func() { n.mu.Lock(); n.lost++; n.lastLost = time.Now(); n.mu.Unlock() }
	cfg.Failed = func(err error) { n.mu.Lock(); n.failed = append(n.failed, err); n.mu.Unlock() }
	return cfg
}

// rig is a line that runs until the test ends.
type rig struct {
	testing.TB
	*Line
	*told
	c       redis.Conn // to the server, past any proxy
	channel string
	end     func()
}

// run starts a line on a channel of its own, by default at this URL.
func run(t testing.TB, server *redistest.Server, cfg Config) *rig {
	t.Helper()
	r := &rig{TB: t, told: &told{}, c: server.Conn(t), channel: "presence-" + t.Name() + "-" + strconv.FormatUint(rand.Uint64(), 36)}
	if cfg.Dial == nil {
		cfg.Dial = dialURL(server.URL())
	}
	if cfg.Channel == nil {
		cfg.Channel = func() string { return r.channel }
	}
	var err error
	if r.Line, err = New(r.all(cfg)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	r.end = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
		if t.Failed() {
			r.mu.Lock()
			t.Logf("back %d, lost %d, failed: %v", r.back, r.lost, r.failed)
			r.mu.Unlock()
		}
	})
	t.Cleanup(r.end)
	return r
}

func (r *rig) up() {
	r.Helper()
	redistest.Eventually(r, soon, "the line is up", r.Up)
}

func (r *rig) told1(back, lost int) {
	r.Helper()
	redistest.Eventually(r, soon, fmt.Sprintf("Back was called %d and Lost %d times", back, lost), func() bool {
		b, l := r.counts()
		return b >= back && l >= lost
	})
	if b, l := r.counts(); b != back || l != lost {
		r.Fatalf("Back was called %d times, want %d; Lost %d times, want %d", b, back, l, lost)
	}
}

// kill makes the server end the connections that subscribe, and waits until it has.
func (r *rig) kill() {
	r.Helper()
	r.redis("CLIENT", "KILL", "TYPE", "pubsub")
}

func (r *rig) redis(command string, args ...any) any {
	r.Helper()
	reply, err := r.c.Do(command, args...)
	if err != nil {
		r.Fatalf("%s %v: %v", command, args, err)
	}
	return reply
}

func numsub(c redis.Conn, channel string) int {
	row, err := redis.Values(c.Do("PUBSUB", "NUMSUB", channel))
	if err != nil {
		return -1
	}
	n, _ := redis.Int(row[1], nil)
	return n
}

// seed returns WORQR_SEED or a new seed, and prints it.
func seed(t testing.TB) uint64 {
	s := rand.Uint64()
	if text := os.Getenv("WORQR_SEED"); text != "" {
		var err error
		if s, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	fmt.Printf("%s: WORQR_SEED=%d\n", t.Name(), s)
	return s
}
