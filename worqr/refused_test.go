package worqr_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/wire"
)

// called are the commands that the text of a script names, by whatever name it calls redis.call.
var called = regexp.MustCompile(`\(\s*'([A-Z]+)'`)

// commands lists those of a script.
func commands(script string) []string {
	names := map[string]bool{}
	for _, found := range called.FindAllStringSubmatch(wire.Named(script).Source, -1) {
		names[found[1]] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// accounted lists the tasks of the tableau's queues that can still be run: they wait, are delayed,
// or are held by a process that is known, of a membership that is in the queue or on its way back.
// It runs on the server.
const accounted = `
local out = {}
for _, q in ipairs({'ns:{q}', 'ns:{p}'}) do
  local function add(task) out[#out + 1] = q .. ' ' .. tostring(task) end
  for _, task in ipairs(redis.call('LRANGE', q .. ':tasks', 0, -1)) do add(task) end
  for _, task in ipairs(redis.call('ZRANGE', q .. ':delayed', 0, -1)) do add(task) end
  local ms = redis.call('HKEYS', q .. ':workers')
  for _, m in ipairs(redis.call('SMEMBERS', q .. ':returning')) do ms[#ms + 1] = m end
  for _, m in ipairs(ms) do
    for _, n in ipairs(redis.call('ZRANGE', q .. ':processes:' .. m, 0, -1)) do
      local task = redis.call('LINDEX', q .. ':process:' .. m .. '.' .. n, 0)
      if task then add(task) end
    end
  end
end
return out`

// scenario 111: each script, refused by a missing right at each command that it names. No task
// vanishes that it keeps when nothing is refused: not at once, and not when it is repeated with all
// rights.
func TestNoTaskVanishesInAScriptThatIsRefusedHalfWay(t *testing.T) {
	t.Parallel()
	tb := newTableau(t)
	limited := tb.server.Conn(t)
	do := func(c redis.Conn, command string, words ...any) any {
		t.Helper()
		reply, err := c.Do(command, words...)
		if err != nil {
			t.Fatalf("%s %v: %v", command, words, err)
		}
		return reply
	}
	tasks := func() []string {
		t.Helper()
		list, err := redis.Strings(do(tb.c, "EVAL", accounted, 0), nil)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(list)
		return slices.Compact(list)
	}
	missing := func(all, rest []string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(task string) bool { return slices.Contains(rest, task) })
	}
	tb.play(tb.calls()[0])
	before := tasks()
	cases, refused := 0, 0
	for _, k := range tb.calls() {
		if k.key == meshKey || k.script == "check" {
			continue
		}
		tb.play(k)
		kept := slices.DeleteFunc(tasks(), func(task string) bool { return !slices.Contains(before, task) })
		drawn := tb.drain(k.key)
		for _, command := range commands(k.script) {
			tb.receive(k, tb.prepare(k))
			do(tb.c, "ACL", "SETUSER", "limited", "reset", "on", "nopass", "~*", "&*", "+@all", "-"+command)
			do(limited, "AUTH", "limited", "x")
			_, err := limited.Do("EVALSHA", k.words()...)
			cases++
			if err != nil {
				refused++
			}
			if lost := missing(kept, tasks()); len(lost) > 0 {
				t.Errorf("%v without %s: %v, and these are nowhere: %v", k, command, err, lost)
				continue
			}
			do(tb.c, "EVALSHA", k.words()...)
			if lost := missing(kept, tasks()); len(lost) > 0 {
				t.Errorf("%v without %s, and repeated with it: these are nowhere: %v", k, command, lost)
				continue
			}
			if lost := missing(drawn, tb.drain(k.key)); len(lost) > 0 {
				t.Errorf("%v without %s, and repeated with it: nobody can take %v", k, command, lost)
			}
		}
	}
	t.Logf("%d cases, %d were refused", cases, refused)
	if refused < cases/3 {
		t.Error("too few of them are refused")
	}
}

// drain closes all memberships of a queue and lets a new one take all that waits then. It returns
// what that one has.
func (tb *tableau) drain(key string) (list []string) {
	tb.t.Helper()
	run := func(script string, args ...any) []any {
		k := call{script: script, key: key, args: args}
		reply, err := tb.c.Do("EVALSHA", k.words()...)
		if err != nil {
			tb.t.Fatalf("%v: %v", k, err)
		}
		values, _ := redis.Values(reply, nil)
		return values
	}
	if key != plainKey && key != holdKey {
		return nil
	}
	for _, m := range []string{"w1.1", "w2.1", "w3.1", "w3.2", "w9.1"} {
		run("reclaim", m, 500)
	}
	script, hold, first := "take", "0", 3 // how many values come before the tasks
	if key == holdKey {
		script, hold, first = "hold_take", "1", 4
	}
	ticket := tb.t0 + 3_600_000_000_000
	run("open", "w8.1", ticket, hold, "0", 1, 0)
	for i := range 12 {
		if key == holdKey { // neither dates nor trials hold it up
			if _, err := tb.c.Do("DEL", key+":trial:w8.1"); err != nil {
				tb.t.Fatal(err)
			}
			for _, task := range []string{"later", "suspect", "h1", "h2", "h3", "h4", "h7", "h8", "r1", "r2"} {
				if _, err := tb.c.Do("ZADD", key+":delayed", "XX", 1, task); err != nil {
					tb.t.Fatal(err)
				}
			}
		}
		reply := run(script, "w8.1", i*50+1, 50, "0")
		for j := first; j < len(reply); j++ {
			task, _ := redis.String(reply[j], nil)
			list = append(list, fmt.Sprint(key, " ", strings.TrimSpace(task)))
			if key == holdKey {
				j++ // its past
			}
		}
	}
	return list
}
