package integration

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/worqr/worqr-go/internal/redistest"
)

// Four processes with the worker's defaults hold tasks and work on others besides, while the server
// fails in one way or another. No other tests run beside these: they are about time.
func TestHoldsWhileTheServerFails(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for lapses")
	}
	for _, o := range []outage{
		{"restarted", "everysec", func(s *redistest.Server, t testing.TB) { s.Stop(t); s.Start(t) }},
		{"killed and restarted", "always", func(s *redistest.Server, t testing.TB) { s.Kill(t); s.Start(t) }},
		{"killed and restarted, and may have lost a second", "everysec", func(s *redistest.Server, t testing.TB) { s.Kill(t); s.Start(t) }},
		{"frozen for half the lapse", "everysec", func(s *redistest.Server, t testing.TB) { s.Pause(t); pass(lapse / 2); s.Resume(t) }},
	} {
		t.Run(o.name, o.outlast)
	}
	t.Run("frozen for longer than the lapse", testFrozenServer)
	t.Run("its clock is set 10 s ahead", testServersClockIsSetAhead)
}

// outage is a fault that is shorter than the lapse.
type outage struct {
	name, sync string
	strike     func(*redistest.Server, testing.TB)
}

// outlast shows that no process lapses or is taken for dead, and that no hold ends. Where the
// machine, its disk included, stalls, the server is away for longer than the fault.
func (o outage) outlast(t *testing.T) {
	t.Parallel()
	watchMachine(t, 3).inTime(t, func(t *testing.T) (func(int) []string, bool) {
		wrong := o.strikes(t)
		return func(times int) []string {
			if times > 1 {
				return nil // after so much longer holds may end
			}
			return wrong
		}, false
	})
}

// strikes returns what the fault has ended.
func (o outage) strikes(t *testing.T) (wrong []string) {
	w := underLoad(t, redistest.Own(t, "--appendonly", "yes", "--appendfsync", o.sync))
	ids := sorted(w.registered(t))
	for range longer(1, 6) {
		began := stamp()
		o.strike(w.server, t)
		away := stamp() - began
		before := w.done.Load()
		pass(lapse + interval + slack) // in which who is taken for dead is reclaimed
		n := w.done.Load() - before
		t.Logf("away for %v; %d tasks besides since", away.Round(time.Millisecond), n)
		if n == 0 {
			wrong = append(wrong, "the load stands still")
		}
	}
	w.conn = w.server.Conn(t) // the old one may have ended with the server
	w.awaitShared(t)
	for name, d := range w.up {
		for _, word := range []string{"lapsed ", "reclaimed ", "left "} {
			if said := d.said(word); len(said) > 0 {
				wrong = append(wrong, fmt.Sprintf("%s: %s%v", name, word, said))
			}
		}
	}
	if now := sorted(w.registered(t)); !slices.Equal(now, ids) {
		wrong = append(wrong, fmt.Sprintf("registered are %v, before %v", now, ids))
	}
	if list := w.review(t); len(list) > 0 {
		wrong = append(wrong, fmt.Sprintf("%d holds ended, the first: %+v", len(list), list[0]))
	}
	return wrong
}

// loaded are processes that hold tasks, and work on others besides.
type loaded struct {
	*watched
	done atomic.Int64 // accepted one-shot tasks
}

func underLoad(t testing.TB, server *redistest.Server) *loaded {
	t.Helper()
	const processes, tasks = 4, 100
	l := &loaded{watched: watch(t, fieldAt(t, server), keeper{Timing: timing{Beat: time.Second}, Burdened: true})}
	ctx, stop := context.WithCancel(context.Background())
	var producing sync.WaitGroup
	t.Cleanup(producing.Wait)
	t.Cleanup(stop)
	l.hold(t, processes, tasks)
	producing.Go(func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for n := 0; ctx.Err() == nil; n++ {
			<-tick.C
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			if l.mesh.Enqueue(ctx, burden, []byte(fmt.Sprint(n)), []byte("and one more")) == nil {
				l.done.Add(2)
			}
			cancel()
		}
	})
	pass(lapse) // whoever was started a moment ago is in doubt
	return l
}
