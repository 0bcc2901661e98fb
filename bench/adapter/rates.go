package adapter

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// enqueue measures producers alone.
func enqueue(ctx context.Context, r *Run) error {
	return loop(ctx, r, func(ctx context.Context) error { return r.Session.Enqueue(ctx, r.Task) }, r.Session.Enqueue != nil)
}

// pipeline measures callers of one script.
func pipeline(ctx context.Context, r *Run) error {
	return loop(ctx, r, r.Session.Call, r.Session.Call != nil)
}

// loop makes as many callers as the concurrency call over and over.
func loop(ctx context.Context, r *Run, call func(context.Context) error, can bool) error {
	if !can {
		return ErrUnsupported
	}
	if err := call(ctx); err != nil { // connected
		return err
	}
	if err := r.Meter.Begin(); err != nil {
		return err
	}
	n, err := callers(ctx, r.Concurrency, r.For(), call)
	return errors.Join(err, r.Meter.End(r.Result, n))
}

// callers calls for a while, and returns how often.
func callers(ctx context.Context, concurrency int, d time.Duration, call func(context.Context) error) (int64, error) {
	var stop atomic.Bool
	timer := time.AfterFunc(d, func() { stop.Store(true) })
	defer timer.Stop()
	var wait sync.WaitGroup
	var total atomic.Int64
	errs := make(chan error, concurrency)
	for range concurrency {
		wait.Go(func() {
			n := int64(0)
			for !stop.Load() && ctx.Err() == nil {
				if err := call(ctx); err != nil {
					errs <- err
					stop.Store(true)
					break
				}
				n++
			}
			total.Add(n)
		})
	}
	wait.Wait()
	select {
	case err := <-errs:
		return total.Load(), fmt.Errorf("after %d calls: %w", total.Load(), err)
	default:
		return total.Load(), nil
	}
}

// fill stores tasks before the clock runs, up to a number or a time.
func fill(ctx context.Context, r *Run, most int, d time.Duration) (int, error) {
	s := r.Session
	deadline := time.Now().Add(d)
	if s.Fill != nil {
		n := 0
		for n < most && time.Now().Before(deadline) {
			k := min(5000, most-n)
			if err := s.Fill(ctx, r.Task, k); err != nil {
				return n, err
			}
			n += k
		}
		return n, nil
	}
	if s.Enqueue == nil {
		return 0, ErrUnsupported
	}
	var left, stored atomic.Int64
	left.Store(int64(most))
	errFull := errors.New("filled")
	_, err := callers(ctx, 64, d, func(ctx context.Context) error {
		if left.Add(-1) < 0 {
			return errFull
		}
		err := s.Enqueue(ctx, r.Task)
		if err == nil {
			stored.Add(1)
		}
		return err
	})
	if errors.Is(err, errFull) {
		err = nil
	}
	return int(stored.Load()), err
}

// drain measures consumers alone. The clock runs from the first finished task until all are
// finished or the time is up.
func drain(ctx context.Context, r *Run) error {
	if r.Session.Consume == nil {
		return ErrUnsupported
	}
	n, err := fill(ctx, r, r.Tasks, 3*r.For())
	if err != nil {
		return err
	}
	finished, first := NewCounter(int64(n)), NewCounter(1)
	settled := func() { finished.Add(); first.Add() }
	failed := make(chan error, 1)
	go func() { // it may have finished all of them before Consume returns
		if err := r.Session.Consume(ctx, r.Concurrency, func() {}, settled); err != nil {
			failed <- err
		}
	}()
	select {
	case <-first.reached:
	case err := <-failed:
		return err
	case <-ctx.Done():
		return fmt.Errorf("no task was finished: %w", ctx.Err())
	}
	if err := r.Meter.Begin(); err != nil {
		return err
	}
	before := finished.Total()
	select {
	case <-finished.reached:
	case <-time.After(r.For()):
	case <-ctx.Done():
		return ctx.Err()
	}
	return r.Meter.End(r.Result, finished.Total()-before)
}

// mixed measures both at once. The producers run for the time that is asked for, and the clock runs
// until what they stored is finished. So each finished task has cost one enqueue, also with a
// library whose producers outrun its consumers. It does not wait for the last hundredth: a consumer
// that sleeps at the very end shows how it polls, not how fast it is.
func mixed(ctx context.Context, r *Run) error {
	finished, warmed, err := warm(ctx, r)
	if err != nil {
		return err
	}
	if err := r.Meter.Begin(); err != nil {
		return err
	}
	before := finished.Total()
	n, err := callers(ctx, r.Concurrency, r.For(), func(ctx context.Context) error { return r.Session.Enqueue(ctx, r.Task) })
	if err != nil {
		return err
	}
	goal := (n + warmed) - (n+warmed)/100
	limit := time.Now().Add(10*r.For() + 5*time.Second)
	for finished.Total() < goal && time.Now().Before(limit) && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	return r.Meter.End(r.Result, finished.Total()-before)
}

// warm starts a consumer and returns when it works: it has finished the first of some tasks, and
// the rest keep it awake until the producers have started. warmed is the number of these tasks.
func warm(ctx context.Context, r *Run) (_ *Counter, warmed int64, _ error) {
	if r.Session.Consume == nil || r.Session.Enqueue == nil {
		return nil, 0, ErrUnsupported
	}
	finished := NewCounter(1)
	n, err := fill(ctx, r, 100+r.Concurrency, time.Second)
	if err != nil {
		return nil, 0, err
	}
	if err := r.Session.Consume(ctx, r.Concurrency, func() {}, finished.Add); err != nil {
		return nil, 0, err
	}
	select {
	case <-finished.reached:
		return finished, int64(n), nil
	case <-ctx.Done():
		return nil, 0, fmt.Errorf("the first task was not finished: %w", ctx.Err())
	}
}
