package heartbeat

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Beat is one attempt to renew the lease. It must not retry by itself: Lease tries again, and
// measures trust from before the attempt. Nil means that the lease was renewed. An error that wraps
// ErrLost means that it is gone for ever. Any other error changes nothing.
//
// The context is a child of Keep's. It ends after TTL/4, and when the lease ends. A Beat must
// return then: only one runs at a time, so while one hangs no other can renew the lease.
type Beat func(ctx context.Context) error

// Lease is the holder's side of a heartbeat: how long the holder may act on a lease that only the
// server can confirm. All methods may be called by any goroutine.
//
// Trust lasts until the deadline D = s + TTL - Margin. s is the instant before the last beat with a
// reply in time was sent. A timer ends trust at D, whatever the network does. Time in which the
// host slept counts, where it is known.
type Lease struct {
	cfg    Config
	beat   Beat
	clock  clock
	base   time.Duration // clock.slept when the lease was made
	made   time.Time
	ctx    context.Context
	cancel context.CancelCauseFunc
	begun  chan struct{}

	mu       sync.Mutex
	kept     bool
	slept    time.Duration // since the lease was made
	deadline time.Time     // D, on the scale of now; zero before Keep
	renewed  time.Time     // when the last beat that succeeded was sent, on the scale of now
	late     time.Time     // on the monotonic clock
}

// New returns a lease and starts nothing. Call it before the join is sent: a sleep of the host is
// noticed from here on. The error wraps ErrConfig.
func New(cfg Config, beat Beat) (*Lease, error) {
	return newLease(cfg, beat, hostClock())
}

func newLease(cfg Config, beat Beat, clock clock) (*Lease, error) {
	cfg, err := cfg.WithDefaults()
	if err != nil {
		return nil, err
	}
	if beat == nil {
		return nil, fmt.Errorf("%w: Beat is nil", ErrConfig)
	}
	l := &Lease{cfg: cfg, beat: beat, clock: clock, begun: make(chan struct{})}
	l.base, _ = clock.slept()
	l.made = clock.now()
	l.ctx, l.cancel = context.WithCancelCause(context.Background())
	return l, nil
}

// Keep renews the lease about every Every (up to a twentieth sooner) until trust in it ends. It
// returns the reason: ErrExpired, an error that wraps ErrLost, or ctx's error. The lease's context
// has then ended. sent is the monotonic instant before the join was sent; the server must have
// confirmed that join. The first deadline is sent + TTL - Margin.
//
// A beat that failed is tried again after Every/4. A step of the wall clock triggers a beat at once
// and nothing else.
//
// A lease is kept once: a second call returns an error and leaves the first alone. If sent lies
// before New or in the future, Keep returns an error and the lease ends.
//
// Each beat runs in a goroutine of its own, so that a hung one cannot delay the end of trust. When
// trust ends, Keep ends the context of the beat under way and waits for it, so that it leaves
// nothing running. It waits for Margin at most. A Beat that breaks its contract and ignores its
// context is then left behind, and its result is thrown away. Without this limit one hung call
// could keep its daemon out of the mesh.
func (l *Lease) Keep(ctx context.Context, sent time.Time) error {
	if err := l.begin(sent); err != nil {
		return err
	}
	beating, stop := context.WithCancel(ctx)
	defer stop()
	answers := make(chan bool, 1) // room for the one beat under way: it ends also without a receiver
	timer := time.NewTimer(0)
	defer timer.Stop()

	look := max(l.cfg.Margin/4, 5*time.Millisecond) // timers stand still while the host sleeps
	due := sent.Add(l.jitter(l.cfg.Every))
	flying := false
	var steps stepper
	for {
		if ctx.Err() != nil {
			l.end(context.Cause(ctx))
		}
		now, left := l.remaining()
		if left <= 0 {
			break
		}
		if steps.stepped(now, l.clock.wall(), l.cfg.tolerance()) {
			due = now
		}
		if !flying && !now.Before(due) {
			flying = true
			go l.attempt(beating, answers)
		}
		wait := min(left, look)
		if !flying {
			wait = min(wait, due.Sub(now))
		}
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
		case <-l.ctx.Done():
		case renewed := <-answers:
			flying = false
			due = l.next(renewed)
		}
	}

	stop()
	if flying {
		timer.Reset(l.cfg.Margin)
		select {
		case <-answers:
		case <-timer.C:
		}
	}
	cause := context.Cause(l.ctx)
	if errors.Is(cause, ErrExpired) || errors.Is(cause, ErrLost) {
		return cause
	}
	return ctx.Err()
}

// Begun returns a channel that is closed when trust has begun, which is the first thing that Keep
// does. A caller that starts Keep in a goroutine and needs Valid right away waits for this channel,
// and for Context, which ends when Keep refuses.
func (l *Lease) Begun() <-chan struct{} { return l.begun }

// Context returns a context that ends when trust ends. Its cause is ErrExpired, ErrLost (or an
// error that wraps it) or the cause of Keep's context. Whatever only the holder may do is done
// under it.
func (l *Lease) Context() context.Context { return l.ctx }

// Valid reports whether the holder may act now. It reads the clock itself and ends Context when D
// has passed, so it is right even when the timer is late, as just after a sleep of the host. It
// returns false before Keep has begun.
func (l *Lease) Valid() bool {
	_, left := l.remaining()
	return left > 0
}

// Deadline returns D on the monotonic clock: trust ends there unless a beat moves D on. After the
// end it is the instant at which trust ended. Before Keep has begun it is zero.
func (l *Lease) Deadline() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.deadline.IsZero() {
		return time.Time{}
	}
	l.now() // takes in how long the host has slept
	return l.deadline.Add(-l.slept)
}

// LastLate returns when this holder's own beats were last late; the zero time means never. A beat
// is late if it failed, or if its reply came more than TTL/4 after it was sent. Any time at which
// the last success was sent more than Every + TTL/4 ago counts as late too. A holder whose own
// beats are late must not be sure of the silence of others: see Judge.Late.
func (l *Lease) LastLate() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.renewed.IsZero() {
		l.noteGap(l.now())
	}
	return l.late
}

// begin checks sent and sets the first deadline.
func (l *Lease) begin(sent time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.kept {
		return errKept
	}
	l.kept = true
	if sent.Before(l.made) || sent.After(l.clock.now()) {
		l.cancel(errSent)
		return errSent
	}
	// On the scale of now, sent is this instant or later, by what the host slept since New. A
	// deadline that is too early harms nobody.
	l.renewed = sent
	l.deadline = sent.Add(l.cfg.TTL - l.cfg.Margin)
	close(l.begun)
	return nil
}

// attempt runs one beat, in its own goroutine. It records the result itself, at the instant of the
// reply: Keep may be busy, and D must not pass meanwhile.
func (l *Lease) attempt(ctx context.Context, answers chan<- bool) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.answerTime())
	defer cancel()
	l.mu.Lock()
	sent := l.now()
	l.mu.Unlock()
	err := l.beat(ctx)
	l.answered(sent, err)
	answers <- err == nil
}

// answered moves D, or ends the lease. A reply at D or later is too late, also before any timer.
func (l *Lease) answered(sent time.Time, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	l.noteGap(now)
	if err != nil || now.Sub(sent) > l.cfg.answerTime() {
		l.late = l.clock.now()
	}
	switch {
	case l.ctx.Err() != nil:
	case !now.Before(l.deadline):
		l.cancel(ErrExpired)
	case errors.Is(err, ErrLost):
		l.deadline = now
		l.cancel(err)
	case err == nil: // one beat at a time: sent only rises, and D with it
		l.renewed = sent
		l.deadline = sent.Add(l.cfg.TTL - l.cfg.Margin)
	}
}

// next returns when the next beat is due. After a success it counts from when the last one was
// sent, so that slow replies do not slow the pace. After a failure it counts from now, and is at
// least a few milliseconds away.
func (l *Lease) next(renewed bool) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if renewed {
		return l.renewed.Add(l.jitter(l.cfg.Every))
	}
	return l.now().Add(max(l.jitter(l.cfg.Every/4), 5*time.Millisecond))
}

// remaining returns the clock's reading and how far D is away: zero or less when trust has ended or
// not begun. It ends a lease whose D has passed. The D of a lease that ended earlier is the instant
// of its end.
func (l *Lease) remaining() (now time.Time, left time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now = l.now()
	if l.deadline.IsZero() {
		return now, 0
	}
	if !now.Before(l.deadline) {
		l.cancel(ErrExpired)
	}
	return now, l.deadline.Sub(now)
}

// end ends the lease before its deadline.
func (l *Lease) end(cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx.Err() != nil {
		return
	}
	if now := l.now(); now.Before(l.deadline) {
		l.deadline = now
	} else {
		cause = ErrExpired // it had ended already, but nobody had looked
	}
	l.cancel(cause)
}

// noteGap marks the beats as late when the last success lies too far back. The caller holds mu.
func (l *Lease) noteGap(now time.Time) {
	if now.Sub(l.renewed) > l.cfg.Every+l.cfg.answerTime() {
		l.late = l.clock.now()
	}
}

// now returns the time on the clock that measures trust: the monotonic one, advanced by what the
// host has slept since the lease was made. It never falls. It counts sleep in whole milliseconds,
// because two clocks cannot be read at one instant. The caller holds mu.
func (l *Lease) now() time.Time {
	if total, known := l.clock.slept(); known {
		l.slept = max(l.slept, (total - l.base).Truncate(time.Millisecond))
	}
	return l.clock.now().Add(l.slept)
}

// jitter shortens d by up to a twentieth. It never lengthens d: what was checked is d itself.
func (l *Lease) jitter(d time.Duration) time.Duration {
	return d - time.Duration(l.clock.dice()*float64(d)/20)
}
