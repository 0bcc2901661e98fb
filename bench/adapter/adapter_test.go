package adapter

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// inMemory returns a queue in this process: what is tested here is the counting.
func inMemory() (*Session, *atomic.Int64) {
	tasks := make(chan []byte, 1<<20)
	var stored atomic.Int64
	return &Session{
		Enqueue: func(_ context.Context, task []byte) error {
			stored.Add(1)
			tasks <- task
			return nil
		},
		Consume: func(ctx context.Context, concurrency int, handle, settled func()) error {
			for range concurrency {
				go func() {
					for {
						select {
						case <-tasks:
							handle()
							settled()
						case <-ctx.Done():
							return
						}
					}
				}()
			}
			return nil
		},
	}, &stored
}

func newRun(s *Session, o Options) *Run {
	return &Run{Options: o, Session: s, Result: &Result{}, Meter: &Meter{}, Task: []byte("task")}
}

func TestMixedCountsWhatWasFinished(t *testing.T) {
	s, stored := inMemory()
	r := newRun(s, Options{Concurrency: 4, Seconds: 0.02})
	if err := mixed(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if n := stored.Load(); r.Result.Count > n || r.Result.Count < n*98/100-200 {
		t.Errorf("%d counted of %d", r.Result.Count, n)
	}
	if rate := float64(r.Result.Count) / r.Result.Seconds; r.Result.Seconds < 0.02 || r.Result.Rate != rate {
		t.Errorf("%d in %v s are %v per second", r.Result.Count, r.Result.Seconds, r.Result.Rate)
	}
}

// The clock runs on while tasks are left, except for the last hundredth.
func TestMixedWaitsForTheConsumers(t *testing.T) {
	for one, waits := range map[int64]bool{30: true, 300: false} { // one of so many tasks is never finished
		s, _ := inMemory()
		consume := s.Consume
		s.Consume = func(ctx context.Context, concurrency int, handle, settled func()) error {
			var n atomic.Int64
			return consume(ctx, concurrency, handle, func() {
				if n.Add(1)%one != 0 {
					settled()
				}
			})
		}
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		r := newRun(s, Options{Concurrency: 4, Seconds: 0.01})
		if err := mixed(ctx, r); err != nil {
			t.Fatal(err)
		}
		cancel()
		if waited := r.Result.Seconds > 0.25; waited != waits {
			t.Errorf("with one of %d left it took %v s", one, r.Result.Seconds)
		}
	}
}

func TestDrainEndsWithTheTasks(t *testing.T) {
	s, _ := inMemory()
	r := newRun(s, Options{Concurrency: 4, Seconds: 60, Tasks: 5000})
	if err := drain(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if r.Result.Count > 5000 || r.Result.Seconds > 30 {
		t.Errorf("%d in %v s", r.Result.Count, r.Result.Seconds)
	}
}

func TestWakeTakesSamples(t *testing.T) {
	s, stored := inMemory()
	r := newRun(s, Options{Concurrency: 1, Seconds: 60, Samples: 20, Pause: 0.01})
	if err := wake(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if r.Result.Count != 20 || stored.Load() != 23 || r.Result.P50 <= 0 || r.Result.P99 < r.Result.P50 {
		t.Errorf("%+v of %d", r.Result, stored.Load())
	}
}

func TestAnErrorEndsTheCallers(t *testing.T) {
	s, _ := inMemory()
	broken := errors.New("broken")
	var n atomic.Int64
	s.Enqueue = func(context.Context, []byte) error {
		if n.Add(1) > 100 {
			return broken
		}
		return nil
	}
	if err := enqueue(t.Context(), newRun(s, Options{Concurrency: 4, Seconds: 60})); !errors.Is(err, broken) {
		t.Errorf("the error is %v", err)
	}
}

func TestWhatALibraryCannotDoIsUnsupported(t *testing.T) {
	for name, mode := range modes {
		if err := mode(t.Context(), newRun(&Session{}, Options{Concurrency: 1, Tasks: 1})); !errors.Is(err, ErrUnsupported) {
			t.Errorf("mode %s: %v", name, err)
		}
	}
}

func TestQuantilesAreBetweenSamples(t *testing.T) {
	r := &Result{}
	r.Latencies([]float64{4, 1, 3, 2, 5})
	if r.P50 != 3 || r.P99 < 4.9 || r.P99 > 5 || r.Count != 5 {
		t.Errorf("%+v", r)
	}
	if !slices.Equal([]float64{Quantile(nil, 0.5), Quantile([]float64{7}, 0.99), Quantile([]float64{1, 2}, 0.5)}, []float64{0, 7, 1.5}) {
		t.Error("the quantiles of none, one or two are wrong")
	}
}

func TestATimeOutEndsALibraryThatDoesNotHeedIt(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	s, _ := inMemory()
	s.Consume = func(context.Context, int, func(), func()) error { select {} }
	p := Peer{NoRedis: true, Open: func(context.Context, Options) (*Session, error) { return s, nil }}
	if err := run(ctx, p, Options{Mode: "wake", Concurrency: 1}, &Result{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error is %v", err)
	}
}
