package simulator

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gomodule/redigo/redis"
)

const (
	namespace = "s" // a database holds one schedule, so every schedule can have the same
	meshKey   = "{" + namespace + "}"
	lapse     = "3600000" // hearts stop when the schedule says so, not by the clock
)

// The queues of all schedules: two in one slot, one name the beginning of the other.
var queues = []string{"q", "q/r"}

func queueKey(q string) string {
	if tag, rest, cut := strings.Cut(q, "/"); cut {
		return namespace + ":{" + tag + "}/" + rest
	}
	return namespace + ":{" + q + "}"
}

// server runs the commands of one schedule after the other over one connection.
type server struct {
	conn    redis.Conn
	sha     string // of dump
	loaded  map[string]string
	turn    int  // counts commands
	listens bool // somebody is subscribed to every channel, so that a wake-up is received

	root     string           // of the channels
	presence redis.PubSubConn // carries the presence subscriptions of all workers
	present  map[string]bool  // the workers that have one
}

// newServer loads the scripts. The database is emptied with each schedule.
func newServer(conn, presence redis.Conn, db int, listens bool) (*server, error) {
	s := &server{
		conn: conn, loaded: map[string]string{}, listens: listens,
		root: fmt.Sprintf("%s@%d", namespace, db), presence: redis.PubSubConn{Conn: presence}, present: map[string]bool{},
	}
	for name, script := range sources() {
		sha, err := redis.String(conn.Do("SCRIPT", "LOAD", script.text))
		if err != nil || sha != script.sha {
			return nil, fmt.Errorf("load %s: %s, %v", name, sha, err)
		}
		s.loaded[name] = sha
	}
	var err error
	s.sha, err = redis.String(conn.Do("SCRIPT", "LOAD", dump))
	return s, err
}

func (s *server) reset() error {
	for id := range s.present {
		if err := s.appear(id, false); err != nil {
			return err
		}
	}
	_, err := s.conn.Do("FLUSHDB")
	return err
}

// appear makes the presence connection of a worker, or ends it.
func (s *server) appear(id string, stands bool) error {
	if s.present[id] == stands {
		return nil
	}
	change := s.presence.Unsubscribe
	if stands {
		change = s.presence.Subscribe
		s.present[id] = true
	} else {
		delete(s.present, id)
	}
	if err := change(s.root + ":here:" + id); err != nil {
		return err
	}
	err, _ := s.presence.Receive().(error)
	return err
}

// reply is what a command answered: words, or a refusal.
type reply struct {
	words   []string
	refused string
}

// readOnly are the commands that change nothing of what a state tells. The state is not read after
// them: if one did change something, the next step would be found to have had an effect that it
// cannot have.
var readOnly = map[string]bool{
	"look": true, "held": true, "audit": true, "newest": true, "served": true, "SMEMBERS": true, "HGET": true,
	"present": true, "locate": true, "sweep": true, "beat": true, "watch": true, "appear": true, "grant": true, "UNLINK": true,
}

// run executes a command and reads the state after it, in one round trip. The state is nil when it
// cannot have changed.
func (s *server) run(c *command, before *state) (reply, *state, error) {
	reads := readOnly[c.script] || c.script == "" && readOnly[c.args[0]]
	s.send(c)
	pattern := everything
	if s.turn++; c.script != "" && s.turn%4 > 0 {
		if pattern = queueSlot; meshScripts[c.script] {
			pattern = meshSlot
		}
	}
	if !reads {
		_ = s.conn.Send("EVALSHA", s.sha, 0, pattern) // its error comes back at Flush
	}
	if err := s.conn.Flush(); err != nil {
		return reply{}, nil, err
	}
	var r reply
	answer, err := s.conn.Receive()
	var refusal redis.Error
	switch {
	case errors.As(err, &refusal):
		r.refused = refusal.Error()
	case err != nil:
		return r, nil, err
	default:
		r.words = words(nil, answer)
	}
	if reads {
		return r, nil, nil
	}
	sections, err := redis.Strings(s.conn.Receive())
	if err != nil {
		return r, nil, err
	}
	switch pattern {
	case meshSlot:
		copy(sections[1:], before.raw[1:])
	case queueSlot:
		sections[0] = before.raw[0]
	}
	st, err := newState(sections, before)
	return r, st, err
}

func (s *server) send(c *command) {
	if c.script == "" { // a plain command
		args := make([]any, len(c.args)-1)
		for i, a := range c.args[1:] {
			args[i] = a
		}
		_ = s.conn.Send(c.args[0], args...)
		return
	}
	args := make([]any, 0, len(c.args)+5)
	if meshScripts[c.script] {
		args = append(args, s.loaded[c.script], 1, meshKey, s.root)
	} else {
		args = append(args, s.loaded[c.script], 1, queueKey(c.queue), s.root, c.queue)
	}
	for _, a := range c.args {
		args = append(args, a)
	}
	_ = s.conn.Send("EVALSHA", args...)
}

// words flattens an answer.
func words(list []string, answer any) []string {
	switch a := answer.(type) {
	case []any:
		for _, one := range a {
			list = words(list, one)
		}
	case []byte:
		list = append(list, string(a))
	case nil:
		list = append(list, "(nil)")
	default:
		list = append(list, fmt.Sprint(a))
	}
	return list
}

// command is one command that an actor sends. The same command may be executed several times.
type command struct {
	script string // "": args is a plain command
	queue  string
	args   []string
	by     string // the actor
	number int    // of the command in its schedule
	about  any    // what the sender meant: a settling
}

func (c *command) String() string {
	name := c.script
	if c.queue != "" {
		name += " " + c.queue
	}
	return fmt.Sprintf("#%d %s: %s %q", c.number, c.by, name, c.args)
}
