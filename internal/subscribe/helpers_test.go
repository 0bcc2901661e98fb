package subscribe

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"
)

// patience is how long a test waits for a fact that must come.
const patience = 20 * time.Second

func TestMain(m *testing.M) {
	code := m.Run()
	if common.server != nil {
		common.server.stop()
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// common is the server of the tests that do not disturb it.
var common struct {
	once   sync.Once
	server *server
	err    error
}

func shared(t *testing.T) *server {
	t.Helper()
	common.once.Do(func() { common.server, common.err = start(0) })
	if common.err != nil {
		t.Fatal(common.err)
	}
	return common.server
}

// private starts a server for one test.
func private(t *testing.T) *server {
	t.Helper()
	s, err := start(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	return s
}

// childOfTest makes a child end with this process where the system can do that, so that a test that
// panics or times out leaves no server behind.
var childOfTest *syscall.SysProcAttr

// server is a redis-server, a child of this process.
type server struct {
	port int
	cmd  *exec.Cmd
}

// start starts one on the port, or on a free one for 0, and waits until it answers.
func start(port int) (*server, error) {
	var err error
	for range 5 { // a free port may be taken before the server has it
		s := &server{port: port}
		if port == 0 {
			free, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return nil, err
			}
			s.port = free.Addr().(*net.TCPAddr).Port
			free.Close()
		}
		s.cmd = exec.Command("/usr/bin/redis-server", "--port", strconv.Itoa(s.port), "--bind", "127.0.0.1",
			"--save", "", "--appendonly", "no", "--daemonize", "no")
		s.cmd.Dir = os.TempDir()
		s.cmd.SysProcAttr = childOfTest
		if err = s.cmd.Start(); err != nil {
			return nil, err
		}
		if err = s.answers(); err == nil {
			return s, nil
		}
		s.stop()
	}
	return nil, err
}

func (s *server) answers() error {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	err := fmt.Errorf("no attempt")
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-tick.C {
		var c redis.Conn
		if c, err = redis.Dial("tcp", s.addr()); err != nil {
			continue
		}
		var info string
		info, err = redis.String(c.Do("INFO", "server"))
		c.Close()
		if err == nil && strings.Contains(info, fmt.Sprintf("process_id:%d\r", s.cmd.Process.Pid)) {
			return nil
		}
	}
	return fmt.Errorf("redis-server on port %d does not answer: %w", s.port, err)
}

func (s *server) addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

func (s *server) stop() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// rig is a running Listener with a namespace of its own, and what it takes to test it.
type rig struct {
	*Listener
	t     *testing.T
	admin redis.Conn
	logs  *logs
	dials atomic.Int64
	name  string // of the listener's connections
	stop  func() // ends Run and waits for it
}

var rigs atomic.Int64

// listen makes a rig. Its Run begins at once.
func listen(t *testing.T, s *server, adjust ...func(*Config)) *rig {
	t.Helper()
	r := &rig{t: t, logs: &logs{}, name: fmt.Sprintf("listener-%d", rigs.Add(1))}
	cfg := Config{
		Namespace: fmt.Sprintf("ns%d", rigs.Load()),
		Ping:      time.Minute, // so that no pong hides what has to happen without one
		Logger:    zerolog.New(r.logs),
		Dial: func(ctx context.Context) (redis.Conn, error) {
			return redis.DialContext(ctx, "tcp", s.addr(), redis.DialClientName(r.name))
		},
	}
	for _, f := range adjust {
		f(&cfg)
	}
	dial := cfg.Dial
	cfg.Dial = func(ctx context.Context) (redis.Conn, error) {
		r.dials.Add(1)
		return dial(ctx)
	}
	var err error
	if r.Listener, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	if r.admin, err = redis.Dial("tcp", s.addr()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.admin.Close() })
	r.run()
	return r
}

func (r *rig) run() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	var once sync.Once
	r.stop = func() {
		once.Do(func() {
			cancel()
			if err := await(r.t, "Run to return", done); err != nil {
				r.t.Errorf("Run returned %v", err)
			}
		})
	}
	r.t.Cleanup(func() { r.stop() })
}

func (r *rig) do(command string, args ...any) any {
	r.t.Helper()
	v, err := r.admin.Do(command, args...)
	if err != nil {
		r.t.Fatalf("%s: %v", command, err)
	}
	return v
}

// channel is the full name of a channel of this rig's mesh.
func (r *rig) channel(suffix string) string { return r.cfg.Namespace + "@0:" + suffix }

func (r *rig) publish(suffix, payload string) {
	r.t.Helper()
	r.do("PUBLISH", r.channel(suffix), payload)
}

// subscribers is PUBSUB NUMSUB of one channel.
func (r *rig) subscribers(suffix string) int {
	r.t.Helper()
	v, err := redis.Values(r.do("PUBSUB", "NUMSUB", r.channel(suffix)), nil)
	if err != nil {
		r.t.Fatal(err)
	}
	n, err := redis.Int(v[1], nil)
	if err != nil {
		r.t.Fatal(err)
	}
	return n
}

// connected reports whether the server has a connection of this rig's listener.
func (r *rig) connected() bool {
	r.t.Helper()
	list, err := redis.String(r.do("CLIENT", "LIST"), nil)
	if err != nil {
		r.t.Fatal(err)
	}
	return strings.Contains(list, "name="+r.name+" ")
}

func (r *rig) awaitReady() {
	r.t.Helper()
	until(r.t, "Ready", r.Ready)
}

// until waits for a fact.
func until(t *testing.T, what string, fact func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); !fact(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v in vain for %s", patience, what)
		}
	}
}

// await waits for a value.
func await[T any](t *testing.T, what string, c <-chan T) (v T) {
	t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case v = <-c:
	case <-timer.C:
		t.Fatalf("waited %v in vain for %s", patience, what)
	}
	return v
}

// logs keeps what a Logger wrote.
type logs struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logs) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// lines returns the lines of the log whose message contains what.
func (l *logs) lines(t *testing.T, what string) (found []map[string]any) {
	t.Helper()
	for line := range strings.Lines(l.text()) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatalf("log line %q: %v", line, err)
		}
		if strings.Contains(fields["message"].(string), what) {
			found = append(found, fields)
		}
	}
	return found
}
