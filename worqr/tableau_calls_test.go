package worqr_test

import (
	"fmt"
	"strings"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/wire"
)

// A call is one run of a script in a tableau.
type call struct {
	script, key string
	args        []any      // after those that all scripts of the slot have in common
	before      [][]string // commands that prepare it
	foreign     []string   // a command that makes a foreign value at its key
}

func (k call) String() string {
	return strings.TrimSpace(fmt.Sprintln(k.script, k.key, k.args, k.before, k.foreign))
}

// words are those of the EVALSHA.
func (k call) words() redis.Args {
	words := redis.Args{wire.Named(k.script).SHA, 1, k.key, "ns@0"}
	switch k.key {
	case plainKey:
		words = words.Add("q")
	case holdKey:
		words = words.Add("p")
	}
	return words.Add(k.args...)
}

// calls are those of each script, by which it comes to all that it can do.
func (tb *tableau) calls() []call {
	at := func(n int64) int64 { return tb.t0 + n }
	run := func(first, token, count int64, outcome string) string {
		return fmt.Sprintf("%d %d %d %s", first, at(token), count, outcome)
	}
	mesh := func(script string, args ...any) call { return call{script: script, key: meshKey, args: args} }
	plain := func(script string, args ...any) call { return call{script: script, key: plainKey, args: args} }
	hold := func(script string, args ...any) call { return call{script: script, key: holdKey, args: args} }
	after := func(k call, commands ...string) call {
		for _, line := range commands {
			k.before = append(k.before, strings.Fields(line))
		}
		return k
	}
	quiet := []string{"DEL ns:{q}:returning", "DEL ns:{q}:processes:w3.1"}
	calls := []call{
		mesh("join", "w9", 3000, "1", "", "host", "h"), mesh("join", "w1", 3000, "1", "w3", "host", "h"),
		after(mesh("join", "w9", 4000, "1", "", "host", "h"), "DEL {ns}:worker:w1 {ns}:worker:w2"),
		mesh("beat", "w1", heartbeat, 0), mesh("beat", "w1", heartbeat, 800),
		mesh("serve", "w1", "other", 3), mesh("unserve", "w1", "q", 3), mesh("note", "other"), mesh("forget", "new", "7"),
		mesh("leave", "w3", "reclaimed"), mesh("leave", "w1", "left"),
		after(mesh("leave", "w1", "left"), "SET {ns}:watch w1", "SET {ns}:deputy w1"), mesh("fail", "w1"),
		mesh("sweep", "w1", heartbeat, 0, 800, 800), mesh("sweep", "w1", heartbeat, 0, 0, 800),
		mesh("roster", 0), mesh("served", "q", "w1", "w3"), mesh("appear", "w1"), mesh("watch", "w1", 500),
		after(mesh("watch", "w1", 500), "SET {ns}:deputy w1"), after(mesh("watch", "w1", 500), "SET {ns}:watch w2"),
		after(mesh("watch", "w1", 500), "SET {ns}:watch w2 PX 9000"),
		{script: "check", key: "{ns}:scratch"}, {script: "check", key: "ns:{scratch}"},

		plain("open", "w9.1", at(500), "0"), plain("open", "w9.1", at(500), "0", "1"),
		plain("enqueue", "x", "y"), plain("enqueue", "x"),
		plain("take", "w1.1", 7, 3, "1"), plain("take", "w1.1", 7, 100, "1"), plain("take", "w1.1", 5, 4, "0"),
		plain("take", "w1.1", 7, 2, "1", run(1, 10, 3, "finish")+" "+run(4, 13, 1, "back")),
		after(plain("take", "w1.1", 7, 2, "1", run(1, 10, 3, "front")+" "+run(5, 14, 1, "back")), quiet...),
		after(plain("take", "w1.1", 7, 100, "1"), quiet...), after(plain("take", "w1.1", 7, 2, "1"), quiet...),
		plain("settle", "w1.1", run(1, 10, 4, "finish")), plain("settle", "w1.1", run(1, 10, 6, "front")),
		plain("settle", "w1.1", run(1, 10, 1, "finish")+" "+run(2, 11, 2, "back")+" "+run(5, 14, 1, "front")),
		plain("reclaim", "w1.1", 0), plain("reclaim", "w1.1", 32), plain("reclaim", "w3.1", 32), plain("reclaim", "w3.1", 2),
		plain("look", "w1.1", 0), plain("wake"), plain("newest"), plain("cancel", "b", 0), plain("cancel", "h1", 0),
		plain("delete", 0), plain("audit", 0), plain("held", "w1.1", 0, 500, "*"), plain("trim", 0), plain("trim", at(10)),
		{script: "trim", key: "ns:{new}", args: []any{"new", 0}},
		plain("allow", "w1.1"), plain("tell", "b", 9), plain("rescue", "w3.2", "{ns}:worker:w3", 0, 300), plain("admit", "up", 1000),

		hold("open", "w9.1", at(500), "1", "0", 1, 0), hold("open", "w9.1", at(500), "1", "1", 1, 0),
		hold("add", "", "x", "y"), hold("add", 5, "x", "a", "canceled", "h1"),
		hold("hold_take", "w1.1", 7, 10), hold("hold_take", "w1.1", 5, 10), hold("hold_take", "w2.1", 2, 500),
		after(hold("hold_take", "w2.1", 2, 500), "HDEL ns:{p}:shares w1.1 w3.2"),
		after(hold("hold_take", "w2.1", 2, 500), "HDEL ns:{p}:shares w1.1 w3.2", "SET ns:{p}:trial:w2.1 another"),
		after(hold("hold_take", "w2.1", 2, 500), "HDEL ns:{p}:shares w1.1 w3.2", "RPUSH ns:{p}:tasks b h1", "SREM ns:{p}:unique "+fingerprint("b")),
		hold("hold_settle", "w1.1", run(1, 10, 6, "finish")), hold("hold_settle", "w1.1", run(1, 10, 6, "later")),
		hold("hold_settle", "w1.1", run(1, 10, 2, "front")+" "+run(3, 12, 2, "undo")+" "+run(5, 14, 1, "drain")),
		hold("hold_look", "w1.1", 0, 800), hold("hold_look", "w1.1", 0, 0),
		hold("reclaim", "w1.1", 0, "death", 0), hold("reclaim", "w1.1", 32, "death", 0), hold("reclaim", "w3.1", 32),
		hold("reclaim", "w3.1", 1, "drain"), hold("reclaim", "w1.1", 32, "drain"), hold("reclaim", "w1.1", 32, "lapse"),
		after(hold("reclaim", "w1.1", 32, "death", 1000), "SET ns:{p}:blamed:w3.1 1"),
		hold("grant", at(500), "w1.1", 1, 3, "w2.1", 1, 0), hold("weigh", "w1.1", 0), hold("generation"), hold("present", 0),
		hold("drop", 5, "a", "h1", "later", "again", "nowhere"), hold("cancel", "a", 0), hold("cancel", "h1", 0), hold("cancel", "later", 0),
		hold("delete", 0), hold("locate", "a"), hold("locate", "h1"), hold("offer", "w1.1", 1, at(10)), hold("offer", "w1.1", 3, at(12)),
		after(hold("generation"), "DEL ns:{p}:workers ns:{p}:tasks ns:{p}:holders ns:{p}:unique"),
		after(hold("offer", "w1.1", 1, at(10)), "DEL ns:{p}:holders ns:{p}:unique"),
		hold("ready", "w2.1", 1, "h7"), hold("checkpoint", "w1.1", 1, at(10), 1, "data", 2, at(11), 0, "data"),
		hold("rescue", "w3.2", "{ns}:worker:w3", 0, 300), hold("audit", 0), hold("trim", 0), hold("held", "w1.1", 0, 500, "*"),
	}
	return calls
}
