package conformance

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/google/uuid"

	"github.com/worqr/worqr-go/internal/redistest"
)

const patience = 20 * time.Second

func TestConformance(t *testing.T) {
	all := assemble(t)
	for _, c := range checks(t) {
		t.Run(c.name, func(t *testing.T) {
			f := newForeign(t, all)
			for _, l := range c.lines {
				if err := f.run(l); err != nil {
					t.Fatalf("docs/conformance.md:%d: %s\n%v", l.number, l.text, err)
				}
			}
		})
	}
}

func TestEveryScriptHasACheck(t *testing.T) {
	without := assemble(t)
	for _, c := range checks(t) {
		for _, l := range c.lines {
			for _, w := range l.call[:min(len(l.call), 2)] { // the second of raw
				delete(without, w.text)
			}
		}
	}
	if len(without) > 0 {
		t.Errorf("no check of docs/conformance.md calls %v", slices.Sorted(maps.Keys(without)))
	}
}

// check is a numbered check of the page.
type check struct {
	name  string
	lines []line
}

// checks reads the page: each heading with a number is followed by calls.
func checks(t testing.TB) (list []check) {
	t.Helper()
	heading := regexp.MustCompile(`^### ([A-Z][0-9]+)\. `)
	inside := false
	for i, text := range strings.Split(page(t, "conformance.md"), "\n") {
		switch m := heading.FindStringSubmatch(text); {
		case m != nil:
			if slices.ContainsFunc(list, func(c check) bool { return c.name == m[1] }) {
				t.Errorf("docs/conformance.md has %s twice", m[1])
			}
			list = append(list, check{name: m[1]})
		case text == "```calls" || inside && text == "```":
			inside = !inside
		case inside && text != "" && !strings.HasPrefix(text, "#"):
			l, err := parse(i+1, text)
			if err != nil {
				t.Fatalf("docs/conformance.md: %v", err)
			}
			last := &list[len(list)-1]
			last.lines = append(last.lines, l)
		}
	}
	for _, c := range list {
		if len(c.lines) == 0 {
			t.Errorf("docs/conformance.md: %s has no calls", c.name)
		}
	}
	if len(list) == 0 {
		t.Fatal("docs/conformance.md has no checks")
	}
	return list
}

// foreign is a client in another language: a connection and the texts of the scripts.
type foreign struct {
	conn       redis.Conn
	dial       func() redis.Conn
	all        map[string]operation
	names      names
	subscribed map[string]redis.PubSubConn
}

func newForeign(t *testing.T, all map[string]operation) *foreign {
	server := redistest.Shared(t)
	f := &foreign{
		conn: server.Conn(t), dial: func() redis.Conn { return server.Conn(t) },
		all: all, subscribed: map[string]redis.PubSubConn{},
		names: names{"ns": redistest.Namespace(t)},
	}
	for _, worker := range []string{"v", "w"} { // v is the older one
		f.names[worker] = uuid.Must(uuid.NewV7()).String()
	}
	info, err := redis.String(f.conn.Do("CLIENT", "INFO"))
	m := regexp.MustCompile(` db=(\d+) `).FindStringSubmatch(info)
	if err != nil || m == nil {
		t.Fatalf("which database? %q, %v", info, err)
	}
	f.names["db"] = m[1]
	return f
}

// run makes a call and compares the reply.
func (f *foreign) run(l line) error {
	until := time.Now().Add(patience)
	for {
		reply, err := f.do(l.call)
		if len(l.want) == 0 {
			return err
		}
		known := maps.Clone(f.names)
		wrong := f.names.compare(l.want, reply, err)
		if wrong == nil || !l.until || time.Now().After(until) {
			return wrong
		}
		f.names = known
	}
}

func (f *foreign) do(call []word) (any, error) {
	args := make([]string, len(call))
	for i, w := range call {
		args[i] = f.names.fill(w.text)
		if nameForm.MatchString(args[i]) {
			return nil, fmt.Errorf("nothing has said what %s is", args[i])
		}
	}
	switch verb, rest := args[0], args[1:]; verb {
	case "redis":
		return f.conn.Do(rest[0], plain(rest[1:])...)
	case "subscribe":
		return nil, f.subscribe(rest[0])
	case "unsubscribe":
		return nil, f.unsubscribe(rest[0])
	case "hear":
		return f.hear(rest[0])
	case "raw":
		return f.eval(rest[0], append([]string{"1"}, rest[1:]...))
	default:
		root := f.names["ns"] + "@" + f.names["db"]
		if f.all[verb].mesh {
			return f.eval(verb, append([]string{"1", "{" + f.names["ns"] + "}", root}, rest...))
		}
		return f.eval(verb, append([]string{"1", f.names["ns"] + ":{q}", root, "q"}, rest...))
	}
}

// eval sends EVALSHA, and EVAL after NOSCRIPT.
func (f *foreign) eval(name string, args []string) (any, error) {
	op, known := f.all[name]
	if !known {
		return nil, fmt.Errorf("there is no script %s", name)
	}
	reply, err := f.conn.Do("EVALSHA", plain(append([]string{op.sha}, args...))...)
	if refusal, ok := err.(redis.Error); ok && strings.HasPrefix(refusal.Error(), "NOSCRIPT") {
		return f.conn.Do("EVAL", plain(append([]string{op.text}, args...))...)
	}
	return reply, err
}

func (f *foreign) subscribe(channel string) error {
	conn := redis.PubSubConn{Conn: f.dial()}
	if err := conn.Subscribe(channel); err != nil {
		return err
	}
	f.subscribed[channel] = conn
	if err, failed := conn.ReceiveWithTimeout(patience).(error); failed {
		return err
	}
	return nil
}

func (f *foreign) unsubscribe(channel string) error {
	conn := f.subscribed[channel]
	if err := conn.Unsubscribe(channel); err != nil {
		return err
	}
	for { // what was published before may come first
		switch m := conn.ReceiveWithTimeout(patience).(type) {
		case error:
			return m
		case redis.Subscription:
			return conn.Close()
		}
	}
}

// hear waits for the next message of a channel.
func (f *foreign) hear(channel string) (any, error) {
	conn, subscribed := f.subscribed[channel]
	if !subscribed {
		return nil, fmt.Errorf("nobody has subscribed to %s", channel)
	}
	switch m := conn.ReceiveWithTimeout(patience).(type) {
	case redis.Message:
		return m.Data, nil
	case error:
		return nil, m
	default:
		return nil, fmt.Errorf("%v is no message", m)
	}
}

func plain(args []string) []any {
	list := make([]any, len(args))
	for i, arg := range args {
		list[i] = arg
	}
	return list
}
