//go:build linux

package faults

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/worqr/worqr-go/internal/redistest"
)

// server is a Redis of one mesh, whose wall clock can be stepped when there is a C compiler.
type server struct {
	*redistest.Server
	clock *os.File // 8 bytes: by how many milliseconds it is off; nil without a compiler
	shift time.Duration
}

// shifted is preloaded into the server. It reads the file at each call; a test server has time for
// that.
const shifted = `#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long shift(void) {
    static int file = -1;
    long ms = 0;
    if (file < 0) file = open(getenv("WORQR_CLOCK_FILE"), O_RDONLY | O_CLOEXEC);
    if (pread(file, &ms, sizeof ms, 0) != sizeof ms) return 0;
    return ms;
}

int clock_gettime(clockid_t id, struct timespec *ts) {
    int r = (int)syscall(SYS_clock_gettime, id, ts);
    if (r == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) {
        long long ns = ts->tv_sec * 1000000000LL + ts->tv_nsec + shift() * 1000000LL;
        ts->tv_sec = ns / 1000000000LL;
        ts->tv_nsec = ns % 1000000000LL;
    }
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

// buildClock builds the library. It returns "" without a compiler.
func buildClock(t testing.TB) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		return ""
	}
	dir := t.TempDir()
	source, library := filepath.Join(dir, "clock.c"), filepath.Join(dir, "clock.so")
	if err := os.WriteFile(source, []byte(shifted), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(cc, "-shared", "-fPIC", "-O1", "-o", library, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return library
}

// stored makes the server keep all that it has confirmed when it is killed: it writes before it
// replies. A replica gets all at once.
var stored = []string{"--appendonly", "yes", "--appendfsync", "no", "--repl-diskless-sync-delay", "0"}

// newServer starts a server with the library that buildClock has built.
func newServer(t testing.TB, library string) *server {
	t.Helper()
	if library == "" {
		return &server{Server: redistest.Own(t, stored...)}
	}
	path := filepath.Join(t.TempDir(), "clock")
	if err := os.WriteFile(path, make([]byte, 8), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return &server{Server: redistest.OwnWithEnv(t, []string{"LD_PRELOAD=" + library, "WORQR_CLOCK_FILE=" + path}, stored...), clock: file}
}

// step moves the wall clock of the server forward, or back.
func (s *server) step(t testing.TB, by time.Duration) {
	t.Helper()
	s.shift += by
	text := binary.NativeEndian.AppendUint64(nil, uint64(s.shift.Milliseconds()))
	if _, err := s.clock.WriteAt(text, 0); err != nil {
		t.Fatal(err)
	}
}
