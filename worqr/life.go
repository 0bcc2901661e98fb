package worqr

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/worqr/worqr-go/heartbeat"
	"github.com/worqr/worqr-go/internal/wire"
)

// life is one incarnation of a worker: from a join to its lapse or its leave. Its id is never used
// again.
type life struct {
	w     *Worker
	id    string
	lease *heartbeat.Lease
	judge *heartbeat.Judge
	ctx   context.Context // what is in hand descends from it; ends with ErrLapsed, or ErrStopping after the last return
	end   context.CancelCauseFunc

	attendance

	joined  time.Time
	before  string       // the id of the incarnation before, which lapsed, "": none
	lapses  int          // how many there were in a row before this one
	opens   time.Time    // after a lapse: no queue that others serve is opened before this
	beaten  atomic.Bool  // a beat was answered
	beats   line         // used by the lease only, and before it
	mine    atomic.Bool  // a beat has claimed the next round
	rounds  atomic.Bool  // a round is under way
	failing atomic.Bool  // the last round failed: the next is better claimed by a peer
	claimed atomic.Int64 // when a beat last saw it claimed, by whomever

	soon   chan struct{} // a look or a round is wanted before its time
	sooner chan struct{}

	editing sync.Mutex // one edit of the workmap at a time, so that their numbers are their order
	edit    int64

	mu      sync.Mutex
	opened  int64                  // the number of the last membership
	members map[string]*membership // by queue, also ended ones
	rest    []*membership          // closed here, and still to be returned in Redis
	order   []string               // the queues, in the order in which they are looked at
	at      int
	turned  time.Time            // when a queue last had its turn
	kept    time.Time            // when checkpoints were last written
	looks   map[*membership]bool // to be looked at before their turn
	failed  bool                 // somebody says that this worker was failed

	unlisten func()
	stop     context.CancelFunc // ends the goroutines below
	tasks    sync.WaitGroup     // lease, looks, supervision
}

// join registers a new incarnation and starts what keeps it.
func (w *Worker) join(ctx context.Context) error {
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	l := &life{
		w: w, id: id.String(), beats: line{at: w.mesh.at}, members: map[string]*membership{},
		looks: map[*membership]bool{}, soon: make(chan struct{}, 1), sooner: make(chan struct{}, 1),
	}
	old := w.current()
	if old != nil {
		l.follow(old)
	}
	l.stopWatching = func() {}
	l.news, l.vacant = make(chan struct{}, 1), make(chan struct{}, 1)
	beat := heartbeat.Config{Every: w.cfg.Beat, TTL: w.cfg.Lapse, Margin: w.cfg.Margin}
	if l.lease, err = heartbeat.New(beat, l.beat); err != nil {
		return err
	}
	sent := time.Now()
	joining, cancel := context.WithTimeout(ctx, w.cfg.Lapse-w.cfg.Margin)
	defer cancel()
	if err := w.mesh.wire.Join(joining, wire.Registration{Worker: l.id, Lapse: w.cfg.Lapse, Heir: l.before, Info: w.info()}); err != nil {
		return err
	}
	if l.judge, err = heartbeat.NewJudge(beat); err != nil {
		return err
	}
	l.joined = sent
	l.ctx, l.end = context.WithCancelCause(context.Background())
	if old != nil {
		l.beginRest()
		beating, cancel := context.WithTimeout(ctx, w.cfg.Lapse/4)
		_ = l.beat(beating) // it is told; and the lease beats again
		cancel()
	}
	running, stop := context.WithCancel(context.Background())
	l.stop = stop
	unwake, ungive := w.mesh.listener.OnWake(l.id, l.hint), w.mesh.listener.OnGive(l.id, l.told)
	l.unlisten = func() { unwake(); ungive() }
	l.tasks.Go(func() {
		defer l.beats.close()
		_ = l.lease.Keep(running, sent) // why it ended stands in the lease's context
	})
	context.AfterFunc(l.lease.Context(), func() { l.lapse(context.Cause(l.lease.Context())) })
	select {
	case <-l.lease.Begun():
	case <-l.lease.Context().Done():
	}
	if wanted, held := w.wantsFast(); wanted {
		ping := lazyPing
		if held {
			ping = 0 // the default
		}
		if err := l.attend(running, ping); err != nil {
			w.hooks.error(failed(err, "attend as worker %s", l.id)) // takeover stays Strict
		}
	}
	// A look follows each beat. Rounds are jittered by a quarter around four fifths: no pause is
	// longer than Sweep.
	l.tasks.Go(func() { heartbeat.Watch{Every: 2 * w.cfg.Beat, Now: l.soon}.Run(running, l.looking) })
	l.tasks.Go(func() {
		heartbeat.Watch{Every: w.cfg.Sweep * 4 / 5, Now: l.sooner, Soon: l.judge.Soonest}.Run(running, l.round)
	})

	w.mu.Lock()
	w.life = l
	w.mu.Unlock()
	if old != nil {
		old.unlisten() // no sooner: peers see that this daemon lives on
	}
	w.hooks.join(l.id)
	w.log.Info().Str("worker", l.id).Msg("worqr: joined")
	w.change()
	return nil
}

// info is what the list of workers shows of this one.
func (w *Worker) info() wire.Info {
	host, _ := os.Hostname() // "" when the system does not know it
	info := wire.Info{Host: host, PID: os.Getpid(), Capacity: w.cfg.Capacity, Labels: w.cfg.Labels}
	if build, ok := debug.ReadBuildInfo(); ok {
		info.Version = build.Main.Version
	}
	return info
}

// beat renews the heartbeat once, over a connection that nothing else uses.
func (l *life) beat(ctx context.Context) error {
	// Only what will be done is claimed.
	willing := !l.judge.InDoubt() && !l.mine.Load() && !l.rounds.Load() && !l.failing.Swap(false)
	sent := time.Now()
	b, err := l.w.mesh.wire.Beat(ctx, &l.beats, wire.Beat{Worker: l.id, Lapse: l.w.cfg.Lapse, Claim: l.claimFor(willing)})
	switch {
	case errors.Is(err, wire.ErrLost):
		return fmt.Errorf("%w: %w", heartbeat.ErrLost, err)
	case err != nil:
		if !errors.Is(context.Cause(ctx), context.Canceled) { // else it is over, and nobody waits for it
			l.w.hooks.error(failed(err, "beat of worker %s", l.id))
		}
		return err
	}
	received := time.Now()
	if !l.beaten.Swap(true) {
		l.w.change() // queues may be opened
	}
	l.judge.Sample(sent, received, b.Clock)
	if b.Claimed {
		l.claimed.Store(received.UnixNano())
	}
	if b.Mine {
		l.mine.Store(true)
		signal(l.sooner)
	}
	if b.Watchers < 2 && !l.watcher.Load() {
		signal(l.vacant)
	}
	signal(l.soon)
	return nil
}

// lapse ends this incarnation: nothing that it held may be worked on or settled any more. The
// worker joins again.
func (l *life) lapse(cause error) {
	if l.ctx.Err() != nil {
		return
	}
	if number, ok := l.w.hooks.begin(); ok {
		defer l.w.hooks.done(number) // a stop waits until it is told
	}
	if cause == nil {
		cause = heartbeat.ErrExpired
	}
	l.end(fmt.Errorf("%w: %w", ErrLapsed, cause))
	if errors.Is(context.Cause(l.ctx), ErrLapsed) && l.w.lapsed(l) {
		l.w.log.Warn().Str("worker", l.id).Err(cause).Msg("worqr: lapsed, joining again")
		l.w.hooks.lapse(l.id, cause)
	}
	l.w.change()
}

// lapsed returns true once for each incarnation.
func (w *Worker) lapsed(l *life) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := !l.failed
	l.failed = true
	return first
}

// finish ends the goroutines of an incarnation that has lapsed or left, and waits for them. It goes
// on to listen.
func (l *life) finish() {
	l.stop()
	l.tasks.Wait()
	l.mu.Lock()
	members := l.members
	l.members = map[string]*membership{}
	l.mu.Unlock()
	for _, m := range members {
		done, _ := m.station.alone(context.Background())
		m.quit()
		done()
	}
}

// hint is told on this worker's own channel: tasks wait in a queue, or that it was failed.
func (l *life) hint(queue string, failed bool) {
	if failed {
		l.lookAll()
		return
	}
	l.mu.Lock()
	m := l.members[queue]
	l.mu.Unlock()
	if m != nil {
		signal(m.woken)
	}
}

// told is told on this worker's own channel to give up persistent tasks.
func (l *life) told(queue string, n, down int) {
	l.mu.Lock()
	m := l.members[queue]
	l.mu.Unlock()
	if m != nil {
		m.grant.Store(&grant{n, down})
		signal(m.granted)
	}
}

// nextID makes the id of a membership: its owner is legible in it, and it is never used again.
func (l *life) nextID() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.opened++
	return wire.MembershipID(l.id, l.opened)
}

// workmap edits the list of queues that this worker serves, by wire.Mesh.Serve or Unserve.
func (l *life) workmap(ctx context.Context, edit func(ctx context.Context, worker, queue string, edit int64) error, queue string) error {
	l.editing.Lock()
	l.edit++
	err := edit(ctx, l.id, queue, l.edit)
	l.editing.Unlock()
	if errors.Is(err, wire.ErrLost) {
		l.lapse(heartbeat.ErrLost)
		return context.Cause(l.ctx)
	}
	return err
}
