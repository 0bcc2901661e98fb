package worqr_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/rs/zerolog"

	"github.com/worqr/worqr-go/events"
	"github.com/worqr/worqr-go/internal/presence"
	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// pair is two servers, one of which follows the other until they change places.
type pair struct {
	testing.TB
	first, second *redistest.Server
	one, two      redis.Conn
	leads         atomic.Pointer[redistest.Server] // where diallers are led
}

func newPair(t testing.TB) *pair {
	t.Helper()
	at := []string{"--repl-diskless-sync-delay", "0"} // else a replica waits for 5 s
	p := &pair{TB: t, first: redistest.Own(t, at...), second: redistest.Own(t, at...)}
	p.one, p.two = p.first.Conn(t), p.second.Conn(t)
	p.leads.Store(p.first)
	p.follow(p.two, p.first)
	return p
}

// follow makes a server a replica of another, and waits until it is level.
func (p *pair) follow(c redis.Conn, of *redistest.Server) {
	p.Helper()
	host, port, err := net.SplitHostPort(of.Addr())
	if err != nil {
		p.Fatal(err)
	}
	p.do(c, "REPLICAOF", host, port)
	redistest.Eventually(p, soon, "the replica is level", func() bool {
		info, err := redis.String(c.Do("INFO", "replication"))
		return err == nil && strings.Contains(info, "master_link_status:up")
	})
}

func (p *pair) do(c redis.Conn, command string, args ...any) any {
	p.Helper()
	reply, err := c.Do(command, args...)
	if err != nil {
		p.Fatalf("%s %v: %v", command, args, err)
	}
	return reply
}

// level waits until the second server has all that the first one has.
func (p *pair) level() {
	p.Helper()
	p.do(p.one, "SET", "level", "", "PX", 1000) // WAIT speaks for what its own connection wrote, and all before that
	redistest.Eventually(p, soon, "the replica has everything", func() bool {
		n, err := redis.Int(p.one.Do("WAIT", 1, 100))
		return err == nil && n == 1
	})
}

// demotions are the ways in which the second server becomes the primary and the first one its
// replica, which closes no connection. Each returns since when that is so.
var demotions = map[string]func(p *pair) time.Time{
	"REPLICAOF": func(p *pair) time.Time {
		p.do(p.two, "REPLICAOF", "NO", "ONE")
		p.leads.Store(p.second)
		began := time.Now()
		p.follow(p.one, p.second)
		return began
	},
	"FAILOVER": func(p *pair) time.Time {
		host, port, _ := net.SplitHostPort(p.second.Addr())
		p.do(p.one, "FAILOVER", "TO", host, port)
		redistest.Eventually(p, soon, "the places are changed", func() bool {
			role, err := redis.Values(p.two.Do("ROLE"))
			return err == nil && len(role) > 0 && string(role[0].([]byte)) == "master"
		})
		p.leads.Store(p.second)
		return time.Now() // it stops all writes before, until the replica has everything
	},
}

// dialler makes connections to the primary, under a name, until it is told that its process has
// ended.
func (p *pair) dialler(name string, over *atomic.Bool) func(context.Context) (redis.Conn, error) {
	through := redis.DialContextFunc(presence.Through((&net.Dialer{}).DialContext))
	return func(ctx context.Context) (redis.Conn, error) {
		if over.Load() {
			return nil, errors.New("this process has ended")
		}
		return redis.DialContext(ctx, "tcp", p.leads.Load().Addr(), through, redis.DialClientName(name))
	}
}

// clients lists the connections that a server has under a name.
func (p *pair) clients(c redis.Conn, name string) (ids []string) {
	p.Helper()
	list, err := redis.String(p.do(c, "CLIENT", "LIST"), nil)
	if err != nil {
		p.Fatal(err)
	}
	for line := range strings.Lines(list) {
		if strings.Contains(line, " name="+name+" ") {
			id, _, _ := strings.Cut(strings.TrimPrefix(line, "id="), " ")
			ids = append(ids, id)
		}
	}
	return ids
}

// scenario 110: a primary is demoted and keeps its connections, the dialler leads to the new one:
// one-shot tasks, holds, beats, notifications, presence and the watch go on within 3 s.
func TestDemotedPrimaryKeepsItsConnections(t *testing.T) {
	for how, demote := range demotions {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			demoted(t, newPair(t), demote)
		})
	}
}

func demoted(t *testing.T, p *pair, demote func(*pair) time.Time) {
	ns := redistest.Namespace(t)
	ran := make(chan string, 1000)
	held := make(chan *worqr.Process, 100)
	var over [2]atomic.Bool
	var meshes [2]*worqr.Mesh
	for i := range meshes {
		name := fmt.Sprint("daemon", i)
		m, err := worqr.New(&redis.Pool{DialContext: p.dialler(name, &over[i])}, worqr.Config{
			Namespace: ns, Logger: zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel),
		})
		if err != nil {
			t.Fatal(err)
		}
		meshes[i] = m
		t.Cleanup(func() { over[i].Store(false); _ = m.Close() })
		run(t, m, worqr.WorkerConfig{Grace: time.Second, Labels: map[string]string{"name": name}, Queues: map[string]worqr.Queue{
			"jobs": {Limit: 2, Handler: worqr.HandlerFunc(func(ctx context.Context, p *worqr.Process) error {
				if string(p.Task()) == "long" {
					held <- p
					<-ctx.Done()
					return context.Cause(ctx)
				}
				ran <- string(p.Task())
				return nil
			})},
			"feeds": {Persistent: true, Takeover: worqr.TakeoverFast, Handler: worqr.HandlerFunc(func(ctx context.Context, p *worqr.Process) error {
				held <- p
				<-ctx.Done()
				return context.Cause(ctx)
			})},
		}})
	}
	c := make(chan events.Event, 1000)
	t.Cleanup(meshes[1].Listener().On("jobs", func(e events.Event) { c <- e }, events.Done))
	if _, err := meshes[0].Reconcile(t.Context(), "feeds", [][]byte{[]byte("one"), []byte("two")}); err != nil {
		t.Fatal(err)
	}
	enqueue(t, meshes[0], "jobs", "before")
	receive(t, "a run before", ran)
	receive(t, "the done event before", c)
	feeds := map[string]*worqr.Process{}
	for len(feeds) < 2 {
		h := receive(t, "a hold", held)
		feeds[string(h.Task())] = h
	}
	workers := func(c redis.Conn) (ids []string) {
		ids, err := redis.Strings(c.Do("SMEMBERS", "{"+ns+"}:present"))
		if err != nil {
			t.Fatal(err)
		}
		return ids
	}
	seen := func(c redis.Conn, id string) bool {
		reply, err := redis.Values(c.Do("PUBSUB", "NUMSUB", ns+"@0:here:"+id))
		return err == nil && len(reply) == 2 && reply[1].(int64) == 1
	}
	redistest.Eventually(t, soon, "both workers are present", func() bool { return len(workers(p.one)) == 2 })

	p.level()
	began := demote(p)
	took := func(what string) {
		t.Helper()
		if d := time.Since(began); d > 3*time.Second {
			t.Errorf("%s: after %v, want 3s", what, d)
		} else {
			t.Logf("%s: after %v", what, d.Round(time.Millisecond))
		}
	}
	// What a caller does.
	redistest.Eventually(t, soon, "an enqueue passes", func() bool { return meshes[0].Enqueue(t.Context(), "jobs", []byte("after")) == nil })
	took("an enqueue")
	if got := receive(t, "a run after", ran); got != "after" {
		t.Fatalf("ran %q", got)
	}
	took("a run")
	redistest.Eventually(t, soon, "both workers are seen by the new primary", func() bool {
		ids := workers(p.two)
		return len(ids) == 2 && seen(p.two, ids[0]) && seen(p.two, ids[1])
	})
	took("presence")
	redistest.Eventually(t, soon, "nobody is connected to the old primary", func() bool {
		return len(p.clients(p.one, "daemon0"))+len(p.clients(p.one, "daemon1")) == 0
	})
	took("the old connections are gone")
	for len(c) > 0 {
		<-c
	}
	// What nobody looks for: each event comes by way of the new primary.
	redistest.Eventually(t, soon, "the listener is ready", meshes[1].Listener().Ready)
	p.do(p.one, "REPLICAOF", "NO", "ONE") // the old one does not even repeat what is published
	enqueue(t, meshes[0], "jobs", "told")
	receive(t, "a run", ran)
	receive(t, "the done event by the new primary", c)
	took("a notification")
	redistest.Eventually(t, soon, "the holds go on", func() bool {
		for name, h := range feeds {
			for len(held) > 0 { // one that was lost meanwhile is another's
				h := <-held
				feeds[string(h.Task())] = h
			}
			if h.Checkpoint(t.Context(), []byte(name+" at the new primary")) != nil || !h.Valid() {
				return false
			}
		}
		kept, err := redis.StringMap(p.two.Do("HGETALL", queuePrefix(ns, "feeds")+":checkpoints"))
		n := 0
		for _, text := range kept {
			if strings.HasSuffix(text, "at the new primary") {
				n++
			}
		}
		return err == nil && n == 2
	})
	took("checkpoints")
	redistest.Eventually(t, soon, "beats go on", func() bool {
		for _, id := range workers(p.two) {
			if left, err := redis.Int(p.two.Do("PTTL", "{"+ns+"}:worker:"+id)); err != nil || left < 1000 {
				return false
			}
		}
		return len(workers(p.two)) == 2
	})
	// The watch goes on: a process that ends is taken over from long before its lapse.
	enqueue(t, meshes[0], "jobs", "long")
	long := receive(t, "a long task", held)
	of, err := redis.String(p.two.Do("HGET", "{"+ns+"}:info:"+strings.Split(long.ID(), ".")[0], "label:name"))
	if err != nil {
		t.Fatal(err)
	}
	i := map[string]int{"daemon0": 0, "daemon1": 1}[of]
	over[i].Store(true)
	for _, id := range p.clients(p.two, of) {
		p.do(p.two, "CLIENT", "KILL", "ID", id)
	}
	for again := receive(t, "a peer's run", held); string(again.Task()) != "long"; {
		again = receive(t, "a peer's run", held)
	}
}

// scenario 110: who only listens is refused nothing by a server that is the primary no more, and
// hears nothing from it.
func TestListenerLeavesADemotedServer(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	var over atomic.Bool
	ns := redistest.Namespace(t)
	m, err := worqr.New(&redis.Pool{DialContext: p.dialler("listens", &over)}, worqr.Config{Namespace: ns})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	heard := hear(t, m, "q", events.Work)
	producer := openAt(t, p.first.URL(), worqr.Config{Namespace: ns})
	asked := 0
	redistest.Eventually(t, soon, "it has seen that the server is the primary", func() bool {
		list, err := redis.String(p.one.Do("CLIENT", "LIST"))
		for line := range strings.Lines(list) {
			if err == nil && strings.Contains(line, " name=listens ") && strings.Contains(line, " cmd=info ") && strings.Contains(line, " sub=0 ") {
				asked++
			}
		}
		return asked > 3
	})
	enqueue(t, producer, "q", "before")
	receive(t, "an event", heard)

	p.level()
	p.do(p.two, "REPLICAOF", "NO", "ONE")
	p.leads.Store(p.second)
	p.do(p.one, "REPLICAOF", "127.0.0.1", "1") // of nobody: it repeats nothing that is published elsewhere
	began := time.Now()
	redistest.Eventually(t, soon, "the listener is at the new primary", func() bool {
		return len(p.clients(p.two, "listens")) == 2 && len(p.clients(p.one, "listens")) == 0 && m.Listener().Ready()
	})
	t.Logf("after %v", time.Since(began))
	enqueue(t, openAt(t, p.second.URL(), worqr.Config{Namespace: ns}), "q", "after")
	receive(t, "an event by the new primary", heard)
}
