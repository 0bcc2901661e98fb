package worqr_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/internal/wire"
	"github.com/worqr/worqr-go/worqr"
)

// scenario 111: a user without one command that any script names, or that is sent besides: Open
// names it. The few that are done without are named here, and everything works without them.
func TestOpenNamesEachRightThatIsMissing(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t)
	c := server.Conn(t)
	all := map[string]bool{"EVAL": true, "EVALSHA": true, "SSCAN": true, "LLEN": true, "LRANGE": true, "HGET": true, "PING": true}
	for _, script := range wire.Scripts() {
		for _, command := range commands(script.Name) {
			all[command] = true
		}
	}
	without := []string{"info", "pubsub", "pubsub|numsub", "client", "client|info"}
	grant := func(rules ...string) string {
		t.Helper()
		args := redis.Args{"SETUSER", "limited", "reset", "on", ">s3cret", "~*", "&*", "+@all"}.AddFlat(rules)
		if _, err := c.Do("ACL", args...); err != nil {
			t.Fatal(err)
		}
		return "redis://limited:s3cret@" + server.Addr()
	}
	tried := 0
	for _, command := range slices.Sorted(maps.Keys(all)) {
		if slices.Contains(without, strings.ToLower(command)) {
			continue
		}
		tried++
		m, err := worqr.Open(t.Context(), grant("-"+command), worqr.Config{Namespace: "ns"})
		if err == nil {
			t.Errorf("%s: not found", command)
			_ = m.Close()
		} else if !errors.Is(err, worqr.ErrConfig) && !strings.HasPrefix(command, "EVAL") || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(command)) {
			t.Errorf("%s: the error is %q", command, err)
		}
	}
	t.Logf("%d commands", tried)
	for _, right := range without {
		everyVerb(t, openAt(t, grant("-"+right), worqr.Config{Namespace: "without-" + strings.ReplaceAll(right, "|", "-")}))
	}
}

// scenario 111: a right is taken away while work goes on, and given back, one command after the
// other. Every task is finished.
func TestNoTaskVanishesWhenARightIsTakenAway(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t)
	c := server.Conn(t)
	rights := func(words ...string) {
		t.Helper()
		if _, err := c.Do("ACL", redis.Args{"SETUSER", "limited"}.AddFlat(words)...); err != nil {
			t.Fatal(err)
		}
	}
	refusals := func(command string) string {
		t.Helper()
		stats, err := redis.String(c.Do("INFO", "commandstats"))
		if err != nil {
			t.Fatal(err)
		}
		return regexp.MustCompile("cmdstat_" + strings.ToLower(command) + ":.*rejected_calls=([0-9]+)").FindString(stats)
	}
	rights("reset", "on", ">s3cret", "~*", "&*", "+@all")
	tasks := numbered("t", 5)
	for _, persistent := range []bool{false, true} {
		for _, command := range []string{"DEL", "HDEL", "HSET", "LINDEX", "LMOVE", "LPUSH", "RPUSH", "SADD", "SET", "SREM", "ZADD", "ZREM"} {
			what := fmt.Sprintf("%s, persistent %v", command, persistent)
			m := openAt(t, "redis://limited:s3cret@"+server.Addr(), worqr.Config{Namespace: fmt.Sprintf("%s-%v", command, persistent)})
			var mu sync.Mutex
			turns, finished := map[string]int{}, map[string]bool{}
			began := make(chan string, 100)
			cfg := firm()
			cfg.Queues = map[string]worqr.Queue{"q": {Persistent: persistent, Limit: 3, Handler: worqr.HandlerFunc(func(_ context.Context, p *worqr.Process) error {
				began <- string(p.Task())
				mu.Lock()
				defer mu.Unlock()
				if turns[string(p.Task())]++; turns[string(p.Task())] == 1 {
					return errors.New("at first it fails, and goes back")
				}
				finished[string(p.Task())] = true
				return nil
			})}}
			_, stop := run(t, m, cfg)
			if persistent {
				if _, err := m.Reconcile(t.Context(), "q", raw(tasks)); err != nil {
					t.Fatal(err)
				}
			} else {
				enqueue(t, m, "q", tasks...)
			}
			receive(t, "a turn", began)
			before := refusals(command)
			rights("-" + command)
			refused := false
			for range 100 { // some are not used in these turns: then it is no news that nothing is lost
				if refused = refusals(command) != before; refused {
					break
				}
				select {
				case <-began:
				case <-time.After(10 * time.Millisecond):
				}
			}
			rights("+" + command)
			redistest.Eventually(t, 2*soon, what+": all are finished", func() bool {
				mu.Lock()
				defer mu.Unlock()
				for len(began) > 0 {
					<-began
				}
				return len(finished) == len(tasks)
			})
			redistest.Eventually(t, 2*soon, what+": nothing is left", func() bool {
				n, err := m.Len(t.Context(), "q")
				return err == nil && n == 0 && len(held(t, m, "q")) == 0
			})
			t.Logf("%s: refused %v", what, refused)
			if err := stop(); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
}
