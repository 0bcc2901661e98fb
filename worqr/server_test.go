package worqr_test

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/events"
	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// alive checks that a mesh works: commands and notifications.
func alive(t testing.TB, m *worqr.Mesh) {
	t.Helper()
	heard := hear(t, m, "q", events.Done)
	enqueue(t, m, "q", "a")
	w := start(t, m, patient(), "q")
	finish(t, take(t, w, "q"))
	if e := receive(t, "the done event", heard); e.Worker != w.ID() {
		t.Errorf("heard %+v", e)
	}
	if err := w.Fail(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestNewOnWhatIsGiven(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t).URL()
	var dials, subscriptions atomic.Int64
	dial := func(counter *atomic.Int64) func(context.Context) (redis.Conn, error) {
		return func(ctx context.Context) (redis.Conn, error) {
			counter.Add(1)
			return redis.DialURLContext(ctx, server)
		}
	}
	pools := map[string]func() *redis.Pool{
		"no pool": func() *redis.Pool { return nil },
		"a pool":  func() *redis.Pool { return &redis.Pool{DialContext: dial(&dials)} },
		"a pool without ctx": func() *redis.Pool {
			return &redis.Pool{Dial: func() (redis.Conn, error) { return dial(&dials)(t.Context()) }}
		},
		"a pool without Dial": func() *redis.Pool { return &redis.Pool{} },
	}
	for name, makePool := range pools {
		for _, subscribe := range []bool{false, true} {
			t.Logf("%s, subscribe %v", name, subscribe)
			dials.Store(0)
			subscriptions.Store(0)
			pool := makePool()
			cfg := worqr.Config{Namespace: redistest.Namespace(t)}
			if subscribe {
				cfg.Subscribe = dial(&subscriptions)
			}
			m, err := worqr.New(pool, cfg)
			if unusable := pool == nil && !subscribe || name == "a pool without Dial"; unusable {
				says(t, "New", err, worqr.ErrConfig, "pool", "Dial", "Subscribe")
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if dials.Load()+subscriptions.Load() > 0 {
				t.Error("New has dialled")
			}
			if err := m.Check(t.Context()); err != nil {
				t.Error(err)
			}
			alive(t, m)
			if pool != nil && dials.Load() == 0 || subscribe && subscriptions.Load() == 0 {
				t.Errorf("the pool has dialled %d times, Subscribe %d times", dials.Load(), subscriptions.Load())
			}
			if err := m.Close(); err != nil {
				t.Error(err)
			}
			if pool != nil { // it is the caller's, and goes on
				c := pool.Get()
				if _, err := c.Do("PING"); err != nil {
					t.Errorf("the pool after Close: %v", err)
				}
				if err := c.Close(); err != nil {
					t.Error(err)
				}
				if n := pool.ActiveCount(); n > 0 {
					t.Logf("%d connections in the pool", n)
				}
				if err := pool.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// The channels carry the database's number, however it was chosen.
func TestDatabases(t *testing.T) {
	t.Parallel()
	ns := redistest.Namespace(t)
	at := func(db int) string {
		u, err := url.Parse(redistest.Shared(t).URL())
		if err != nil {
			t.Fatal(err)
		}
		u.Path = fmt.Sprint("/", db)
		return u.String()
	}
	pool := &redis.Pool{Dial: func() (redis.Conn, error) { return redis.DialURL(at(3)) }}
	defer func() { _ = pool.Close() }()
	given, err := worqr.New(pool, worqr.Config{Namespace: ns})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = given.Close() }()
	opened, other := openAt(t, at(3), worqr.Config{Namespace: ns}), openAt(t, at(4), worqr.Config{Namespace: ns})
	heard, heardElsewhere := hear(t, given, "q"), hear(t, other, "q")
	enqueue(t, opened, "q", "a", "b")
	enqueue(t, other, "q", "x")
	if e := receive(t, "a work event", heard); e.Count != 2 {
		t.Errorf("heard %+v, want 2 tasks of the same database", e)
	}
	if e := receive(t, "a work event", heardElsewhere); e.Count != 1 {
		t.Errorf("heard %+v in database 4, want its own", e)
	}
	want(t, "tasks", waiting(t, given, "q"), []string{"a", "b"})
	want(t, "tasks of database 4", waiting(t, other, "q"), []string{"x"})
	alive(t, openAt(t, at(3), worqr.Config{}))
}

func TestOpenByUnixSocketUserAndPassword(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "redis.sock")
	const password = "s3cret/@:#"
	server := redistest.Own(t, "--unixsocket", socket, "--requirepass", password)
	c, err := redis.Dial("tcp", server.Addr(), redis.DialPassword(password))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := c.Do("ACL", "SETUSER", "ann", "on", ">ann's", "~*", "&*", "+@all"); err != nil {
		t.Fatal(err)
	}
	escaped := url.QueryEscape(password)
	for _, raw := range []string{
		"redis://:" + escaped + "@" + server.Addr(),
		"redis://" + escaped + "@" + server.Addr() + "/", // as redis-cli reads it
		"redis://default:" + escaped + "@" + server.Addr() + "/2",
		"redis://ann:" + url.QueryEscape("ann's") + "@" + server.Addr() + "/0",
		"unix://:" + escaped + "@" + socket,
		"unix://ann:" + url.QueryEscape("ann's") + "@" + socket + "?db=5",
	} {
		m, err := worqr.Open(t.Context(), raw, worqr.Config{Namespace: "ns"})
		if err != nil {
			t.Errorf("%s: %v", raw, err)
			continue
		}
		alive(t, m)
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestServerThatEvictsIsRefused(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t, "--maxmemory", "104857600", "--maxmemory-policy", "allkeys-lru")
	c := server.Conn(t)
	set := func(name, value string) {
		t.Helper()
		if _, err := c.Do("CONFIG", "SET", name, value); err != nil {
			t.Fatal(err)
		}
	}
	try := func(cfg worqr.Config) error {
		m, err := worqr.Open(t.Context(), server.URL(), cfg)
		if err == nil {
			alive(t, m)
			err = m.Close()
		}
		return err
	}
	for _, policy := range []string{"allkeys-lru", "allkeys-lfu", "allkeys-random", "volatile-lru", "volatile-ttl"} {
		set("maxmemory-policy", policy)
		says(t, policy, try(worqr.Config{WaitForRedis: true}), worqr.ErrConfig, "maxmemory 104857600", "maxmemory-policy "+policy, "noeviction", "AllowEviction")
	}
	if err := try(worqr.Config{AllowEviction: true}); err != nil {
		t.Errorf("AllowEviction: %v", err)
	}
	set("maxmemory", "0") // without a limit nothing is evicted
	if err := try(worqr.Config{}); err != nil {
		t.Errorf("no limit: %v", err)
	}
	set("maxmemory", "104857600")
	set("maxmemory-policy", "noeviction")
	if err := try(worqr.Config{}); err != nil {
		t.Errorf("noeviction: %v", err)
	}
}

// Check finds every right that is missing, before anything is done with it: of all commands that
// the mesh ever sends.
func TestMissingRightsAreFoundAtTheStart(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t)
	c := server.Conn(t)
	grant := func(rules ...string) string {
		t.Helper()
		args := redis.Args{"SETUSER", "limited", "reset", "on", ">s3cret"}.AddFlat(rules)
		if _, err := c.Do("ACL", args...); err != nil {
			t.Fatal(err)
		}
		return "redis://limited:s3cret@" + server.Addr()
	}
	// The rights that the documentation names are enough.
	everyVerb(t, openAt(t, grant("+@all", "~ns:*", "~{ns}*", "resetchannels", "&ns@*"), worqr.Config{Namespace: "ns"}))

	stats, err := redis.String(c.Do("INFO", "commandstats"))
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, found := range regexp.MustCompile(`(?m)^cmdstat_([a-z|]+):`).FindAllStringSubmatch(stats, -1) {
		used[found[1]] = true
	}
	for _, mine := range []string{"acl|setuser", "auth", "config|get", "info", "client|info", "subscribe", "unsubscribe", "pubsub|numsub"} { // of this test, or done without
		delete(used, mine)
	}
	if len(used) < 30 {
		t.Fatalf("only %d commands are used", len(used))
	}
	before := content(t, c, "ns")
	refused := func(what string, rules ...string) {
		t.Helper()
		m, err := worqr.Open(t.Context(), grant(rules...), worqr.Config{Namespace: "ns"})
		if err == nil {
			t.Errorf("%s: not found", what)
			_ = m.Close()
			return
		}
		text := strings.ToLower(err.Error()) // Redis words it in three ways
		if !strings.Contains(text, what) || !strings.Contains(text, "permission") && !strings.Contains(text, "can't ") {
			t.Errorf("%s: the error is %q", what, err)
		}
	}
	for _, command := range slices.Sorted(maps.Keys(used)) {
		refused(command, "~*", "&*", "+@all", "-"+command)
	}
	refused("key", "~other:*", "&*", "+@all")
	refused("key", "~ns:*", "&*", "+@all")
	refused("key", "~{ns}*", "&*", "+@all")
	refused("channel", "~*", "resetchannels", "+@all")
	want(t, "changed", differences(before, content(t, c, "ns")), nil)
}
