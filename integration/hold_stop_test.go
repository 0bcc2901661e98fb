package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/redistest"
)

func testFrozenServer(t *testing.T) {
	t.Parallel()
	w := underLoad(t, redistest.Own(t))
	began := stamp()
	w.server.Pause(t)
	pass(lapse + lapse/2)
	w.server.Resume(t)
	w.stopped(t, began)
}

func testServersClockIsSetAhead(t *testing.T) {
	t.Parallel()
	library, ahead := buildAhead(t)
	w := underLoad(t, redistest.OwnWithEnv(t, []string{"LD_PRELOAD=" + library, "WORQR_AHEAD=" + ahead}))
	before := w.clock(t)
	began := stamp()
	if err := os.WriteFile(ahead, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if step := w.clock(t) - before; step < 10*time.Second || step > 11*time.Second {
		t.Fatalf("the server's clock went on by %v", step)
	}
	w.stopped(t, began)
}

// clock returns the server's clock.
func (w *loaded) clock(t testing.TB) time.Duration {
	t.Helper()
	now, err := redis.Int64s(w.conn.Do("TIME"))
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(now[0])*time.Second + time.Duration(now[1])*time.Microsecond
}

// stopped waits until all is held again after a fault, and looks when each holder had stopped that
// held something before it: half the margin before its lapse at the latest, and as long before the
// next one began.
func (w *loaded) stopped(t *testing.T, fault time.Duration) {
	t.Helper()
	const margin = lapse / 10
	redistest.Eventually(t, soon, "every process lapses", func() bool {
		for _, d := range w.up {
			if len(d.said("lapsed ")) == 0 {
				return false
			}
		}
		return true
	})
	w.awaitHeld(t)
	var ends, again, after []time.Duration
	for _, p := range w.review(t) {
		if p.since > fault || p.ended < fault {
			continue // behind or before it
		}
		ends, again, after = append(ends, p.ended-fault), append(again, p.begun-fault), append(after, p.begun-p.ended)
		if p.ended-fault > lapse-margin/2 {
			t.Errorf("%s held %s until %v after the fault, want %v at most", p.from.Holder, p.key, p.ended-fault, lapse-margin/2)
		}
		if p.begun-p.ended < margin/2 {
			t.Errorf("%s began %s %v after %s had stopped, want %v at least", p.to.Holder, p.key, p.begun-p.ended, p.from.Holder, margin/2)
		}
	}
	if len(ends) != len(w.tasks) {
		t.Errorf("%d holds ended, want %d", len(ends), len(w.tasks))
	}
	for _, l := range []struct {
		what string
		list []time.Duration
	}{{"from the fault to the old holder's end", ends}, {"from the fault to the next holder", again}, {"between them", after}} {
		_, _, words := quantiles(l.list)
		t.Logf("%s: %s", l.what, words)
	}
	w.awaitRegistered(t, len(w.up))
}

// ahead is preloaded into a server: its wall clock is 10 s ahead as soon as there is a file.
const ahead = `#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t id, struct timespec *ts) {
    int r = (int)syscall(SYS_clock_gettime, id, ts);
    if (r == 0 && id == CLOCK_REALTIME && access(getenv("WORQR_AHEAD"), F_OK) == 0) ts->tv_sec += 10;
    return r;
}

int gettimeofday(struct timeval *restrict tv, void *restrict tz) {
    struct timespec ts;
    (void)tz;
    if (clock_gettime(CLOCK_REALTIME, &ts) != 0) return -1;
    tv->tv_sec = ts.tv_sec;
    tv->tv_usec = ts.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *t) {
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    if (t) *t = ts.tv_sec;
    return ts.tv_sec;
}
`

// buildAhead builds the library, and returns the name of the file that sets the clock.
func buildAhead(t *testing.T) (library, file string) {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skipf("needs a C compiler, as the race detector does: %v", err)
	}
	dir := t.TempDir()
	source, library := filepath.Join(dir, "ahead.c"), filepath.Join(dir, "ahead.so")
	if err := os.WriteFile(source, []byte(ahead), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(cc, "-shared", "-fPIC", "-O1", "-o", library, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return library, filepath.Join(dir, "ahead")
}
