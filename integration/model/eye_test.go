package model

import (
	"slices"
	"strconv"
	"strings"

	"github.com/gomodule/redigo/redis"
)

// eye reads what Redis holds, past the library: over a connection of its own, key by key.
type eye struct {
	f    *fleet
	conn redis.Conn
}

// sight is the whole state of a mesh.
type sight struct {
	queues, workers []string
	beats           map[string]bool
	workmaps        map[string][]string
	waiting         map[string][]string // by queue, the front first
	members         map[string][]string
	returning, idle map[string][]string
	inHand          map[string][]held // by queue, the oldest token first
	keys            map[string]bool   // that these explain
}

type held struct {
	id, member, task string
	token            int64
}

func newEye(f *fleet) *eye {
	ctx, cancel := f.within()
	defer cancel()
	conn, err := redis.DialURLContext(ctx, f.world.url, redis.DialContextFunc(f.world.reach))
	if err != nil {
		f.fatalf("dial: %v", err)
	}
	return &eye{f, conn}
}

// ask sends commands at once and answers their replies, as lists of texts.
func (e *eye) ask(commands ...[]any) [][]string {
	for _, c := range commands {
		if err := e.conn.Send(c[0].(string), c[1:]...); err != nil {
			e.f.fatalf("%v: %v", c, err)
		}
	}
	if err := e.conn.Flush(); err != nil {
		e.f.fatalf("%v: %v", commands, err)
	}
	replies := make([][]string, len(commands))
	for i, c := range commands {
		reply, err := e.conn.Receive()
		if n, ok := reply.(int64); ok {
			reply = []any{[]byte(strconv.FormatInt(n, 10))}
		}
		if replies[i], err = redis.Strings(reply, err); err != nil {
			e.f.fatalf("%v: %v", c, err)
		}
	}
	return replies
}

func (e *eye) mesh() string { return "{" + e.f.world.namespace + "}" }

func (e *eye) queue(name string) string {
	tag, rest, sub := strings.Cut(name, "/")
	if sub {
		rest = "/" + rest
	}
	return e.f.world.namespace + ":{" + tag + "}" + rest
}

func (e *eye) registered(lives []*life) bool {
	now := e.ask([]any{"SMEMBERS", e.mesh() + ":workers"})[0]
	return slices.ContainsFunc(lives, func(l *life) bool { return slices.Contains(now, l.id) })
}

// look reads everything. It is no snapshot: nothing may be under way.
func (e *eye) look() *sight {
	s := &sight{
		beats: map[string]bool{}, workmaps: map[string][]string{}, waiting: map[string][]string{}, members: map[string][]string{},
		returning: map[string][]string{}, idle: map[string][]string{}, inHand: map[string][]held{}, keys: map[string]bool{},
	}
	m, names := e.mesh(), e.f.model.names
	s.know(m, "workers", "queues", "mesh", "sweep", "rota")
	commands := [][]any{{"SMEMBERS", m + ":queues"}, {"SMEMBERS", m + ":workers"}}
	for _, name := range names {
		q := e.queue(name)
		s.know(q, "tasks", "workers", "returning", "idle", "token", "cancels", "closed")
		commands = append(commands, []any{"LRANGE", q + ":tasks", 0, -1}, []any{"HKEYS", q + ":workers"},
			[]any{"SMEMBERS", q + ":returning"}, []any{"SMEMBERS", q + ":idle"})
	}
	replies := e.ask(commands...)
	s.queues, s.workers = replies[0], replies[1]
	slices.Sort(s.queues)
	slices.Sort(s.workers)
	for i, name := range names {
		r := replies[2+4*i:]
		slices.Reverse(r[0]) // the front is the right end
		slices.Sort(r[1])
		s.waiting[name], s.members[name], s.returning[name], s.idle[name] = r[0], r[1], r[2], r[3]
	}
	e.lookAtWorkers(s)
	e.lookAtProcesses(s)
	return s
}

func (e *eye) lookAtWorkers(s *sight) {
	var commands [][]any
	for _, id := range s.workers {
		s.know(e.mesh(), "worker:"+id, "workmap:"+id, "info:"+id)
		commands = append(commands, []any{"EXISTS", e.mesh() + ":worker:" + id}, []any{"SMEMBERS", e.mesh() + ":workmap:" + id})
	}
	replies := e.ask(commands...)
	for i, id := range s.workers {
		s.beats[id] = replies[2*i][0] == "1"
		slices.Sort(replies[2*i+1])
		s.workmaps[id] = replies[2*i+1]
	}
}

// lookAtProcesses reads what members and returning memberships hold.
func (e *eye) lookAtProcesses(s *sight) {
	var commands [][]any
	var found []*held
	var of []string
	for _, name := range e.f.model.names {
		for _, member := range append(slices.Clone(s.members[name]), s.returning[name]...) {
			key := e.queue(name) + ":processes:" + member
			s.know(key, "")
			rows := e.ask([]any{"ZRANGE", key, 0, -1, "WITHSCORES"})[0]
			for row := range slices.Chunk(rows, 2) {
				token, err := strconv.ParseFloat(row[1], 64)
				if err != nil {
					e.f.fatalf("the token of %s.%s: %v", member, row[0], err)
				}
				id := member + "." + row[0]
				found = append(found, &held{id: id, member: member, token: int64(token)})
				of = append(of, name)
				s.know(e.queue(name), "process:"+id)
				commands = append(commands, []any{"LRANGE", e.queue(name) + ":process:" + id, 0, -1})
			}
		}
	}
	for i, task := range e.ask(commands...) {
		if len(task) != 1 {
			e.f.fatalf("process %s of queue %q holds %q, want one task", found[i].id, of[i], task)
		}
		found[i].task = task[0]
		s.inHand[of[i]] = append(s.inHand[of[i]], *found[i])
	}
	for _, list := range s.inHand {
		slices.SortFunc(list, func(a, b held) int { return int(a.token - b.token) })
	}
}

func (s *sight) know(prefix string, keys ...string) {
	for _, key := range keys {
		if key != "" {
			key = ":" + key
		}
		s.keys[prefix+key] = true
	}
}

// all lists every key of the mesh.
func (e *eye) all() (keys []string) {
	for _, pattern := range []string{e.mesh() + ":*", e.f.world.namespace + ":{*"} {
		for cursor := "0"; ; {
			page, err := redis.Values(e.conn.Do("SCAN", cursor, "MATCH", pattern, "COUNT", 1000))
			var some []string
			if err == nil {
				_, err = redis.Scan(page, &cursor, &some)
			}
			if err != nil {
				e.f.fatalf("scan: %v", err)
			}
			keys = append(keys, some...)
			if cursor == "0" {
				break
			}
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

func (e *eye) ttl(key string) int {
	n, err := redis.Int(e.conn.Do("PTTL", key))
	if err != nil {
		e.f.fatalf("pttl of %s: %v", key, err)
	}
	return n
}
