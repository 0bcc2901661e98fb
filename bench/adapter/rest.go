package adapter

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// wake measures one task at a time, after a pause in which everything is idle.
func wake(ctx context.Context, r *Run) error {
	if r.Session.Consume == nil || r.Session.Enqueue == nil {
		return ErrUnsupported
	}
	started := make(chan time.Time, 16)
	if err := r.Session.Consume(ctx, r.Concurrency, func() { started <- time.Now() }, func() {}); err != nil {
		return err
	}
	return Sample(r, func() (time.Duration, error) {
		from := time.Now()
		if err := r.Session.Enqueue(ctx, r.Task); err != nil {
			return 0, err
		}
		select {
		case at := <-started:
			return at.Sub(from), nil
		case <-ctx.Done():
			return 0, fmt.Errorf("a task was not handled: %w", ctx.Err())
		}
	})
}

// Sample takes samples with pauses between them, after a few that do not count. It takes at least
// 5, however long that takes.
func Sample(r *Run, once func() (time.Duration, error)) error {
	const unmeasured = 3
	var samples []float64
	var until time.Time
	for i := 0; i < unmeasured+5 || i < unmeasured+r.Samples && time.Now().Before(until); i++ {
		if i == unmeasured {
			until = time.Now().Add(r.For())
		}
		d, err := once()
		if err != nil {
			return err
		}
		if i >= unmeasured {
			samples = append(samples, float64(d.Nanoseconds())/1e3)
		}
		time.Sleep(time.Duration((0.5 + rand.Float64()) * r.Pause * 1e6)) // part of the measurement: all idle
	}
	r.Result.Latencies(samples)
	return nil
}

// idle measures a consumer without tasks. What it sends is per second here.
func idle(ctx context.Context, r *Run) error {
	if r.Redis == nil || r.Session.Consume == nil {
		return ErrUnsupported
	}
	if err := r.Session.Consume(ctx, r.Concurrency, func() {}, func() {}); err != nil {
		return err
	}
	time.Sleep(time.Second) // what a start sends is not idle
	watch, err := monitor(r.Options.Redis)
	if err != nil {
		return err
	}
	if err := r.Meter.Begin(); err != nil {
		return err
	}
	time.Sleep(r.For())
	err = r.Meter.End(r.Result, 1)
	calls, inner := watch()
	r.Result.Calls = float64(calls) / r.Result.Seconds
	r.Result.Commands = float64(calls+inner) / r.Result.Seconds
	r.Result.ClientCPU /= r.Result.Seconds
	r.Result.RedisCPU /= r.Result.Seconds
	return err
}

// commands is mixed with every command counted. MONITOR slows Redis, so the time means nothing.
func commands(ctx context.Context, r *Run) error {
	if r.Redis == nil {
		return ErrUnsupported
	}
	watch, err := monitor(r.Options.Redis)
	if err != nil {
		return err
	}
	if err := mixed(ctx, r); err != nil {
		return err
	}
	calls, inner := watch()
	n := float64(max(r.Result.Count, 1))
	*r.Result = Result{Module: r.Result.Module, Version: r.Result.Version, Config: r.Result.Config, Mode: r.Result.Mode,
		Concurrency: r.Concurrency, Count: r.Result.Count, Calls: float64(calls) / n, Commands: float64(calls+inner) / n}
	return nil
}

// monitor counts the commands of clients, and those inside scripts, until stop is called.
func monitor(addr string) (stop func() (calls, inner int64), err error) {
	conn, err := DialRedis(addr)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Do("MONITOR"); err != nil {
		return nil, err
	}
	var calls, inner atomic.Int64
	go func() {
		for {
			line, err := conn.Receive()
			switch {
			case err != nil:
				return
			case strings.Contains(line, " lua] "):
				inner.Add(1)
			case !strings.Contains(line, `] "INFO"`):
				calls.Add(1)
			}
		}
	}()
	return func() (int64, int64) {
		c, i := calls.Load(), inner.Load()
		conn.Close()
		return c, i
	}, nil
}

// used returns the memory of all keys. The memory in INFO includes that of connections, which come
// and go in a pool.
func used(r *Run) (float64, error) {
	const script = "local sum = 0 for _, k in ipairs(redis.call('KEYS', '*')) do " +
		"sum = sum + (redis.call('MEMORY', 'USAGE', k, 'SAMPLES', 0) or 0) end return sum"
	sum, err := r.Redis.Do("EVAL", script, "0")
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(sum, 64)
}

// memory measures the memory of tasks that wait.
func memory(ctx context.Context, r *Run) error {
	if r.Redis == nil {
		return ErrUnsupported
	}
	if _, err := fill(ctx, r, 1, time.Minute); err != nil {
		return err
	}
	before, err := used(r)
	if err != nil {
		return err
	}
	n, err := fill(ctx, r, r.Tasks, time.Minute)
	if err != nil {
		return err
	}
	after, err := used(r)
	r.Result.Count, r.Result.Waiting = int64(n), (after-before)/float64(n)
	return err
}

// hands measures the memory of tasks in hand.
func hands(ctx context.Context, r *Run) error {
	if r.Redis == nil || r.Session.Consume == nil {
		return ErrUnsupported
	}
	held := NewCounter(int64(r.Tasks) + 1)
	first := NewCounter(1)
	if err := r.Session.Consume(ctx, r.Tasks+1, func() { first.Add(); held.Add(); <-ctx.Done() }, func() {}); err != nil {
		return err
	}
	if _, err := fill(ctx, r, 1, time.Minute); err != nil {
		return err
	}
	select {
	case <-first.reached:
	case <-ctx.Done():
		return fmt.Errorf("the first task was not taken: %w", ctx.Err())
	}
	before, err := used(r)
	if err != nil {
		return err
	}
	if _, err := fill(ctx, r, r.Tasks, time.Minute); err != nil {
		return err
	}
	select {
	case <-held.reached:
	case <-ctx.Done():
		return fmt.Errorf("%d of %d were taken: %w", held.Total(), r.Tasks+1, ctx.Err())
	}
	after, err := used(r)
	r.Result.Count, r.Result.InHand = int64(r.Tasks), (after-before)/float64(r.Tasks)
	return err
}

// hold takes one task and keeps it until it is killed.
func hold(ctx context.Context, r *Run) error {
	if r.Session.Consume == nil || r.Session.Enqueue == nil {
		return ErrUnsupported
	}
	err := r.Session.Consume(ctx, r.Concurrency, func() {
		say(map[string]string{"event": "held"})
		<-ctx.Done()
	}, func() {})
	if err == nil {
		err = r.Session.Enqueue(ctx, r.Task)
	}
	if err == nil {
		<-ctx.Done()
		err = errors.New("nobody killed it")
	}
	return err
}

// rescue waits for a task that another program held.
func rescue(ctx context.Context, r *Run) error {
	if r.Session.Consume == nil {
		return ErrUnsupported
	}
	got := NewCounter(1)
	if err := r.Session.Consume(ctx, r.Concurrency, func() { got.Add() }, func() {}); err != nil {
		return err
	}
	say(map[string]string{"event": "ready"})
	select {
	case <-got.reached:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
