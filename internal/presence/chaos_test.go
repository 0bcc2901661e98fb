package presence

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/worqr/worqr-go/internal/redistest"
)

// Whatever happens to the connection, Back and Lost are called as promised, and between Lost and
// Reset it is never up.
func TestRandomFaults(t *testing.T) {
	dice := rand.New(rand.NewPCG(seed(t), 0))
	server := redistest.Own(t)
	proxy := redistest.NewProxy(t, server.URL())
	r := run(t, server, Config{Dial: dialURL(proxy.URL()), Ping: 50 * time.Millisecond, Silence: 400 * time.Millisecond})
	stop := make(chan struct{})
	var asking sync.WaitGroup
	defer asking.Wait()
	defer close(stop)
	for range 2 {
		asking.Go(func() {
			for tick := time.NewTicker(time.Millisecond); !is(stop); <-tick.C {
				r.Up()
				r.Since()
				r.Kernel()
			}
		})
	}
	wantBack, wantLost := 1, 0
	r.up()
	r.told1(wantBack, wantLost)
	for i := range few(12) {
		begun := time.Now()
		fault, until := dice.IntN(5), time.Duration(dice.IntN(700))*time.Millisecond
		if i%4 == 3 {
			fault, until = 2, 2*HolderGrace // one that is certain to lose
		}
		passed := func() bool { return time.Since(begun) > until }
		since := r.Since()
		switch fault {
		case 0:
			proxy.Cut()
		case 1:
			r.kill()
		case 2:
			proxy.Refuse(true)
			redistest.Eventually(t, soon, "some time has passed", passed)
			proxy.Refuse(false)
		case 3:
			proxy.Freeze(redistest.Direction(1 + dice.IntN(3)))
			redistest.Eventually(t, soon, "some time has passed", passed)
			proxy.Thaw()
		case 4:
			r.Reset()
		}
		// A fault that was too short for the line to notice has no effect. The others end in
		// another subscription or in Lost.
		redistest.Eventually(t, soon, "the line has decided", func() bool {
			_, lost := r.counts()
			return lost > wantLost || r.Up() && (r.Since() != since || time.Since(begun) > until+500*time.Millisecond)
		})
		back, lost := r.counts()
		switch {
		case lost == wantLost+1:
			redistest.Eventually(t, soon, "the server counts it again", func() bool { return numsub(r.c, r.channel) > 0 })
			if b, l := r.counts(); r.Up() || !r.Since().IsZero() || b != back || l != lost {
				t.Fatalf("fault %d: after Lost: up %v since %v, Back %d times more", i, r.Up(), r.Since(), b-back)
			}
			r.Reset()
			r.up()
			back++
			wantLost++
		case lost != wantLost || back < wantBack:
			t.Fatalf("fault %d: Back %d times, Lost %d times, before %d and %d", i, back, lost, wantBack, wantLost)
		}
		redistest.Eventually(t, soon, "Back is called", func() bool { b, _ := r.counts(); return b >= back })
		wantBack, _ = r.counts()
	}
	t.Logf("back %d times, lost %d times", wantBack, wantLost)
	if wantLost == 0 {
		t.Error("nothing was lost: this tests nothing")
	}
}
