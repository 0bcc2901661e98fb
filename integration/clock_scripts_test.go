package integration

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/redistest"
)

// stepped is a field whose server's clock goes back in place, for scripts that the test sends
// itself.
type stepped struct {
	*field
	clock *clocked
}

// steppedBack runs a test on a server whose clock it steps back by a minute, and by an hour.
func steppedBack(t *testing.T, test func(t *testing.T, s stepped, by time.Duration)) {
	t.Parallel()
	library := buildClock(t)
	for _, by := range []time.Duration{time.Minute, time.Hour} {
		t.Run(by.String(), func(t *testing.T) {
			t.Parallel()
			clock := newClocked(t, library)
			test(t, stepped{fieldAt(t, clock.Server), clock}, by)
		})
	}
}

// onMesh and on run an operation and return its reply as text.
func (s stepped) onMesh(t testing.TB, name string, args ...any) []string {
	t.Helper()
	return texts(lua(t, name).onMesh(t, s.field, args...))
}

func (s stepped) on(t testing.TB, name string, args ...any) []string {
	t.Helper()
	return texts(lua(t, name).on(t, s.field, args...))
}

func texts(reply any) []string {
	switch reply := reply.(type) {
	case []any:
		list := make([]string, len(reply))
		for i, one := range reply {
			list[i] = strings.Join(texts(one), " ")
		}
		return list
	case []byte:
		return []string{string(reply)}
	default:
		return []string{fmt.Sprint(reply)}
	}
}

// ends fails the test unless a key ends within most.
func (s stepped) ends(t testing.TB, key string, most time.Duration) {
	t.Helper()
	if left := time.Duration(s.count(t, "PTTL", key)) * time.Millisecond; left <= 0 || left > most {
		t.Errorf("%s ends in %v, want within %v", key, left, most)
	}
}

func (s stepped) set(t testing.TB, key, value string, ends time.Duration) {
	t.Helper()
	if _, err := s.conn.Do("SET", key, value, "PX", ends.Milliseconds()); err != nil {
		t.Fatal(err)
	}
}

// now returns the server's clock.
func (s stepped) now(t testing.TB) time.Time {
	t.Helper()
	at, err := redis.Int64s(s.conn.Do("TIME"))
	if err != nil {
		t.Fatal(err)
	}
	return time.Unix(at[0], at[1]*1000)
}

const brief = 3000 // the lapse of these scripts, in milliseconds

// scenario 115: claims of dead workers last no longer than they were made for.
func TestClaimsOfTheMeshAreCutDown(t *testing.T) {
	steppedBack(t, func(t *testing.T, s stepped, by time.Duration) {
		s.onMesh(t, "join", "w", brief, "1")
		claim := func() {
			s.set(t, s.meshKey("sweep"), "dead", 800*time.Millisecond)
			s.set(t, s.meshKey("rota"), "dead", 800*time.Millisecond)
			s.set(t, s.meshKey("watch"), "dead", 400*time.Millisecond)
			s.set(t, s.meshKey("deputy"), "dying", 1200*time.Millisecond)
			s.clock.step(t, -by)
		}
		claim()
		if said := s.onMesh(t, "beat", "w", brief, 800); said[1] != "0" || said[2] != "1" {
			t.Errorf("beat: %q, want that a peer has the round", said)
		}
		s.ends(t, s.meshKey("sweep"), time.Second)
		claim()
		if said := s.onMesh(t, "sweep", "w", brief, "0", 800, 800); said[2] != "0" {
			t.Errorf("sweep: %q, want that a peer has the round", said)
		}
		s.ends(t, s.meshKey("sweep"), time.Second)
		s.ends(t, s.meshKey("rota"), time.Second)
		s.ends(t, s.meshKey("watch"), 2*time.Second)
		s.ends(t, s.meshKey("deputy"), 2*time.Second)
		claim()
		said := s.onMesh(t, "watch", "w", 400)
		if said[1] != "" || len(said[2]) > 3 {
			t.Errorf("watch: %q, want that it is neither, and when the watcher's claim ends", said)
		}
		s.ends(t, s.meshKey("watch"), 400*time.Millisecond)
		s.ends(t, s.meshKey("deputy"), 1200*time.Millisecond)
	})
}

// a worker was failed by hand, and the clock goes back: the mesh takes another Lapse when nobody
// can trust the old one any more
func TestAFailedWorkerIsWaitedForOneLapse(t *testing.T) {
	steppedBack(t, func(t *testing.T, s stepped, by time.Duration) {
		const short = 500
		s.onMesh(t, "join", "w", short, "1")
		if said := s.onMesh(t, "fail", "w"); said[0] != "1" {
			t.Fatalf("fail: %q", said)
		}
		s.clock.step(t, -by)
		join := lua(t, "join")
		redistest.Eventually(t, soon, "another worker joins with another lapse", func() bool {
			pass(100 * time.Millisecond)
			_, err := s.conn.Do("EVAL", join.source, 1, "{"+s.ns+"}", s.channels(t), "v", brief, "1")
			return err == nil
		})
	})
}

func fingerprint(task string) string {
	sum := sha1.Sum([]byte(task))
	return hex.EncodeToString(sum[:])
}

func num(t testing.TB, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
