package heartbeat

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestHostSlept(t *testing.T) {
	for _, c := range []struct {
		name    string
		slept   time.Duration
		unknown bool
		end     time.Duration // after the join
		valid   bool          // right after the sleep
	}{
		{"past the deadline", 2 * time.Second, false, 1200 * ms, false},
		{"exactly to the deadline", 1500 * ms, false, 1200 * ms, false},
		{"a part of what was left", time.Second, false, 1700 * ms, true},
		{"not known", 2 * time.Second, true, 2700 * ms, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := keep(t, Config{}, fails)
				k.set(func(h *host) { h.unknown = c.unknown })
				k.until(1200 * ms)
				k.set(func(h *host) { h.slept += c.slept })
				if got := k.Deadline().Sub(k.start); c.valid && got != c.end {
					t.Errorf("deadline %v after the join", got)
				}
				if k.Valid() != c.valid {
					t.Errorf("valid %v right after the sleep", !c.valid)
				}
				k.ends(ErrExpired, k.start.Add(c.end))
				<-k.done
			})
		})
	}
}

// Nobody asks whether the lease is valid: Keep has to notice by itself.
func TestHostSleptSeenByKeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := keep(t, Config{}, hangs)
		k.until(1210 * ms)
		k.set(func(h *host) { h.slept += time.Minute })
		<-k.Context().Done()
		if took := time.Since(k.start) - 1210*ms; took > 75*ms {
			t.Errorf("noticed after %v, want Margin/4 at most", took)
		}
		<-k.done
	})
}

// The readings of a sleep may waver. Trust that is gone does not come back.
func TestSleptNeverFalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := keep(t, Config{}, hangs)
		k.set(func(h *host) { h.slept += time.Second })
		k.Valid()
		k.set(func(h *host) { h.slept -= time.Second })
		k.ends(ErrExpired, k.start.Add(1700*ms))
		<-k.done
	})
}

func TestHostSleptBetweenNewAndKeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &host{}
		l, _ := newLease(Config{}, fails, h.clock())
		sent := time.Now()
		h.set(func(h *host) { h.slept = time.Second })
		_ = l.Keep(t.Context(), sent)
		if took := time.Since(sent); took != 1700*ms {
			t.Errorf("trust ended after %v, want 1.7s", took)
		}
	})
}

func TestWallStepTriggersBeat(t *testing.T) {
	for _, step := range []time.Duration{time.Hour, -time.Hour, 76 * ms, -76 * ms} {
		synctest.Test(t, func(t *testing.T) {
			sent := make(chan time.Duration, 100)
			start := time.Now()
			k := keep(t, Config{}, func(context.Context) error {
				sent <- time.Since(start)
				return errNet
			})
			k.until(400 * ms)
			k.set(func(h *host) { h.wall += step })
			k.until(480 * ms)
			if n := len(sent); n != 1 {
				t.Errorf("a step of %v: %d beats by 480 ms, want one", step, n)
			} else if at := <-sent; at < 400*ms {
				t.Errorf("a step of %v: a beat at %v, before it", step, at)
			}
			k.ends(ErrExpired, k.start.Add(2700*ms)) // and nothing else
			<-k.done
		})
	}
	t.Run("slewing is no step", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var beats atomic.Int32
			k := keep(t, Config{}, func(context.Context) error { beats.Add(1); return nil })
			for range 100 {
				time.Sleep(8 * ms)
				k.set(func(h *host) { h.wall += 4 * ms })
			}
			if n := beats.Load(); n != 0 {
				t.Errorf("%d beats", n)
			}
			k.cancel(nil)
			<-k.done
		})
	})
}

// Whatever happens, Valid is false exactly when the context has ended, and Valid agrees with
// Deadline.
func TestValidAgreesWithContext(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			k := keep(t, Config{}, func(ctx context.Context) error {
				switch rand.IntN(12) {
				case 0:
					return ErrLost
				case 1, 2, 3:
					return hangs(ctx)
				case 4, 5, 6:
					return errNet
				}
				return nil
			})
			defer func() { k.cancel(nil); <-k.done }()
			for range 2000 {
				time.Sleep(rand.N(20 * ms))
				if rand.IntN(200) == 0 {
					k.set(func(h *host) { h.slept += rand.N(2 * time.Second) })
				}
				before := k.Context().Err() == nil
				valid, after, left := k.Valid(), k.Context().Err() == nil, time.Until(k.Deadline())
				if valid != after || valid && !before || valid != (left > 0) {
					t.Fatalf("valid %v, context live %v then %v, %v left", valid, before, after, left)
				}
			}
		})
	}
}

func TestLastLate(t *testing.T) {
	for _, c := range []struct {
		name string
		beat Beat
		from time.Duration // the earliest that it is noticed
		most time.Duration // and the latest
	}{
		{"failed", fails, 900 * ms, time.Second},
		{"slow answer", func(context.Context) error { time.Sleep(751 * ms); return nil }, 1651 * ms, 1751 * ms},
		{"no answer", hangs, 1650 * ms, 1751 * ms},
		{"hung", func(context.Context) error { time.Sleep(2 * time.Second); return nil }, 1750 * ms, 1752 * ms},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := keep(t, Config{}, c.beat)
				for k.LastLate().IsZero() {
					time.Sleep(ms)
					synctest.Wait()
				}
				if at := k.LastLate().Sub(k.start); at < c.from || at > c.most {
					t.Errorf("late %v after the join, want %v to %v", at, c.from, c.most)
				}
				k.cancel(nil)
				<-k.done
				time.Sleep(3 * time.Second) // one of them outlives its context
			})
		})
	}
	t.Run("slept", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			k := keep(t, Config{}, func(context.Context) error { return nil })
			k.until(500 * ms)
			k.set(func(h *host) { h.slept += 1300 * ms })
			if !k.LastLate().Equal(time.Now()) {
				t.Errorf("late at %v", k.LastLate())
			}
			k.cancel(nil)
			<-k.done
		})
	})
}
