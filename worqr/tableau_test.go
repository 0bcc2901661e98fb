package worqr_test

import (
	"crypto/sha1"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/internal/wire"
)

// A tableau is a mesh in which each script finds something of all that it can find: members, a dead
// worker, one that is on its way back, tasks that wait, are held, delayed, offered, suspect,
// canceled. It is made of plain keys on a server of its own, and restored before each call of a
// script.
type tableau struct {
	t      testing.TB
	server *redistest.Server
	c      redis.Conn
	t0     int64             // microseconds: tokens are t0 + 1 and so on
	keys   []string          // what restores it: key, expiry in ms or 0, dump
	types  map[string]string // of its keys
}

const (
	meshKey   = "{ns}"
	plainKey  = "ns:{q}" // a queue of one-shot tasks
	holdKey   = "ns:{p}" // a queue of persistent tasks
	heartbeat = 3_000    // milliseconds
)

func fingerprint(task string) string { return fmt.Sprintf("%x", sha1.Sum([]byte(task))) }

func newTableau(t testing.TB) *tableau {
	t.Helper()
	tb := &tableau{t: t, server: redistest.Own(t), types: map[string]string{}}
	tb.c = tb.server.Conn(t)
	clock, err := redis.Strings(tb.c.Do("TIME"))
	if err != nil {
		t.Fatal(err)
	}
	seconds, _ := strconv.ParseInt(clock[0], 10, 64)
	tb.t0 = seconds * 1_000_000
	tb.build()
	names, err := redis.Strings(tb.c.Do("KEYS", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range names {
		dump, err := redis.String(tb.c.Do("DUMP", key))
		if err != nil {
			t.Fatal(err)
		}
		kind, _ := redis.String(tb.c.Do("TYPE", key))
		expiry, _ := redis.Int(tb.c.Do("PTTL", key))
		tb.keys, tb.types[key] = append(tb.keys, key, strconv.Itoa(max(expiry, 0)), dump), kind
	}
	for _, s := range wire.Scripts() {
		if _, err := tb.c.Do("SCRIPT", "LOAD", s.Source); err != nil {
			t.Fatal(err)
		}
	}
	here := redis.PubSubConn{Conn: tb.server.Conn(t)} // w1 and w2 are present
	if err := here.Subscribe("ns@0:here:w1", "ns@0:here:w2"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		here.Receive()
	}
	return tb
}

func (tb *tableau) build() {
	do := func(line string, last ...any) {
		tb.t.Helper()
		words := redis.Args{}.AddFlat(strings.Fields(line)[1:]).Add(last...)
		if _, err := tb.c.Do(strings.Fields(line)[0], words...); err != nil {
			tb.t.Fatalf("%s: %v", line, err)
		}
	}
	at := func(n int64) string { return strconv.FormatInt(tb.t0+n, 10) }
	hour := at(3_600_000_000)

	do("SADD {ns}:workers w1 w2 w3")
	do("SADD {ns}:present w1 w2 w3")
	do("SADD {ns}:queues q p new")
	do("HSET {ns}:mesh protocol 1 lapse 3000 notes 7 rota 0 rotaqueue p")
	for _, w := range []string{"w1", "w2", "w3"} {
		do("SADD {ns}:workmap:" + w + " q p")
		do("HSET {ns}:info:" + w + " started 1 edit 2 host h")
		if w != "w3" { // it is dead
			do("SET {ns}:worker:" + w + " RUN PX 300000")
		}
	}
	// hold puts a task into the hands of a membership.
	hold := func(queue, m string, number, token int64, task string) {
		do(fmt.Sprintf("LPUSH %s:process:%s.%d", queue, m, number), task)
		do(fmt.Sprintf("ZADD %s:processes:%s %s %d", queue, m, at(token), number))
		if queue == holdKey {
			do(fmt.Sprintf("HSET %s:holders %s %s.%d", queue, fingerprint(task), m, number))
			do(fmt.Sprintf("HSET %s:present %s %s", queue, fingerprint(task), task))
		}
	}
	for _, queue := range []string{plainKey, holdKey} {
		do("HSET " + queue + ":workers w1.1 6 w2.1 1 w3.2 1")
		do("SADD " + queue + ":returning w3.1")
		do("SADD " + queue + ":idle w1.1 w2.1 w3.2")
		do("SADD " + queue + ":fast w1.1 w2.1 w3.2")
		do("SET " + queue + ":token " + at(500) + " PX 172000000")
		do("SET " + queue + ":closed " + at(400) + " PX 172000000")
		for n, task := range []string{"h1", "h2", "h3", "h4", "canceled", "again"} {
			hold(queue, "w1.1", int64(n+1), int64(10+n), task)
		}
		hold(queue, "w2.1", 1, 20, "h7")
		hold(queue, "w3.2", 1, 21, "h8")
		for n, task := range []string{"r1", "r2", "rcancelled"} { // on their way back
			hold(queue, "w3.1", int64(n+1), int64(30+n), task)
		}
		do("ZADD " + queue + ":cancels " + at(50) + " " + fingerprint("canceled"))
		do("ZADD " + queue + ":cancels " + at(51) + " " + fingerprint("again"))
		do("ZADD " + queue + ":cancels " + at(52) + " " + fingerprint("rcancelled"))
		do("ZADD " + queue + ":cancels 5 old")
	}
	do("LPUSH " + plainKey + ":tasks a b c d e f")

	do("HSET " + holdKey + ":policy persistent 1 generation 5 full 0")
	do("HSET " + holdKey + ":shares w1.1 \"\"")
	for m, weight := range map[string]string{"w1.1": "9", "w2.1": "1", "w3.2": "1"} {
		do("HSET "+holdKey+":shares "+m, weight+" 0 "+at(0))
	}
	do("HSET "+holdKey+":fates w3.1", "death "+at(0))
	for _, task := range []string{"a", "b", "suspect", "c", "d"} { // these wait, a in front
		do("LPUSH "+holdKey+":tasks", task)
		do("SADD " + holdKey + ":unique " + fingerprint(task))
		do("HSET " + holdKey + ":present " + fingerprint(task) + " " + task)
	}
	do("HSET "+holdKey+":past "+fingerprint("suspect"), "death "+at(1)+" 0 2")
	do("HSET "+holdKey+":past "+fingerprint("a"), "drain "+at(1)+" 0 0")
	do("HSET "+holdKey+":past "+fingerprint("h2"), "death "+at(1)+" 1 2")
	do("HSET "+holdKey+":past "+fingerprint("r1"), "death "+at(1)+" 1 2")
	do("HSET "+holdKey+":checkpoints "+fingerprint("a"), at(1)+" 0\ndata")
	do("HSET "+holdKey+":checkpoints "+fingerprint("h1"), at(10)+" 0\ndata")
	for task, date := range map[string]string{"due": "1", "later": hour, "again": "9000000000000000"} {
		do("ZADD " + holdKey + ":delayed " + date + " " + task)
		do("SADD " + holdKey + ":unique " + fingerprint(task))
		do("HSET " + holdKey + ":present " + fingerprint(task) + " " + task)
	}
	// h3 is offered by w1 and waits, h7 was w1's and w2 has not said yet that it runs.
	do("HSET " + holdKey + ":offers " + fingerprint("h3") + " w1.1.3")
	do("SADD " + holdKey + ":unique " + fingerprint("h3"))
	do("RPUSH " + holdKey + ":tasks h3")
	do("HSET " + holdKey + ":offers " + fingerprint("h7") + " w1.1.9")
}

// prepare sends what makes the database that of the tableau again, and what prepares a call. Each
// has one reply.
func (tb *tableau) prepare(k call) (replies int) {
	tb.send("FLUSHALL")
	for i := 0; i < len(tb.keys); i += 3 {
		tb.send("RESTORE", tb.keys[i], tb.keys[i+1], tb.keys[i+2])
	}
	commands := k.before
	if k.foreign != nil {
		commands = slices.Concat(k.before, [][]string{{"DEL", k.foreign[1]}, k.foreign})
	}
	for _, words := range commands {
		tb.send(words[0], redis.Args{}.AddFlat(words[1:])...)
	}
	return 1 + len(tb.keys)/3 + len(commands)
}

// play runs each call in a tableau as it was, and returns how each was refused.
func (tb *tableau) play(calls ...call) []error {
	tb.t.Helper()
	replies := make([]int, len(calls))
	for i, k := range calls {
		replies[i] = tb.prepare(k)
		tb.send("EVALSHA", k.words()...)
	}
	answers := make([]error, len(calls))
	for i, k := range calls {
		tb.receive(k, replies[i])
		answers[i] = tb.refusal(k)
	}
	return answers
}

// changed runs a call and names the keys that it changes.
func (tb *tableau) changed(k call) []string {
	tb.t.Helper()
	replies := tb.prepare(k)
	tb.send("EVAL", photograph, 0)
	tb.send("EVALSHA", k.words()...)
	tb.send("EVAL", photograph, 0)
	tb.receive(k, replies)
	before, err := redis.Strings(tb.c.Receive())
	if err != nil {
		tb.t.Fatal(err)
	}
	_ = tb.refusal(k)
	after, err := redis.Strings(tb.c.Receive())
	if err != nil {
		tb.t.Fatal(err)
	}
	return changes(before, after)
}

// receive reads the replies to what prepares a call.
func (tb *tableau) receive(k call, replies int) {
	tb.t.Helper()
	if err := tb.c.Flush(); err != nil {
		tb.t.Fatal(err)
	}
	for range replies {
		if _, err := tb.c.Receive(); err != nil {
			tb.t.Fatalf("%v: %v", k, err)
		}
	}
}

func (tb *tableau) refusal(k call) error {
	tb.t.Helper()
	_, err := tb.c.Receive()
	var refusal redis.Error
	if err != nil && !errors.As(err, &refusal) {
		tb.t.Fatalf("%v: %v", k, err)
	}
	return err
}

func (tb *tableau) send(command string, words ...any) {
	if err := tb.c.Send(command, words...); err != nil {
		tb.t.Fatal(err)
	}
}

// photograph returns every key with its content, byte for byte, and when it ends, to the second. It
// runs on the server.
const photograph = `
local out, t = {}, redis.call('TIME')
local keys = redis.call('KEYS', '*')
table.sort(keys)
for _, key in ipairs(keys) do
  local left = redis.call('PTTL', key)
  out[#out + 1] = key
  out[#out + 1] = tostring(redis.call('DUMP', key))
  out[#out + 1] = left < 0 and '-1' or string.format('%.0f', t[1] * 1000 + t[2] / 1000 + left)
end
return out`

// changes names the keys in which two photographs differ. Ends may differ by what a clock's
// granularity makes of them.
func changes(before, after []string) []string {
	last := func(photo []string) map[string]string {
		ends := map[string]string{}
		for i := 0; i < len(photo); i += 3 {
			ends[photo[i]] = photo[i+2]
		}
		return ends
	}
	content := func(photo []string) map[string]string {
		keys := map[string]string{}
		for i := 0; i < len(photo); i += 3 {
			keys[photo[i]] = photo[i+1]
		}
		return keys
	}
	list := differences(content(before), content(after))
	then := last(before)
	for key, end := range last(after) {
		a, _ := strconv.Atoi(then[key])
		b, _ := strconv.Atoi(end)
		if then[key] != "" && (a-b > 500 || b-a > 500) {
			list = append(list, key+" (ends at another time)")
		}
	}
	return list
}
