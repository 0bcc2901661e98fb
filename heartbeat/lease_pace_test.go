package heartbeat

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		last := time.Now()
		k := keep(t, Config{}, func(context.Context) error {
			if gap := time.Since(last); gap < 900*ms || gap > time.Second {
				t.Errorf("a beat %v after the one before", gap)
			}
			last = time.Now()
			time.Sleep(200 * ms) // slow answers do not slow the pace
			return nil
		})
		k.until(time.Minute)
		if !k.Valid() || !k.LastLate().IsZero() {
			t.Errorf("valid %v, late at %v", k.Valid(), k.LastLate())
		}
		k.cancel(nil)
		<-k.done
	})
}

func TestErrorLeavesDeadlineAndIsTriedSooner(t *testing.T) {
	for _, c := range []struct{ cfg, want Config }{ // want: least and most gap between failed beats, D
		{Config{}, Config{225 * ms, 250 * ms, 2700 * ms}},
		{Config{Every: 4 * ms, TTL: 300 * ms}, Config{5 * ms, 5 * ms, 270 * ms}},
	} {
		synctest.Test(t, func(t *testing.T) {
			var last time.Time
			beats := 0
			k := keep(t, c.cfg, func(context.Context) error {
				if gap := time.Since(last); beats > 0 && (gap < c.want.Every || gap > c.want.TTL) {
					t.Errorf("tried again after %v, want %v to %v", gap, c.want.Every, c.want.TTL)
				}
				last = time.Now()
				beats++
				return errNet
			})
			k.ends(ErrExpired, k.start.Add(c.want.Margin))
			k.returns(ErrExpired, c.want.Margin)
			if beats < 7 {
				t.Errorf("%d beats", beats)
			}
		})
	}
}

func TestLostEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at time.Time
		k := keep(t, Config{}, func(context.Context) error {
			time.Sleep(100 * ms)
			at = time.Now()
			return errors.Join(errNet, ErrLost)
		})
		<-k.Context().Done()
		k.ends(ErrLost, at)
		k.returns(ErrLost, at.Sub(k.start))
		if !k.Deadline().Equal(at) {
			t.Errorf("deadline %v after the loss", k.Deadline().Sub(at))
		}
	})
}

func TestContextEnds(t *testing.T) {
	why := errors.New("drained")
	for _, beat := range []Beat{hangs, fails, func(context.Context) error { return nil }} {
		synctest.Test(t, func(t *testing.T) {
			k := keep(t, Config{}, beat)
			k.until(1200 * ms)
			k.cancel(why)
			k.ends(why, k.start.Add(1200*ms))
			k.returns(context.Canceled, 1200*ms)
			if !k.Deadline().Equal(k.start.Add(1200 * ms)) {
				t.Errorf("deadline %v after the join", k.Deadline().Sub(k.start))
			}
		})
	}
}

func TestKeepOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := keep(t, Config{}, fails)
		if err := k.Keep(t.Context(), time.Now()); !errors.Is(err, errKept) {
			t.Errorf("second Keep: %v", err)
		}
		if !k.Valid() {
			t.Error("the second Keep ended the first")
		}
		k.cancel(nil)
		<-k.done
		if err := k.Keep(t.Context(), time.Now()); !errors.Is(err, errKept) {
			t.Errorf("Keep after the end: %v", err)
		}
	})
}

func TestKeepRefusesSent(t *testing.T) {
	for _, off := range []time.Duration{-2 * ms, ms} { // before New, and after now
		synctest.Test(t, func(t *testing.T) {
			l, _ := newLease(Config{}, fails, (&host{}).clock())
			time.Sleep(ms)
			if l.Valid() || l.Context().Err() != nil || !l.Deadline().IsZero() || !l.LastLate().IsZero() {
				t.Error("trust, or its end, before Keep")
			}
			if err := l.Keep(t.Context(), time.Now().Add(off)); !errors.Is(err, errSent) {
				t.Errorf("Keep: %v", err)
			}
			<-l.Context().Done()
			select {
			case <-l.Begun():
				t.Error("begun")
			default:
			}
			if l.Valid() {
				t.Error("valid")
			}
		})
	}
}
