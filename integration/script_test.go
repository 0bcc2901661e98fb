package integration

import (
	"slices"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/internal/wire"
)

// operation is a script as the mesh sends it. With it a test finds the script among the commands on
// their way, and simulates a client that is late or dead already.
type operation struct{ source, sha string }

// lua returns an operation.
func lua(t testing.TB, name string) operation {
	t.Helper()
	s := wire.Named(name)
	return operation{s.Source, s.SHA}
}

// is reports whether the command runs this operation.
func (o operation) is(c redistest.Command) bool {
	return len(c.Args) > 1 && (c.Is("EVALSHA") && string(c.Args[1]) == o.sha || c.Is("EVAL") && string(c.Args[1]) == o.source)
}

// on runs the operation on the field's queue, as the client library would.
func (o operation) on(t testing.TB, f *field, args ...any) any {
	t.Helper()
	return o.run(t, f, f.ns+":{"+queue+"}", append([]any{f.channels(t), queue}, args...)...)
}

// onMesh runs the operation in the slot of the mesh.
func (o operation) onMesh(t testing.TB, f *field, args ...any) any {
	t.Helper()
	return o.run(t, f, "{"+f.ns+"}", append([]any{f.channels(t)}, args...)...)
}

func (o operation) run(t testing.TB, f *field, key string, args ...any) any {
	t.Helper()
	reply, err := f.conn.Do("EVAL", append([]any{o.source, 1, key}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

// All faults here aim at operations that lua knows by their text: it has to be the one that is
// sent.
func TestOperationsAreSentAsTheyAreReadHere(t *testing.T) {
	t.Parallel()
	f := newField(t)
	f.enqueue(t, "t1")
	f.daemon(t, setup{Queue: queue, Do: "finish"}).next(t)
	for _, name := range []string{"join", "beat", "sweep", "serve", "open", "take", "settle", "look", "enqueue", "note"} {
		redistest.Eventually(t, soon, name+" is known to the server", func() bool {
			known, err := redis.Ints(f.conn.Do("SCRIPT", "EXISTS", lua(t, name).sha))
			return err == nil && known[0] == 1
		})
	}
}

// raise raises a flag, for which c has room.
func raise(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// receive waits for a flag.
func receive(t testing.TB, c <-chan struct{}, what string) {
	t.Helper()
	limit := time.NewTimer(soon)
	defer limit.Stop()
	select {
	case <-c:
	case <-limit.C:
		t.Fatalf("not within %v: %s", soon, what)
	}
}

// pass lets time pass where the length of a fault is the fault.
func pass(d time.Duration) { <-time.After(d) }

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

// lazy returns the same times without sweeps, for a peer that must not be the reclaimer.
func lazy(t timing) timing {
	t.Sweep = time.Hour
	return t
}

// load makes the server know the operation, so that the next client sends it once.
func (o operation) load(t testing.TB, f *field) {
	t.Helper()
	if _, err := f.conn.Do("SCRIPT", "LOAD", o.source); err != nil {
		t.Fatal(err)
	}
}
