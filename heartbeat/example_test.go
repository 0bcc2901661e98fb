package heartbeat_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/worqr/worqr-go/heartbeat"
)

// A worker keeps its lease and judges its peers. After each lapse it starts again as a new worker.
// The server is left out.
func Example() {
	var (
		join = func(context.Context) error { return nil }
		beat = func(context.Context) error { return nil }
		look = func(context.Context) (run string, clock time.Duration, total int, absent []heartbeat.Absent, err error) {
			return
		}
		serve = func(context.Context) {} // returns soon after its context has ended
		cfg   heartbeat.Config
	)
	incarnation := func(ctx context.Context) error {
		judge, err := heartbeat.NewJudge(cfg)
		if err != nil {
			return err
		}
		lease, err := heartbeat.New(cfg, beat) // before the join is sent
		if err != nil {
			return err
		}
		sent := time.Now()
		if err := join(ctx); err != nil {
			return err
		}
		var wg sync.WaitGroup
		defer wg.Wait()
		wg.Go(func() { serve(lease.Context()) })
		round := func(ctx context.Context) {
			asked := time.Now()
			run, clock, total, absent, err := look(ctx)
			if err != nil {
				return
			}
			judge.Server(run)
			judge.Sample(asked, time.Now(), clock)
			judge.Late(lease.LastLate())
			for _, id := range judge.Round(total, absent) {
				fmt.Println("take over from", id)
			}
		}
		wg.Go(func() { heartbeat.Watch{Every: time.Second}.Run(lease.Context(), round) })
		return lease.Keep(ctx, sent)
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	for {
		if err := incarnation(ctx); !errors.Is(err, heartbeat.ErrExpired) && !errors.Is(err, heartbeat.ErrLost) {
			fmt.Println(err)
			return
		}
	}
	// Output: context canceled
}

func ExampleConfig_WithDefaults() {
	_, err := heartbeat.Config{Every: 2 * time.Second}.WithDefaults()
	fmt.Println(err)
	// Output: heartbeat: invalid configuration: Every 2s is more than a third of TTL 3s
}
