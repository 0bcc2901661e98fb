package heartbeat

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

const ms = time.Millisecond

var errNet = errors.New("network")

// host is a host whose clocks can be bent.
type host struct {
	mu          sync.Mutex
	slept, wall time.Duration
	unknown     bool
}

func (h *host) set(f func(h *host)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f(h)
}

func (h *host) clock() clock {
	return clock{
		now: time.Now,
		wall: func() time.Time {
			h.mu.Lock()
			defer h.mu.Unlock()
			return time.Now().Round(0).Add(h.wall)
		},
		slept: func() (time.Duration, bool) {
			h.mu.Lock()
			defer h.mu.Unlock()
			return h.slept, !h.unknown
		},
		dice: rand.Float64,
	}
}

// keeping is a lease that is kept, and what came of it. TTL 3 s, Margin 300 ms: D is 2.7 s after a
// send.
type keeping struct {
	*Lease
	*host
	t      *testing.T
	start  time.Time // when the join was sent
	cancel context.CancelCauseFunc
	done   chan struct{}
	err    error         // of Keep, once done is closed
	took   time.Duration // from start until Keep returned
}

func keep(t *testing.T, cfg Config, beat Beat) *keeping {
	t.Helper()
	h := &host{slept: time.Hour}
	l, err := newLease(cfg, beat, h.clock())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	k := &keeping{Lease: l, host: h, t: t, start: time.Now(), cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(k.done)
		k.err = l.Keep(ctx, k.start)
		k.took = time.Since(k.start)
	}()
	<-l.Begun()
	return k
}

// until waits, in virtual time, until the instant that lies d after the join.
func (k *keeping) until(d time.Duration) {
	time.Sleep(time.Until(k.start.Add(d)))
	synctest.Wait()
}

// ends waits until trust ends, and checks the cause and when.
func (k *keeping) ends(cause error, at time.Time) {
	k.t.Helper()
	<-k.Context().Done()
	if got := context.Cause(k.Context()); !errors.Is(got, cause) {
		k.t.Errorf("cause %v, want %v", got, cause)
	}
	if now := time.Now(); !now.Equal(at) {
		k.t.Errorf("trust ended %v after the join, want %v", now.Sub(k.start), at.Sub(k.start))
	}
	if k.Valid() {
		k.t.Error("valid after the end")
	}
}

func (k *keeping) returns(want error, after time.Duration) {
	k.t.Helper()
	<-k.done
	if !errors.Is(k.err, want) {
		k.t.Errorf("Keep: %v, want %v", k.err, want)
	}
	if k.took != after {
		k.t.Errorf("Keep returned after %v, want %v", k.took, after)
	}
}

func fails(context.Context) error { return errNet }

// hangs is a call that honours its context, and does nothing else.
func hangs(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestDeadlineCountsFromBeforeTheSend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var good time.Time
		k := keep(t, Config{}, func(context.Context) error {
			if good.IsZero() {
				good = time.Now()
				time.Sleep(600 * ms)
				return nil
			}
			return errNet
		})
		if got := k.Deadline(); !got.Equal(k.start.Add(2700 * ms)) {
			t.Errorf("first deadline %v after the join", got.Sub(k.start))
		}
		<-k.Context().Done() // from here on good does not change
		k.ends(ErrExpired, good.Add(2700*ms))
		k.returns(ErrExpired, good.Sub(k.start)+2700*ms)
		if !k.Deadline().Equal(good.Add(2700 * ms)) {
			t.Errorf("deadline moved to %v", k.Deadline().Sub(k.start))
		}
	})
}

func TestSlowJoin(t *testing.T) {
	for _, slow := range []time.Duration{2 * time.Second, 2700 * ms, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			l, _ := newLease(Config{}, fails, (&host{}).clock())
			sent := time.Now()
			time.Sleep(slow) // the reply to the join
			if err := l.Keep(t.Context(), sent); !errors.Is(err, ErrExpired) {
				t.Errorf("Keep: %v", err)
			}
			if got, want := time.Since(sent), max(slow, 2700*ms); got != want {
				t.Errorf("trust ended %v after the send, want %v", got, want)
			}
		})
	}
}

func TestLateAnswerRevivesNothing(t *testing.T) {
	for _, late := range []time.Duration{0, ms, time.Second} {
		synctest.Test(t, func(t *testing.T) {
			answered := make(chan struct{})
			deadline := time.Now().Add(2700 * ms)
			k := keep(t, Config{}, func(context.Context) error {
				defer close(answered)
				time.Sleep(time.Until(deadline.Add(late)))
				return nil
			})
			k.ends(ErrExpired, deadline)
			<-answered
			<-k.done
			synctest.Wait()
			if k.Valid() || !k.Deadline().Equal(deadline) {
				t.Errorf("an answer %v after the deadline moved it to %v", late, k.Deadline().Sub(k.start))
			}
		})
	}
}

// The reply may be recorded before any timer has noticed that D has passed.
func TestLateAnswerBeforeTheTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := newLease(Config{}, fails, (&host{}).clock())
		if err := l.begin(time.Now()); err != nil {
			t.Fatal(err)
		}
		sent := time.Now().Add(time.Second)
		time.Sleep(2700 * ms)
		l.answered(sent, nil)
		if l.Valid() || !errors.Is(context.Cause(l.Context()), ErrExpired) {
			t.Errorf("valid %v, cause %v", l.Valid(), context.Cause(l.Context()))
		}
	})
}

func TestHungBeat(t *testing.T) {
	t.Run("honours its context", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			k := keep(t, Config{}, func(ctx context.Context) error {
				if time.Since(start) < 2200*ms {
					return errNet
				}
				return hangs(ctx) // its own time ends only after D
			})
			k.ends(ErrExpired, k.start.Add(2700*ms))
			k.returns(ErrExpired, 2700*ms)
		})
	})
	t.Run("ignores its context", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			k := keep(t, Config{}, func(context.Context) error { <-release; return nil })
			k.ends(ErrExpired, k.start.Add(2700*ms))
			k.returns(ErrExpired, 3*time.Second) // Margin later: the longest that Keep waits for it
			close(release)                       // the bubble fails unless its goroutine ends now
		})
	})
	t.Run("takes a moment to return", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			sent, returned := make(chan struct{}, 9), make(chan struct{}, 9)
			k := keep(t, Config{}, func(ctx context.Context) error {
				sent <- struct{}{}
				<-ctx.Done()
				time.Sleep(50 * ms)
				returned <- struct{}{}
				return ctx.Err()
			})
			<-sent
			k.cancel(nil)
			<-k.done
			if len(returned) != 1 {
				t.Error("Keep did not wait for the beat under way")
			}
		})
	})
}

func TestBeatTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		beats := 0
		k := keep(t, Config{}, func(ctx context.Context) error {
			beats++
			if at, ok := ctx.Deadline(); !ok || time.Until(at) != 750*ms {
				t.Errorf("timeout %v, %v; want TTL/4", time.Until(at), ok)
			}
			return hangs(ctx)
		})
		<-k.done
		if beats != 2 && beats != 3 { // the third begins around the deadline
			t.Errorf("%d beats", beats)
		}
	})
}
