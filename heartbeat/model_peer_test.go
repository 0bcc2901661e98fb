package heartbeat

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// peer is a host that both holds a lease and judges the others.
type peer struct {
	w     *world
	name  int
	rng   *rand.Rand // confined to live, which hands out others
	ppm   int        // how much faster its monotonic clock runs
	start time.Time

	mu     sync.Mutex
	slept  time.Duration
	asleep time.Time // since when; zero: awake
	wake   time.Time // when it woke last
	cut    time.Time // from the network until then
}

func (p *peer) sleptNow() time.Duration {
	if p.asleep.IsZero() {
		return p.slept
	}
	return p.slept + time.Since(p.asleep)
}

func (p *peer) now() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	awake := time.Since(p.start) - p.sleptNow()
	return p.start.Add(awake + awake*time.Duration(p.ppm)/1e6)
}

func (p *peer) clock() clock {
	return clock{
		now:  p.now,
		wall: func() time.Time { return time.Now().Round(0) },
		slept: func() (time.Duration, bool) {
			p.mu.Lock()
			defer p.mu.Unlock()
			return p.sleptNow(), true
		},
		dice: rand.New(rand.NewPCG(p.w.seed, p.rng.Uint64())).Float64, // of the world's seed; only Keep throws them
	}
}

func (p *peer) awakeFor() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.asleep.IsZero() {
		return 0
	}
	return time.Since(p.wake)
}

// runs returns when the host is awake.
func (p *peer) runs() {
	for p.awakeFor() == 0 {
		time.Sleep(ms)
	}
}

// sleeps suspends the host now and then, or cuts it off from the network.
func (p *peer) sleeps(ctx context.Context) {
	rng := rand.New(rand.NewPCG(p.w.seed, uint64(p.name)+100))
	p.mu.Lock()
	p.wake = p.start.Add(-ms)
	p.mu.Unlock()
	for ctx.Err() == nil {
		time.Sleep(time.Duration(rng.Int64N(int64(20 * time.Second))))
		var calm bool
		p.w.locked(func() { calm = p.w.calm })
		if calm {
			return
		}
		d := time.Duration(rng.Int64N(int64(6 * time.Second)))
		p.mu.Lock()
		sleep := rng.IntN(2) == 0
		if sleep {
			p.asleep = time.Now()
		} else {
			p.cut = time.Now().Add(d)
		}
		p.mu.Unlock()
		if !sleep {
			continue
		}
		time.Sleep(d)
		p.mu.Lock()
		p.slept += time.Since(p.asleep)
		p.asleep, p.wake = time.Time{}, time.Now()
		p.mu.Unlock()
	}
}

// ask is a request over the network. What was sent may be executed although its sender gave up.
func (p *peer) ask(ctx context.Context, rng *rand.Rand, do func() answer) (sent, received time.Time, a answer, err error) {
	p.runs()
	sent = p.now()
	p.way(rng)
	p.mu.Lock()
	cut := time.Now().Before(p.cut)
	p.mu.Unlock()
	if cut && rng.IntN(2) == 0 {
		<-ctx.Done()
		return sent, sent, a, ctx.Err()
	}
	p.w.locked(func() { a = do() })
	p.way(rng)
	if cut {
		<-ctx.Done()
	}
	p.runs()
	if ctx.Err() != nil && rng.IntN(2) == 0 { // else the reply comes, however late
		err = ctx.Err()
	}
	return sent, p.now(), a, err
}

// way returns how long a message travels.
func (p *peer) way(rng *rand.Rand) {
	var calm bool
	p.w.locked(func() { calm = p.w.calm })
	most := 5 * ms
	switch n := rng.IntN(100); {
	case calm:
	case n < 2:
		most = 4 * time.Second
	case n < 10:
		most = 60 * ms
	}
	time.Sleep(time.Duration(rng.Int64N(int64(most))))
}

// live joins, holds and judges until ctx ends. After each lapse it joins as a new holder.
func (p *peer) live(ctx context.Context) {
	p.runs()
	fresh := p.rng.IntN(2) == 0 // a judge for each incarnation, or one for all of them
	j := must(newJudge(Config{}, p.now))
	for n := 0; ctx.Err() == nil; n++ {
		if fresh {
			j = must(newJudge(Config{}, p.now))
		}
		id := fmt.Sprintf("%d.%d", p.name, n)
		beats := rand.New(rand.NewPCG(p.w.seed, p.rng.Uint64()))
		l, err := newLease(Config{}, func(ctx context.Context) error {
			sent, received, a, err := p.ask(ctx, beats, p.w.beat(id))
			if err != nil {
				return err
			}
			j.Server(a.run)
			j.Sample(sent, received, a.clock)
			if !a.ok {
				return ErrLost
			}
			return nil
		}, p.clock())
		if err != nil {
			p.w.t.Error(err)
			return
		}
		joining, stop := context.WithTimeout(ctx, 2*time.Second)
		sent, _, _, err := p.ask(joining, p.rng, p.w.join(p, id, l))
		stop()
		if err != nil {
			continue
		}
		p.holds(ctx, l, j, sent)
		j.Late(l.LastLate())
	}
}

// holds keeps one lease, and judges as long as the lease lasts.
func (p *peer) holds(ctx context.Context, l *Lease, j *Judge, sent time.Time) {
	var wg sync.WaitGroup
	wg.Go(func() { _ = l.Keep(ctx, sent) })
	for l.Context().Err() == nil { // as Watch does, with dice of the world's seed
		select {
		case <-l.Context().Done():
		case <-time.After(time.Duration((0.75 + p.rng.Float64()/2) * float64(time.Second))):
			p.round(l, j)
		}
	}
	wg.Wait()
}

func (p *peer) round(l *Lease, j *Judge) {
	asking, stop := context.WithTimeout(l.Context(), time.Second)
	defer stop()
	sent, received, a, err := p.ask(asking, p.rng, p.w.look)
	if err != nil {
		return
	}
	j.Server(a.run)
	j.Sample(sent, received, a.clock)
	j.Late(l.LastLate())
	for _, id := range j.Round(a.total, a.absent) {
		p.w.dead(p, id)
	}
}
