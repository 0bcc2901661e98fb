//go:build linux

package faults

import (
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

// The demotion is a planned one, which loses nothing. Writes stand still until the replica has all
// that was confirmed, and from then on the old primary refuses them. So Strict holds are as
// exclusive as before: the last beat that the old primary accepted was executed before anything
// that the new one executes, and its end came with it. Where the clocks of both differ, each judge
// finds another server than before, and waits for a lapse of its own time.
//
// The test does not ask for what is not promised: replication that loses writes, a primary that
// goes on serving beside the new one, and Fast takeover, whose connections for presence no replica
// knows of.

// follow starts the second server, as a replica of the first. Its wall clock is its own.
func (f *fleet) follow(library string) {
	f.Helper()
	f.spare = newServer(f, library)
	f.on(f.spare, "REPLICAOF", hostAndPort(f.server)...)
}

func hostAndPort(s *server) []any {
	host, port, _ := net.SplitHostPort(s.Addr())
	return []any{host, port}
}

// demote makes the replica the primary, and the primary its replica. All connections stay open; new
// ones reach the new primary.
func demote(f *fleet, _ time.Duration) (string, func()) {
	if f.paused || stamp() < f.heldUp || f.spare == nil || os.Getenv("WORQR_FAULT_FAST") != "" {
		return "", nil
	}
	if f.spare.clock != nil && f.spare.shift != f.server.shift {
		if f.steppedLately() {
			return "", nil
		}
		f.stepped = stamp()
	}
	if !poll(f.timing.Lapse/2, f.follows) {
		return "", nil // a restart was not long ago
	}
	how, done := "FAILOVER", f.failover
	if f.random.IntN(2) == 0 {
		how, done = "REPLICAOF", f.promote
	}
	if !done() {
		return "", nil
	}
	f.server, f.spare = f.spare, f.server
	for _, w := range f.ways {
		w.Redirect(f.server.Server)
	}
	f.beside.Redirect(f.server.Server)
	f.beside.Cut() // an observer needs no repair
	return fmt.Sprintf("demote the primary, by %s; the clock of the new one is off by %v, where that of the old one is by %v", how,
		f.server.shift, f.spare.shift), nil
}

// follows reports whether the replica could be a primary, and could then be killed: it has stored
// what it was sent.
func (f *fleet) follows() bool {
	info := f.info(f.spare)
	return strings.Contains(info, "master_link_status:up") && strings.Contains(info, "aof_rewrite_in_progress:0") &&
		strings.Contains(info, "aof_rewrite_scheduled:0") && strings.Contains(f.info(f.server), "state=online")
}

// failover makes Redis do it. It gives up when the replica does not keep up.
func (f *fleet) failover() bool {
	args := append([]any{"TO"}, hostAndPort(f.spare)...)
	f.on(f.server, "FAILOVER", append(args, "TIMEOUT", (soon/2).Milliseconds())...)
	f.await("the failover has ended", func() bool { return strings.Contains(f.info(f.server), "master_failover_state:no-failover") })
	return strings.Contains(f.info(f.server), "role:slave")
}

// promote does what operators do.
func (f *fleet) promote() bool {
	f.on(f.server, "CLIENT", "PAUSE", (10 * soon).Milliseconds(), "WRITE")
	f.await("the replica has all", func() bool {
		return field(f.info(f.server), "master_repl_offset") == field(f.info(f.spare), "master_repl_offset")
	})
	f.on(f.spare, "REPLICAOF", "NO", "ONE")
	f.on(f.server, "REPLICAOF", hostAndPort(f.spare)...)
	f.on(f.server, "CLIENT", "UNPAUSE")
	return true
}

func (f *fleet) info(s *server) string {
	f.Helper()
	text, err := redis.String(f.on(s, "INFO", "everything"), nil)
	if err != nil {
		f.Fatal(err)
	}
	return text
}

// field returns one field of INFO.
func field(info, name string) string {
	_, rest, _ := strings.Cut(info, "\r\n"+name+":")
	value, _, _ := strings.Cut(rest, "\r\n")
	return value
}

// on sends one command over a connection of its own: earlier connections may be gone.
func (f *fleet) on(s *server, command string, args ...any) any {
	f.Helper()
	conn, err := redis.DialURL(s.URL(), redis.DialReadTimeout(soon))
	if err != nil {
		f.Fatal(err)
	}
	defer conn.Close()
	reply, err := conn.Do(command, args...)
	if err != nil {
		f.Fatalf("%s %v at %s: %v", command, args, s.Addr(), err)
	}
	return reply
}
