package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/worqr/worqr-go/bench/adapter"
)

// batches returns how large a batch is, and how many are under way: together as many tasks as the
// concurrency, and two batches at least, so that Redis has the next one when it has done the last.
func batches(concurrency int) (size, under int) {
	size = min(concurrency, largest)
	return size, max(concurrency/size, 2)
}

// enqueue stores batches.
func (r *raw) enqueue(_ context.Context, run *adapter.Run) error {
	size, under := batches(run.Concurrency)
	if err := run.Meter.Begin(); err != nil {
		return err
	}
	until, n := time.Now().Add(run.For()), int64(0)
	send := func() error {
		r.conn.send(r.words("enqueue", tasks(run.Task, size)...)...)
		return r.conn.flush()
	}
	for range under {
		if err := send(); err != nil {
			return err
		}
	}
	for left := under; left > 0; {
		if _, err := r.conn.receive(); err != nil {
			return err
		}
		n += int64(size)
		if time.Now().After(until) {
			left--
		} else if err := send(); err != nil {
			return err
		}
	}
	return run.Meter.End(run.Result, n)
}

// mixed stores a batch in each round, settles the one that it took before, and takes one.
func (r *raw) mixed(_ context.Context, run *adapter.Run) error {
	size, under := batches(run.Concurrency)
	return r.rounds(run, size, under, true, run.For())
}

// drain is the same without the storing.
func (r *raw) drain(_ context.Context, run *adapter.Run) error {
	for left := run.Tasks; left > 0; left -= 500 {
		if _, err := r.conn.do(r.words("enqueue", tasks(run.Task, min(left, 500))...)...); err != nil {
			return err
		}
	}
	size, under := batches(run.Concurrency)
	return r.rounds(run, size, under, false, run.For())
}

// rounds keeps so many under way, for a while or until nothing is left.
func (r *raw) rounds(run *adapter.Run, size, under int, store bool, d time.Duration) error {
	if err := run.Meter.Begin(); err != nil {
		return err
	}
	var way []bool // under way: whether they settle something
	begin := func(settle []processes) error {
		if store {
			r.conn.send(r.words("enqueue", tasks(run.Task, size)...)...)
		}
		if len(settle) > 0 {
			r.conn.send(r.settleWords(settle)...)
		}
		r.conn.send(r.takeWords(size, false)...)
		way = append(way, len(settle) > 0)
		return r.conn.flush()
	}
	for range under {
		if err := begin(nil); err != nil {
			return err
		}
	}
	until, n := time.Now().Add(d), int64(0)
	for len(way) > 0 {
		settles := way[0]
		way = way[1:]
		if store {
			if _, err := r.conn.receive(); err != nil {
				return fmt.Errorf("enqueue: %w", err)
			}
		}
		if settles {
			done, err := settled(r.conn.receive())
			if err != nil {
				return err
			}
			n += done
		}
		runs, _, err := taken(r.conn.receive())
		if err != nil {
			return err
		}
		if len(runs) > 0 && time.Now().Before(until) {
			if err := begin(runs); err != nil {
				return err
			}
		}
	}
	if n == 0 {
		return errors.New("nothing was finished: encode.go does not speak as the scripts do")
	}
	return run.Meter.End(run.Result, n)
}

// wake is the shortest chain: enqueue, the wake-up that it publishes, take.
func (r *raw) wake(_ context.Context, run *adapter.Run) error {
	heard, err := dial(run.Options.Redis)
	if err != nil {
		return err
	}
	if _, err := heard.do("SUBSCRIBE", root+":wake:"+worker); err != nil {
		return err
	}
	if _, _, err := taken(r.conn.do(r.takeWords(1, true)...)); err != nil {
		return err
	}
	return adapter.Sample(run, func() (time.Duration, error) {
		from := time.Now()
		r.conn.send(r.words("enqueue", run.Task)...)
		if err := r.conn.flush(); err != nil {
			return 0, err
		}
		if _, err := heard.receive(); err != nil {
			return 0, fmt.Errorf("no wake-up came: %w", err)
		}
		r.conn.send(r.takeWords(1, false)...)
		if err := r.conn.flush(); err != nil {
			return 0, err
		}
		if _, err := r.conn.receive(); err != nil { // the reply of enqueue
			return 0, err
		}
		runs, n, err := taken(r.conn.receive())
		took := time.Since(from)
		if err != nil || n != 1 {
			return 0, fmt.Errorf("%d tasks came: %w", n, err)
		}
		if _, err := settled(r.conn.do(r.settleWords(runs)...)); err != nil {
			return 0, err
		}
		_, _, err = taken(r.conn.do(r.takeWords(1, true)...)) // idle again
		return took, err
	})
}
