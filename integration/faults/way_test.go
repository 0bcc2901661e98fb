//go:build linux

package faults

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/internal/wire"
)

// class is what a connection is for, recognized by what it carries.
type class string

const (
	beats class = "beats"
	data  class = "data"
	notes class = "notes" // notifications
)

// trouble is what happens to the commands of one class.
type trouble struct {
	gate   chan struct{}    // they wait until it is closed; nil: they do not
	action redistest.Action // of each
	share  float64          // of how many
}

// way is one worker's connection to Redis. It can have trouble as a whole, from its Proxy, and by
// class.
type way struct {
	*redistest.Proxy
	beat string // the digest of the script

	mu       sync.Mutex
	random   *rand.Rand
	classes  map[int]class // by connection, once it is known
	troubles map[class]trouble
	seen     map[class]int
}

func newWay(t testing.TB, target string, random *rand.Rand) *way {
	t.Helper()
	w := &way{Proxy: redistest.NewProxy(t, target), beat: wire.Named("beat").SHA, random: random,
		classes: map[int]class{}, troubles: map[class]trouble{}, seen: map[class]int{}}
	w.Intercept(w.meet)
	t.Cleanup(w.heal) // a command that waits would keep the proxy
	return w
}

func (w *way) meet(c redistest.Command) redistest.Action {
	w.mu.Lock()
	switch {
	case len(c.Args) > 1 && string(c.Args[1]) == w.beat:
		w.classes[c.Conn] = beats
	case c.Is("SUBSCRIBE"):
		w.classes[c.Conn] = notes
	}
	of := w.classes[c.Conn]
	if of == "" {
		of = data
	}
	w.seen[of]++
	tr, ok := w.troubles[of]
	strikes := ok && w.random.Float64() < tr.share
	w.mu.Unlock()
	switch {
	case !strikes:
		return redistest.Pass
	case tr.gate != nil:
		<-tr.gate
	}
	return tr.action
}

// set makes trouble for a class.
func (w *way) set(of class, tr trouble) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unsetLocked(of)
	w.troubles[of] = tr
}

// unset ends it.
func (w *way) unset(of class) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unsetLocked(of)
}

func (w *way) unsetLocked(of class) {
	if tr := w.troubles[of]; tr.gate != nil {
		close(tr.gate)
	}
	delete(w.troubles, of)
}

// heal ends all trouble. What was kept stays kept until Release.
func (w *way) heal() {
	for _, of := range []class{beats, data, notes} {
		w.unset(of)
	}
	w.Thaw()
	w.Refuse(false)
	w.Latency(nil)
}

// know returns how many commands of a class went by.
func (w *way) know(of class) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen[of]
}

// slow delays each command by up to most.
func (w *way) slow(most time.Duration) {
	w.Latency(func() time.Duration {
		w.mu.Lock()
		defer w.mu.Unlock()
		return time.Duration(w.random.Int64N(int64(most)))
	})
}
