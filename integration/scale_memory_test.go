package integration

import (
	"testing"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// A waiting task of 32 bytes costs Redis at most 40 bytes, and one in hand at most 400: in the
// hands of one worker, which is the dearest, as Redis keeps a small sorted set in less. The names
// are of usual length: they are part of the keys.
func TestMemoryOfATask(t *testing.T) {
	const waiting, inHand = 100_000, 20_000
	server := redistest.Own(t)
	f := &field{server: server, ns: "worqr", conn: server.Conn(t)}
	mesh, err := worqr.Open(t.Context(), server.URL(), worqr.Config{Namespace: f.ns})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := mesh.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	f.mesh = mesh
	lapse := brisk.Lapse.Milliseconds()
	warm := f.play(t, "warm", lapse) // what the scripts, the connections and the list of queues take is there before
	f.fill(t, warm.queue, 1000)
	warm.hold(1000)
	used := func() (bytes int) {
		t.Helper()
		f.info(t, "memory", "used_memory:%d", &bytes)
		return bytes
	}

	empty := used()
	f.fill(t, f.play(t, "letters", lapse).queue, waiting)
	perWaiting := float64(used()-empty) / waiting
	t.Logf("a waiting task: %.1f bytes", perWaiting)
	if perWaiting > 40 {
		t.Errorf("a waiting task of 32 bytes costs %.1f bytes, want 40 at most", perWaiting)
	}

	empty = used()
	h := f.play(t, "orders", lapse)
	f.fill(t, h.queue, inHand)
	h.hold(inHand)
	var perHeld float64
	defer func() { t.Logf("a process in hand: %.1f bytes", perHeld) }()
	redistest.Eventually(t, soon, "Redis has let go of its old table of keys, and a process in hand costs 400 bytes at most", func() bool {
		perHeld = float64(used()-empty) / inHand
		return perHeld <= 400
	})
}
