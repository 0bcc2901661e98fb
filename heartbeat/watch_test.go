package heartbeat

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestWatchPace(t *testing.T) {
	for _, every := range []time.Duration{0, time.Second, 40 * ms} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			mean := every
			if mean == 0 {
				mean = time.Second
			}
			start, last := time.Now(), time.Now()
			least, most, rounds := time.Hour, time.Duration(0), 0
			Watch{Every: every}.Run(ctx, func(context.Context) {
				gap := time.Since(last)
				last = time.Now()
				least, most = min(least, gap), max(most, gap)
				if rounds++; rounds == 4000 {
					cancel()
				}
			})
			if least < mean*3/4 || most > mean*5/4 {
				t.Errorf("pauses from %v to %v for %v", least, most, mean)
			}
			if least > mean*77/100 || most < mean*123/100 {
				t.Errorf("pauses only from %v to %v for %v", least, most, mean)
			}
			if got := time.Since(start) / 4000; got < mean*98/100 || got > mean*102/100 {
				t.Errorf("mean pause %v, want %v", got, mean)
			}
		})
	}
}

func TestWatchFirstRoundIsJittered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := map[time.Duration]bool{}
		for range 50 {
			ctx, cancel := context.WithCancel(t.Context())
			start := time.Now()
			Watch{}.Run(ctx, func(context.Context) { seen[time.Since(start)] = true; cancel() })
		}
		if len(seen) < 45 {
			t.Errorf("%d first pauses in 50", len(seen))
		}
	})
}

func TestWatchNoBurstAfterStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var ended time.Time
		rounds := 0
		Watch{Every: time.Second}.Run(ctx, func(context.Context) {
			rounds++
			if gap := time.Since(ended); rounds > 1 && (gap < 750*ms || gap > 1250*ms) {
				t.Errorf("round %d began %v after the end of the one before", rounds, gap)
			}
			if rounds == 2 {
				time.Sleep(time.Minute)
			}
			if rounds == 10 {
				cancel()
			}
			ended = time.Now()
		})
	})
}

func TestWatchNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		now := make(chan struct{}, 1)
		var running, rounds atomic.Int32
		done := make(chan struct{})
		go func() {
			defer close(done)
			Watch{Every: time.Hour, Now: now}.Run(ctx, func(context.Context) {
				if running.Add(1) != 1 {
					t.Error("two rounds at once")
				}
				rounds.Add(1)
				time.Sleep(10 * ms)
				running.Add(-1)
			})
		}()
		now <- struct{}{}
		synctest.Wait()
		if rounds.Load() != 1 {
			t.Errorf("%d rounds right after a poke", rounds.Load())
		}
		for range 100 { // while the round runs: one more
			select {
			case now <- struct{}{}:
			default:
			}
		}
		time.Sleep(time.Minute)
		if rounds.Load() != 2 {
			t.Errorf("%d rounds after pokes during a round, want 2", rounds.Load())
		}
		close(now) // no poke, and no spinning
		time.Sleep(2 * time.Hour)
		if n := rounds.Load(); n < 3 || n > 4 {
			t.Errorf("%d rounds after the channel was closed", n)
		}
		cancel()
		<-done
	})
}

func TestWatchEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		ended := false
		start := time.Now()
		Watch{Every: time.Second}.Run(ctx, func(ctx context.Context) {
			cancel()
			if ctx.Err() == nil {
				t.Error("a round does not see the end of the context")
			}
			time.Sleep(time.Minute)
			ended = true
		})
		if !ended || time.Since(start) < time.Minute {
			t.Error("Run returned before its round")
		}
		now := make(chan struct{}, 1)
		for range 100 { // both are ready: the end has to win
			select {
			case now <- struct{}{}:
			default:
			}
			Watch{Now: now}.Run(ctx, func(context.Context) { t.Error("a round after the end") })
		}
	})
}
