package share

import (
	"errors"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var noon = time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)

func TestSettling(t *testing.T) {
	s := Settling{Window: 10 * time.Second, Most: 30 * time.Second}
	var u Unrest
	for _, step := range []struct {
		at      int // seconds after noon
		changed bool
		wait    int // seconds
	}{
		{0, false, 0}, // nobody ever came
		{1, true, 10}, // a start-up: three join
		{3, true, 10}, {4, true, 10},
		{9, false, 5}, {14, false, 0}, {60, false, 0},
		{100, true, 10}, {110, false, 0}, // one leaves
		{110, true, 10},                                                  // a full window later: an unrest of its own
		{119, true, 10}, {128, true, 10}, {137, true, 3}, {139, true, 1}, // somebody flaps
		{140, true, 0}, {149, true, 0}, {158, true, 0}, // which blocks nobody for ever
		{167, false, 0}, {168, true, 10}, // once that is over, the next unrest is waited for as usual
		{100, false, 10}, // the clock is set back by over a minute: what has passed counts, the rest is waited for
		{104, false, 6}, {110, false, 0},
	} {
		var wait time.Duration
		u, wait = s.Step(u, step.changed, noon.Add(time.Duration(step.at)*time.Second))
		if want := time.Duration(step.wait) * time.Second; wait != want {
			t.Fatalf("at %d s (changed: %v): wait %v, want %v", step.at, step.changed, wait, want)
		}
	}
}

func TestSettlingBoundSurvivesAClockSetBack(t *testing.T) {
	s, u, wait := Settling{Window: 10 * time.Second, Most: 30 * time.Second}, Unrest{}, time.Duration(0)
	for at := 0; at <= 24; at += 8 {
		u, wait = s.Step(u, true, noon.Add(time.Duration(at)*time.Second))
	}
	if wait != 6*time.Second {
		t.Fatalf("24 s into an unrest: wait %v", wait)
	}
	if _, wait = s.Step(u, true, noon.Add(-time.Hour)); wait != 6*time.Second {
		t.Fatalf("and an hour set back: wait %v", wait)
	}
}

// Step, round by round, is compared with a look at the whole history at once.
func TestSettlingAgainstTheHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Settling{Window: time.Duration(rapid.IntRange(1, 10).Draw(t, "window"))}
		s.Most = s.Window + time.Duration(rapid.IntRange(0, 30).Draw(t, "more"))
		var u Unrest
		var history []time.Time
		for now, n := noon, rapid.IntRange(1, 30).Draw(t, "steps"); n > 0; n-- {
			now = now.Add(time.Duration(rapid.IntRange(0, 12).Draw(t, "passed")))
			changed := rapid.Bool().Draw(t, "changed")
			if changed {
				history = append(history, now)
			}
			var wait time.Duration
			u, wait = s.Step(u, changed, now)
			if want := looked(s, history, now); wait != want {
				t.Fatalf("wait %v, want %v", wait, want)
			}
		}
	})
}

func looked(s Settling, history []time.Time, now time.Time) time.Duration {
	if len(history) == 0 {
		return 0
	}
	last := len(history) - 1
	first := last
	for first > 0 && history[first].Sub(history[first-1]) < s.Window {
		first--
	}
	calm, bound := history[last].Add(s.Window), history[first].Add(s.Most)
	if bound.Before(calm) {
		calm = bound
	}
	return max(0, calm.Sub(now))
}

func TestSettlingWithDefaults(t *testing.T) {
	for _, c := range []struct {
		in, want Settling
		ok       bool
	}{
		{Settling{}, Settling{10 * time.Second, time.Minute}, true},
		{Settling{Window: time.Second}, Settling{time.Second, 6 * time.Second}, true},
		{Settling{Window: time.Second, Most: time.Second}, Settling{time.Second, time.Second}, true},
		{Settling{Window: -1}, Settling{}, false},
		{Settling{Window: math.MaxInt64}, Settling{}, false},
		{Settling{Most: time.Second}, Settling{}, false},
		{Settling{Most: -1}, Settling{}, false},
	} {
		got, err := c.in.WithDefaults()
		if c.ok && (err != nil || got != c.want) || !c.ok && !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: %+v, %v", c.in, got, err)
		}
		if _, wait := c.in.Step(Unrest{}, false, noon); (wait == 0) != c.ok {
			t.Errorf("%+v: wait %v", c.in, wait)
		}
	}
}
