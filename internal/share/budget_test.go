package share

import (
	"errors"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestBudget(t *testing.T) {
	b := Budget{Rate: 2, Burst: 4}
	var bucket Bucket
	for _, step := range []struct{ at, want, got int }{ // milliseconds after noon
		{0, 3, 3}, {0, 3, 1}, {0, 3, 0}, {499, 3, 0}, {500, 3, 1}, {600, 1, 0}, {1999, 9, 2}, {2000, 9, 1},
		{2000, -5, 0}, {60_000, math.MaxInt, 4},
		{-3_600_000, 9, 0}, {-3_600_000 + 500, 9, 1}, {-3_600_000 + 5000, 9, 4}, // the clock is set back by an hour
	} {
		var got int
		bucket, got = b.Draw(bucket, step.want, noon.Add(time.Duration(step.at)*time.Millisecond))
		if got != step.got {
			t.Fatalf("at %d ms: %d of %d, want %d", step.at, got, step.want, step.got)
		}
	}
}

// Over every stretch of time no more is drawn than Burst and what Rate brings. A caller that always
// wants more, and comes before the bucket is full, gets that much less at most one move.
func TestBudgetKeepsItsRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := Budget{Rate: rapid.Float64Range(0.01, 1000).Draw(t, "rate"), Burst: rapid.IntRange(1, 50).Draw(t, "burst")}
		least := rapid.SampledFrom([]int{0, b.Burst}).Draw(t, "least") // Burst: always wants more
		gap := int64(float64(time.Second) / b.Rate * float64(b.Burst-1))
		var times []time.Time
		var drawn []int
		var bucket Bucket
		for now, n := noon, rapid.IntRange(1, 20).Draw(t, "rounds"); n > 0; n-- {
			want := rapid.IntRange(least, b.Burst).Draw(t, "want")
			var got int
			if bucket, got = b.Draw(bucket, want, now); got < 0 || got > want {
				t.Fatalf("%d of %d", got, want)
			}
			times, drawn = append(times, now), append(drawn, got)
			now = now.Add(time.Duration(rapid.Int64Range(0, gap).Draw(t, "gap")))
		}
		for from := range times {
			sum := 0
			for to := from; to < len(times); to++ {
				sum += drawn[to]
				allowed := float64(b.Burst) + times[to].Sub(times[from]).Seconds()*b.Rate
				if float64(sum) > allowed+1e-6 {
					t.Fatalf("%d drawn where %v are allowed", sum, allowed)
				}
				if from == 0 && least == b.Burst && float64(sum) < allowed-1-1e-2 {
					t.Fatalf("only %d drawn where %v are allowed", sum, allowed)
				}
			}
		}
	})
}

func TestBudgetWithDefaults(t *testing.T) {
	for _, c := range []struct {
		in, want Budget
		ok       bool
	}{
		{Budget{}, Budget{10, 10}, true},
		{Budget{Rate: 0.5}, Budget{0.5, 1}, true},
		{Budget{Rate: 2.5}, Budget{2.5, 3}, true},
		{Budget{Rate: 1e6, Burst: 1e6}, Budget{1e6, 1e6}, true},
		{Budget{Rate: 1.0 / 3600, Burst: 1e6}, Budget{1.0 / 3600, 1e6}, true},
		{Budget{Rate: -1}, Budget{}, false},
		{Budget{Rate: 1e-9}, Budget{}, false},
		{Budget{Rate: 1e7}, Budget{}, false},
		{Budget{Rate: math.NaN()}, Budget{}, false},
		{Budget{Rate: math.Inf(1)}, Budget{}, false},
		{Budget{Burst: -1}, Budget{}, false},
		{Budget{Burst: math.MaxInt}, Budget{}, false},
	} {
		got, err := c.in.WithDefaults()
		if c.ok && (err != nil || got != c.want) || !c.ok && !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: %+v, %v", c.in, got, err)
		}
		bucket, n := c.in.Draw(Bucket{}, math.MaxInt, noon)
		if n != c.want.Burst {
			t.Errorf("%+v: drew %d at first, want %d", c.in, n, c.want.Burst)
		}
		if _, n = c.in.Draw(bucket, math.MaxInt, noon); n != 0 {
			t.Errorf("%+v: drew %d more at once", c.in, n)
		}
	}
}
