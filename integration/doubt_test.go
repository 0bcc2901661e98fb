package integration

import (
	"sync"
	"testing"
	"time"

	"github.com/worqr/worqr-go/internal/redistest"
)

// doubts are the sweeps that claim no round: their judge is in doubt.
type doubts struct {
	sweep operation

	mu   sync.Mutex
	n    int
	last time.Duration
}

// watchDoubt counts the doubts of the clients of a proxy.
func watchDoubt(t testing.TB, proxy *redistest.Proxy) *doubts {
	t.Helper()
	d := &doubts{sweep: lua(t, "sweep"), last: stamp()}
	proxy.Intercept(d.see)
	return d
}

func (d *doubts) see(c redistest.Command) redistest.Action {
	const claim = 3 + 5 // behind the command, the script, the number of keys and the key: ARGV[5]
	if d.sweep.is(c) && string(c.Args[claim]) == "0" {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.n, d.last = d.n+1, stamp()
	}
	return redistest.Pass
}

func (d *doubts) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.n
}

func (d *doubts) quietFor() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return stamp() - d.last
}

// quiet waits until no judge is in doubt, up to limit.
func quiet(d *doubts, limit time.Duration) {
	for began := stamp(); stamp()-began < limit && d.quietFor() < limit/4; {
		pass(10 * time.Millisecond)
	}
}
