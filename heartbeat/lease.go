package heartbeat

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Beat is one attempt to renew the lease, with no retries inside: Lease tries again itself, and
// measures trust from before the attempt. Nil: renewed. An error that wraps ErrLost: the lease is
// gone for ever. Any other error: not known, which changes nothing. Its context, a child of Keep's,
// ends after TTL/4, and when the lease ends; a Beat must then return: there is never more than one,
// so while one hangs no other can renew.
type Beat func(ctx context.Context) error

// Lease is the holder's side of a heartbeat: how long the holder may act on a lease that only the
// server can confirm. All methods may be called by any goroutine.
//
// Trust reaches to the deadline D = s + TTL - Margin, s being the instant before the last beat that
// was answered in time was sent. A timer ends it there, whatever the network does. Time in which
// the host slept counts, where it is known.
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

// New makes a lease and starts nothing. Make it before the join is sent: a sleep of the host is
// seen from here on. The error wraps ErrConfig.
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

// Keep renews the lease about every Every (up to a twentieth sooner) until trust in it ends, and
// says why: ErrExpired, an error that wraps ErrLost, or ctx's error. The lease's context has then
// ended. sent is the monotonic instant before the join was sent, which the server has answered; the
// first deadline is sent + TTL - Margin.
//
// A beat that failed is tried again after Every/4. A step of the wall clock triggers a beat at once
// and nothing else.
//
// A lease is kept once: a second call returns an error and leaves the first alone. A sent that lies
// before New or in the future is refused with an error, and the lease ends.
//
// Each beat runs in a goroutine of its own, so that a hung one cannot hold up the end of trust.
// When trust ends, Keep ends the context of the beat under way and waits for it, so that it leaves
// nothing running. It does so for Margin at most: a Beat that breaks its contract and ignores its
// context is then left behind, its answer is thrown away. To wait for it without end would let one
// hung call keep its daemon out of the mesh.
func (l *Lease) Keep(ctx context.Context, sent time.Time) error {
	if err := l.begin(sent); err != nil {
		return err
	}
	beating, stop := context.WithCancel(ctx)
	defer stop()
	answers := make(chan bool, 1) // room for the one beat under way, so that it ends even when nobody listens any more
	timer := time.NewTimer(0)
	defer timer.Stop()

	look := max(l.cfg.Margin/4, 5*time.Millisecond) // timers stand still while the host sleeps: look often
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

// Begun is closed when trust has begun, which is the first thing that Keep does. Who starts Keep in
// a goroutine and depends on Valid right away waits for it, and for Context, which ends when Keep
// refuses.
func (l *Lease) Begun() <-chan struct{} { return l.begun }

// Context ends when trust ends, with the cause ErrExpired, ErrLost (or what wraps it) or the cause
// of Keep's context. What may be done only by the holder is done under it.
func (l *Lease) Context() context.Context { return l.ctx }

// Valid says whether the holder may act now. It reads the clock itself and ends Context when D has
// passed: so it is right even when the timer is not, as just after a sleep of the host. Before Keep
// has begun it is false.
func (l *Lease) Valid() bool {
	_, left := l.remaining()
	return left > 0
}

// Deadline is D on the monotonic clock: trust ends there unless a beat moves it on. After the end
// it is the instant at which trust ended; before Keep has begun it is zero.
func (l *Lease) Deadline() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.deadline.IsZero() {
		return time.Time{}
	}
	l.now() // takes in what the host has slept
	return l.deadline.Add(-l.slept)
}

// LastLate is when this holder's own beats were last late; zero: never. Late is a beat that failed,
// one that was answered later than TTL/4 after it was sent, and any time at which the last success
// was sent more than Every + TTL/4 ago. Whose own beats are late must not be sure of the silence of
// others: see Judge.Late.
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
	// On the scale of now, sent is this or later, by what the host slept since New: too early a
	// deadline harms nobody.
	l.renewed = sent
	l.deadline = sent.Add(l.cfg.TTL - l.cfg.Margin)
	close(l.begun)
	return nil
}

// attempt runs one beat, in its own goroutine. It books the answer itself, at the instant of the
// answer: Keep may be busy, and D must not pass meanwhile.
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

// answered moves D, or ends the lease. An answer that comes at D or later is too late, also when no
// timer has seen D yet.
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

// next is when the next beat is due. After a success it counts from when the last one was sent, so
// that slow answers do not slow the pace; after a failure from now, and never in less than a few
// milliseconds.
func (l *Lease) next(renewed bool) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if renewed {
		return l.renewed.Add(l.jitter(l.cfg.Every))
	}
	return l.now().Add(max(l.jitter(l.cfg.Every/4), 5*time.Millisecond))
}

// remaining answers the clock and how far D is away, zero or less when trust has ended or not
// begun. It ends a lease whose D has passed; of one that ended before, D is the instant of its end.
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

// end ends the lease before its time.
func (l *Lease) end(cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx.Err() != nil {
		return
	}
	if now := l.now(); now.Before(l.deadline) {
		l.deadline = now
	} else {
		cause = ErrExpired // it had ended already, only nobody had looked
	}
	l.cancel(cause)
}

// noteGap marks lateness when the last success lies too far back. The caller holds mu.
func (l *Lease) noteGap(now time.Time) {
	if now.Sub(l.renewed) > l.cfg.Every+l.cfg.answerTime() {
		l.late = l.clock.now()
	}
}

// now is the clock that trust is measured on: the monotonic one, advanced by what the host has
// slept since the lease was made. It never falls. Whole milliseconds, because two clocks cannot be
// read at one instant. The caller holds mu.
func (l *Lease) now() time.Time {
	if total, known := l.clock.slept(); known {
		l.slept = max(l.slept, (total - l.base).Truncate(time.Millisecond))
	}
	return l.clock.now().Add(l.slept)
}

// jitter shortens d by up to a twentieth: never longer, for the relations between durations are
// checked for d itself.
func (l *Lease) jitter(d time.Duration) time.Duration {
	return d - time.Duration(l.clock.dice()*float64(d)/20)
}
