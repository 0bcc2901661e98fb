package worqr_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// refusing are servers that refuse whoever writes, what they say, and how it ends. Each is as real
// as Redis makes it.
var refusing = map[string]struct {
	begin, end func(p *pair) // on the second server
	says       []string
}{
	"a replica": {
		begin: func(*pair) {},
		end:   func(p *pair) { p.do(p.two, "REPLICAOF", "NO", "ONE") },
		says:  []string{"READONLY", "the server is a read-only replica", "dial the primary"},
	},
	"a replica without its primary": {
		begin: func(p *pair) {
			p.do(p.two, "CONFIG", "SET", "replica-serve-stale-data", "no")
			p.first.Kill(p)
			redistest.Eventually(p, soon, "the replica is alone", func() bool {
				_, err := p.two.Do("GET", "x")
				return err != nil && strings.HasPrefix(err.Error(), "MASTERDOWN")
			})
		},
		end:  func(p *pair) { p.do(p.two, "REPLICAOF", "NO", "ONE") },
		says: []string{"MASTERDOWN", "the server is a replica that has lost its primary"},
	},
	"a primary without replicas": {
		begin: func(p *pair) {
			p.do(p.two, "REPLICAOF", "NO", "ONE")
			p.do(p.two, "CONFIG", "SET", "min-replicas-to-write", 1)
		},
		end:  func(p *pair) { p.do(p.two, "CONFIG", "SET", "min-replicas-to-write", 0) },
		says: []string{"NOREPLICAS", "min-replicas-to-write"},
	},
	"a server that loads": {
		begin: func(p *pair) {
			p.do(p.two, "REPLICAOF", "NO", "ONE")
			p.do(p.one, "CONFIG", "SET", "rdbcompression", "no") // a server that loads looks up after each 2 MiB
			p.do(p.one, "EVAL", "for i = 1, 20000 do redis.call('SET', 'loads' .. i, string.rep('x', 4000)) end", 0)
			p.do(p.two, "CONFIG", "SET", "key-load-delay", 300) // microseconds
			host, port, _ := net.SplitHostPort(p.first.Addr())
			p.do(p.two, "REPLICAOF", host, port)
			redistest.Eventually(p, soon, "the server loads", func() bool {
				_, err := p.two.Do("GET", "x")
				return err != nil && strings.HasPrefix(err.Error(), "LOADING")
			})
		},
		end: func(p *pair) {
			_, _ = p.two.Do("CONFIG", "SET", "key-load-delay", 0) // Redis 6.2 refuses it, and loads to the end
			redistest.Eventually(p, soon, "all is loaded", func() bool { _, err := p.two.Do("GET", "x"); return err == nil })
			p.do(p.two, "REPLICAOF", "NO", "ONE")
		},
		says: []string{"LOADING", "the server is reading its data"},
	},
}

// scenario 91, scenario 93: a server that refuses whoever writes is named by Open, which fails at
// once, or waits when that is configured. A worker's start does the same.
func TestOpenAtAServerThatRefusesWriters(t *testing.T) {
	for name, c := range refusing {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPair(t)
			p.leads.Store(p.second)
			c.begin(p)
			ns := redistest.Namespace(t)
			m, err := worqr.Open(t.Context(), p.second.URL(), worqr.Config{Namespace: ns})
			if err == nil {
				_ = m.Close()
			}
			if err == nil || errors.Is(err, worqr.ErrConfig) || strings.Contains(err.Error(), "rights") {
				t.Errorf("Open: %v; want what the server is, and no word of rights", err)
			}
			for _, word := range c.says {
				if err != nil && !strings.Contains(err.Error(), word) {
					t.Errorf("Open: %v; want %q", err, word)
				}
			}
			var dials atomic.Int64
			began := time.Now()
			opened := make(chan error, 1)
			go func() {
				var over atomic.Bool
				dial := p.dialler("waits", &over)
				m, err := worqr.New(&redis.Pool{DialContext: func(ctx context.Context) (redis.Conn, error) { dials.Add(1); return dial(ctx) }},
					worqr.Config{Namespace: ns, WaitForRedis: true})
				if err == nil {
					defer func() { _ = m.Close() }()
					w, _ := m.NewWorker(worqr.WorkerConfig{})
					err = w.Start(t.Context())
				}
				opened <- err
			}()
			patient := make(chan error, 1)
			go func() {
				m, err := worqr.Open(t.Context(), p.second.URL(), worqr.Config{Namespace: ns + "o", WaitForRedis: true})
				if err == nil {
					err = m.Close()
				}
				patient <- err
			}()
			redistest.Eventually(t, soon, "some dials", func() bool { return dials.Load() >= 4 })
			if n, most := dials.Load(), 8+5*time.Since(began).Seconds(); float64(n) > most {
				t.Errorf("%d dials in %v, want %.0f at the most", n, time.Since(began), most)
			}
			if len(opened)+len(patient) > 0 {
				t.Fatal("somebody did not wait")
			}
			c.end(p)
			if err := receive(t, "the start", opened); err != nil {
				t.Error(err)
			}
			if err := receive(t, "Open", patient); err != nil {
				t.Error(err)
			}
		})
	}
}

// A server that goes on refusing is not dialled in a storm, however many ask, and is used again as
// soon as it takes writes. Nothing is said to be stored that is not, and the notifications keep
// their connection: nothing is wrong with it.
func TestRefusingServerIsDialledAtAPace(t *testing.T) {
	p := newPair(t)
	p.do(p.two, "REPLICAOF", "NO", "ONE")
	p.leads.Store(p.second)
	var over atomic.Bool
	var dials atomic.Int64
	dial := p.dialler("asks", &over)
	m, err := worqr.New(&redis.Pool{DialContext: func(ctx context.Context) (redis.Conn, error) { dials.Add(1); return dial(ctx) }},
		worqr.Config{Namespace: redistest.Namespace(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	ran := make(chan string, 1000)
	run(t, m, handling(worqr.WorkerConfig{Beat: time.Second, Lapse: time.Minute}, "q", 1, gather(ran)))
	enqueue(t, m, "q", "first")
	receive(t, "a run", ran)
	redistest.Eventually(t, soon, "the listener is ready", m.Listener().Ready)
	connections := worqr.Connections(m)

	p.do(p.two, "CONFIG", "SET", "min-replicas-to-write", 1)
	before, began := dials.Load(), time.Now()
	stop := make(chan struct{})
	var stored atomic.Int64
	ended := make(chan struct{}, 20)
	for range cap(ended) {
		go func() {
			defer func() { ended <- struct{}{} }()
			for {
				select {
				case <-stop:
					return
				default:
					if m.Enqueue(t.Context(), "q", []byte("more")) == nil {
						stored.Add(1)
					}
				}
			}
		}()
	}
	<-time.After(4 * time.Second) // the pace is what this is about
	d := time.Since(began)
	// Two wires, beats and the worker's presence in each turn; a turn each half second, but the
	// first few.
	n := dials.Load() - before
	if most := 4 * (8 + 2.7*d.Seconds()); float64(n) > most {
		t.Errorf("%d dials in %v, want %.0f at the most", n, d, most)
	}
	if n < 5 {
		t.Errorf("%d dials in %v: it does not look whether it is led elsewhere", n, d)
	}
	t.Logf("%d dials in %v", n, d)
	p.do(p.two, "CONFIG", "SET", "min-replicas-to-write", 0)
	again := time.Now()
	receive(t, "a run", ran)
	t.Logf("it runs again after %v", time.Since(again))
	close(stop)
	for range cap(ended) {
		<-ended
	}
	for range int(stored.Load()) - 1 {
		receive(t, "a run of each that was stored", ran)
	}
	if now := worqr.Connections(m); now != connections {
		t.Errorf("the listener has had %d connections, want %d: it was at the right server", now, connections)
	}
}

// scenario 110: what was refused was not run, so it is sent again, also an enqueue: nobody is told
// of the change.
func TestEnqueueGoesOnOverADemotion(t *testing.T) {
	p := newPair(t)
	var over atomic.Bool
	m, err := worqr.New(&redis.Pool{DialContext: p.dialler("one", &over)}, worqr.Config{Namespace: redistest.Namespace(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	enqueue(t, m, "q", "before")
	p.level()
	demotions["REPLICAOF"](p)
	done := make(chan error, 50)
	for range cap(done) {
		go func() { done <- m.Enqueue(t.Context(), "q", []byte("after")) }()
	}
	for range cap(done) {
		if err := receive(t, "an enqueue", done); err != nil {
			t.Error(err)
		}
	}
	if n, err := m.Len(t.Context(), "q"); n != 1+cap(done) || err != nil {
		t.Errorf("%d tasks, %v; want %d", n, err, 1+cap(done))
	}
}
