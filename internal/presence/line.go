package presence

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// Line keeps a connection that carries one subscription and nothing else. As long as the connection
// is established, the server counts one subscriber on the channel, and it closes with the process.
// Up, Since, Kernel and Reset may be called from any goroutine.
type Line struct {
	cfg     Config
	made    time.Time
	running atomic.Bool
	resets  atomic.Uint64
	doubts  atomic.Uint64         // calls of Renew
	changed chan struct{}         // has something after a Reset or Renew
	present atomic.Pointer[grant] // what Up rests on; nil: nothing
	kernel  atomic.Bool
}

// grant marks a session as one that counts, up to the next Reset.
type grant struct {
	*session
	reset uint64
}

// New returns a line and starts nothing. The error wraps ErrConfig.
func New(cfg Config) (*Line, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Line{cfg: cfg, made: time.Now().Add(-time.Second), changed: make(chan struct{}, 1)}, nil
}

// Up reports whether the subscription exists at this very instant, as far as this host's kernel
// knows. It is false from the arrival of the server's FIN or reset, also when this process was
// stopped then and has not looked since. It takes under a microsecond and allocates nothing. After
// Lost, and from Reset until Back, it is false.
func (l *Line) Up() bool {
	g := l.present.Load()
	return g != nil && g.reset == l.resets.Load() && g.valid()
}

// Since returns when the present subscription began to count; the zero time means that there is
// none. It may have ended since: see Up.
func (l *Line) Since() time.Time {
	if g := l.present.Load(); g != nil && g.reset == l.resets.Load() {
		return g.since
	}
	return time.Time{}
}

// Kernel reports whether Up asked the kernel on the last connection that was subscribed. If not (a
// system other than Linux, a unix socket, a dialler that Through does not know), Up relies on what
// the reader has seen. After a pause of this process of more than Grace/2 it is then false until
// the server has replied.
func (l *Line) Kernel() bool { return l.kernel.Load() }

// Reset starts again, after all that rested on Up has ended, or for another channel. Back is called
// when Up is true again. For a loss that was noticed earlier, Lost is called before that.
func (l *Line) Reset() {
	l.resets.Add(1)
	l.change()
}

// Renew replaces the connection. It is called when someone else has found that the server does not
// count it, whatever is known here.
func (l *Line) Renew() {
	l.doubts.Add(1)
	l.change()
}

func (l *Line) change() {
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// Run keeps the line until ctx ends. Then it returns nil, once all that it started has ended and
// the connection is closed. That is no loss, and Lost is not called. The only error is ErrRunning.
func (l *Line) Run(ctx context.Context) error {
	if !l.running.CompareAndSwap(false, true) {
		return ErrRunning
	}
	defer l.running.Store(false)
	r := keeper{Line: l}
	r.begin(l.resets.Load())
	defer r.end()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		var stands, done <-chan struct{}
		if r.s != nil {
			done = r.s.done
			if !r.counts {
				stands = r.s.stands
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		case <-l.changed:
		case <-stands:
		case <-done:
		}
		if ctx.Err() != nil {
			return nil // select picks at random among what is ready
		}
		timer.Reset(r.look(ctx))
	}
}

// now returns the instant on the scale of this package. It is never zero.
func (l *Line) now() time.Duration { return time.Since(l.made) }

// patience returns the longest time between two looks that does not count as a pause, where the
// kernel cannot be asked.
func (l *Line) patience() time.Duration { return l.cfg.Grace / 2 }

// keeper is the state of Run.
type keeper struct {
	*Line
	tenure   tenure
	reset    uint64 // the tenure began with it
	heeded   uint64 // of the doubts
	s        *session
	counts   bool // s has been subscribed
	failures int
	next     time.Duration // no dialling before
}

func (r *keeper) begin(reset uint64) {
	r.reset, r.tenure = reset, tenure{grace: r.cfg.Grace}
	r.present.Store(nil)
}

func (r *keeper) end() {
	r.present.Store(nil)
	if r.s != nil {
		r.s.cancel(context.Canceled)
		<-r.s.done
	}
}

// look brings everything up to date, and returns how long to wait before the next look.
func (r *keeper) look(ctx context.Context) time.Duration {
	now := r.now()
	if reset := r.resets.Load(); reset != r.reset {
		r.begin(reset)
		if r.s != nil && r.s.channel != r.cfg.Channel() {
			r.s.drop(errMoved)
			r.failures = 0
		}
	}
	if doubts := r.doubts.Load(); doubts != r.heeded {
		r.heeded = doubts
		if r.s != nil {
			r.s.drop(errDoubted)
		}
	}
	done := r.s != nil && is(r.s.done) // if it ends after this, the next look judges it first
	r.judge(now)
	if done {
		r.again(now)
	}
	if r.s == nil && now >= r.next {
		r.s, r.counts = r.open(ctx), false
	}
	wait := r.cfg.Grace / 4
	if left, away := r.tenure.left(now); away {
		wait = min(wait, left)
	}
	switch {
	case r.s == nil:
		wait = min(wait, max(0, r.next-now))
	case r.counts && !r.s.silent(now):
		wait = min(wait, r.s.credit(now)+1)
	}
	return wait
}

// judge looks at the session and calls the callbacks for what has changed.
func (r *keeper) judge(now time.Duration) {
	var good time.Duration
	stands := false
	if r.s != nil && is(r.s.stands) {
		if !r.counts {
			r.counts = true
			r.kernel.Store(r.s.socket != nil)
		}
		if good, stands = r.s.look(now); !stands {
			r.s.drop(errDown)
		}
	} else {
		good = r.tenure.good
	}
	switch r.tenure.look(now, good, stands) {
	case isBack:
		r.present.Store(&grant{r.s, r.reset})
		r.cfg.Back()
	case isAway:
		r.present.Store(nil)
	case isLost:
		r.present.Store(nil)
		r.cfg.Lost()
	}
}

// again lets go of a session that has ended. One that lasted for at least Ping is replaced at once.
func (r *keeper) again(now time.Duration) {
	s := r.s
	r.s = nil
	if r.counts && time.Since(s.since) >= r.cfg.Ping {
		r.failures = 0
	}
	most := 5 * time.Second
	if errors.Is(s.err, ErrUnseen) {
		most = time.Minute
	}
	r.next = now + backoff(r.failures, most)
	r.failures++
	r.cfg.Failed(s.err)
}

// backoff returns 0 at first, then about 5 ms, doubling up to about most.
func backoff(failures int, most time.Duration) time.Duration {
	if failures == 0 {
		return 0
	}
	pause := min(most, 5*time.Millisecond<<min(failures-1, 14))
	return time.Duration(float64(pause) * (0.75 + rand.Float64()/2))
}
