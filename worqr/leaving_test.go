package worqr_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/worqr/worqr-go/internal/redistest"
)

// A beat that finds its worker gone while the answer of its leave is lost tells of no lapse: the
// worker has left as it wanted.
func TestALostAnswerOfTheLeaveIsNoLapse(t *testing.T) {
	t.Parallel()
	m, proxy := mortal(t, redistest.Namespace(t))
	var lapses, left atomic.Int32
	cfg := quick()
	cfg.Hooks.OnLapse = func(string, error) { lapses.Add(1) }
	cfg.Hooks.OnLeave = func(string) { left.Add(1) }
	if err := start(t, m, quick()).Fail(t.Context()); err != nil { // now the server has the script
		t.Fatal(err)
	}
	w := start(t, m, cfg)
	gone := false
	var mu sync.Mutex
	proxy.Intercept(func(c redistest.Command) redistest.Action {
		mu.Lock()
		again := gone
		switch name := scriptOf(c); {
		case name == "leave" && !gone:
			gone = true
			defer mu.Unlock()
			return redistest.CutAfter
		case name != "leave":
			again = false
		}
		mu.Unlock()
		if again {
			for w.Alive() { // until a beat was answered
				<-time.After(time.Millisecond)
			}
		}
		return redistest.Pass
	})
	if err := w.Fail(t.Context()); err != nil {
		t.Error(err)
	}
	if lapses.Load() != 0 || left.Load() != 1 {
		t.Errorf("%d lapses and %d leaves were told of, want 0 and 1", lapses.Load(), left.Load())
	}
}
