package heartbeat

import (
	"sync"
	"time"
)

// Judge is the peers' side of a heartbeat: it decides when a silent holder may be declared dead. It
// starts no goroutine and does no I/O; its owner passes in what it learns. All methods may be
// called by any goroutine.
//
// For each look at the mesh the owner calls Server and Sample with what came with the replies, then
// Late with its own lease's LastLate, and then Round with the contents of the replies. In this
// order a step of the server's clock casts doubt on the very look that it falsified. Replies to the
// owner's own beats are samples too.
//
// # Why a verdict is safe
//
// What a holder promises (Lease): it stops at s + TTL - Margin at the latest, where s lies before
// its last good beat was sent. What the server promises: a beat executed at x >= s keeps the
// heartbeat until the server's clock has advanced by TTL; a beat never creates a heartbeat anew;
// and ids are never used again. So a holder that was absent once is absent for ever, and each of
// its good beats lies before the instant at which it was first seen absent.
//
// In doubt only our own monotonic clock is used. The holder was absent at y at the latest, y being
// when we noted it: so s <= y, and it stopped by y + TTL - Margin. We declare it dead at y + TTL or
// later, after another look. Whatever the server's clock did changes nothing in this. Margin is
// left for the drift of the two hosts and for the return of the holder's handlers. If our host
// slept, or our process stood still, we only waited longer.
//
// Without doubt the server's clock stands for ours. The samples of at least the last TTL agree
// within Margin/4. If x lies before the first of them, more than TTL has passed since x by our own
// clock. Otherwise one sample, a, came before x, and another one, n, came with the reply that the
// holder is absent. From x to n the server's clock advanced by at least TTL. From a to n it
// advanced by at most what ours did plus Margin/4. From a to x it advanced by at least what ours
// did less Margin/4. So by our clock at least TTL - Margin/2 passed from x to n. The holder stopped
// by x + TTL - Margin; half of Margin is left for drift and return.
//
// The caller has to ensure that whoever was seen absent stays absent. A server that only hides what
// has expired has to delete it when it is looked at, before the server's clock can step back. A
// server that took another's place has another run id (see Server).
//
// A judge does not see three things. The first is a server's clock that steps back and forth again
// between two samples, so within Every + TTL/4, with a beat in between. The second is a server that
// goes on replying to the holder after another one took its place. The third is a holder's host
// that slept where heartbeat cannot know it. Against these, and against a holder that pauses
// between a look at its lease and the act, only a fencing token at the place of the effect helps.
type Judge struct {
	ttl       time.Duration
	tolerance time.Duration
	gap       time.Duration    // the longest allowed between two samples
	now       func() time.Time // monotonic
	made      time.Time

	mu         sync.Mutex
	until      time.Time // doubt lasts until here
	run        string
	last       time.Time            // when the last usable sample was taken in
	seen, past span                 // samples of the current stretch of TTL, and of the one before
	noted      map[string]time.Time // when an id not to be judged at once was first seen absent
}

// NewJudge returns a judge. It is in doubt until TTL after its first sample, because before that it
// has seen nothing. The error is that of cfg.WithDefaults, which wraps ErrConfig.
func NewJudge(cfg Config) (*Judge, error) { return newJudge(cfg, time.Now) }

func newJudge(cfg Config, now func() time.Time) (*Judge, error) {
	cfg, err := cfg.WithDefaults()
	if err != nil {
		return nil, err
	}
	return &Judge{ttl: cfg.TTL, tolerance: cfg.tolerance(), gap: cfg.Every + cfg.answerTime(), now: now, made: now()}, nil
}

// Sample takes in one reading of the server's clock. sent and received are monotonic instants
// before the request was sent and after its reply arrived. server is what the server's clock showed
// in between, counted from its epoch.
//
// The server's clock has to advance as ours does. Between two samples it advanced by server2 -
// server1, and ours by at least sent2 - received1 and at most received2 - sent1. More than Margin/4
// outside these bounds causes doubt: one of the two clocks stepped, or our host slept. Each sample
// is compared with every sample of at least the last TTL, not only with the last one, so that many
// small steps are noticed too.
//
// A reply that took longer than Margin/4 also causes doubt, on purpose: it is too inexact a reading
// of the clock, and a judge with slow replies should not be quick to judge. So does the first
// sample after more than Every + TTL/4 without one: in such a gap the clock can have stepped there
// and back.
func (j *Judge) Sample(sent, received time.Time, server time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := j.now()
	// The server's clock is ahead of the time since made by at least low and at most high. Two
	// samples disagree exactly when the larger low lies too far above the smaller high, whichever
	// of the two came first.
	s := span{since: now, low: server - received.Sub(j.made), high: server - sent.Sub(j.made)}
	if s.width() > j.tolerance {
		j.doubt(now)
		return // too inexact to compare others with
	}
	if now.Sub(j.last) > j.gap { // true for the first sample too
		j.doubt(now)
	}
	j.last = now
	switch all := s.join(j.seen).join(j.past); {
	case j.seen.empty():
		j.seen = s
	case all.width() > j.tolerance:
		j.doubt(now)
		j.seen, j.past = s, span{} // once doubt has ended, the clock is trusted as it is now
	case now.Sub(j.seen.since) >= j.ttl:
		j.seen, j.past = s, j.seen // two stretches, so that slow drift over hours does not add up
	default:
		j.seen = j.seen.join(s)
	}
}

// Server takes in the run id of the server that replied. A run id other than the last causes doubt:
// the server may have restarted, or be a replica that never saw the last beats. The notes are then
// dropped, because a replica may list a holder again that was absent before. An empty id is unknown
// and counts as unchanged.
func (j *Judge) Server(runID string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if runID == "" {
		return
	}
	if j.run != "" && j.run != runID {
		j.doubt(j.now())
		j.noted = nil
	}
	j.run = runID
}

// Late takes in when the judge's own beats were last late (Lease.LastLate). A judge that could not
// reach the server in time must not conclude anything from the silence of others. The zero time
// means never.
func (j *Judge) Late(at time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !at.IsZero() {
		j.doubt(at)
	}
}

// InDoubt reports whether a Round now would only take notes. Doubt lasts for TTL after its last
// cause. A judge in doubt leaves the round to others if it can. If it has to do the round itself,
// it does: its notes become verdicts TTL later.
func (j *Judge) InDoubt() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.inDoubt(j.now())
}

// Absent is a holder that is registered and has no heartbeat.
type Absent struct {
	ID string
	// ByHand: an operator took the heartbeat away, and the holder may still trust in its lease.
	// Such a holder is always judged as in doubt.
	ByHand bool
}

// Round takes in one complete look at the mesh: how many holders are registered, and which of them
// have no heartbeat (each once). It returns the ids of the dead. A look that failed half way is no
// round: it would drop the notes of the holders that it did not reach.
//
// More than half absent, of three or more, causes doubt: it is likelier that the server lost
// heartbeats than that so many died at once. Without doubt an absent holder is dead at once. In
// doubt, or ByHand, it is noted. It is dead in the first round at least TTL later that still finds
// it absent, also when doubt has ended meanwhile. A holder that is no longer absent is forgotten. A
// dead holder is returned by each round until it is no longer registered.
func (j *Judge) Round(total int, absent []Absent) (dead []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := j.now()
	if total >= 3 && 2*len(absent) > total {
		j.doubt(now)
	}
	doubt := j.inDoubt(now)
	noted := make(map[string]time.Time, len(absent))
	for _, a := range absent {
		since, known := j.noted[a.ID]
		switch {
		case known:
			noted[a.ID] = since
			if now.Sub(since) >= j.ttl {
				dead = append(dead, a.ID)
			}
		case doubt || a.ByHand:
			noted[a.ID] = now
		default:
			dead = append(dead, a.ID)
		}
	}
	j.noted = noted
	return dead
}

// Soonest returns how long it is until a noted holder can first be declared dead. A round at that
// time saves the wait for the next regular one. Zero means that no holder is waiting for its
// verdict.
func (j *Judge) Soonest() time.Duration {
	j.mu.Lock()
	defer j.mu.Unlock()
	now, soonest := j.now(), time.Duration(0)
	for _, since := range j.noted {
		if left := j.ttl - now.Sub(since); left > 0 && (soonest == 0 || left < soonest) {
			soonest = left
		}
	}
	return soonest
}

// Due reports whether a noted holder can be declared dead by now. If so, this judge has to run a
// round, whoever runs the others.
func (j *Judge) Due() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := j.now()
	for _, since := range j.noted {
		if now.Sub(since) >= j.ttl {
			return true
		}
	}
	return false
}

// doubt sets a cause of doubt. A cause earlier than the last changes nothing. The caller holds mu.
func (j *Judge) doubt(cause time.Time) {
	if until := cause.Add(j.ttl); until.After(j.until) {
		j.until = until
	}
}

// inDoubt reports whether there is doubt at now. The caller holds mu.
func (j *Judge) inDoubt(now time.Time) bool {
	return j.seen.empty() || now.Before(j.until)
}

// span holds the bounds, from a stretch of samples, on how far the server's clock is ahead of ours.
type span struct {
	since     time.Time     // when its first sample was taken in; zero: it has none
	low, high time.Duration // the lowest lower bound and the highest upper bound
}

func (s span) empty() bool          { return s.since.IsZero() }
func (s span) width() time.Duration { return s.high - s.low }

// join widens s by o and keeps the start of s.
func (s span) join(o span) span {
	if !o.empty() {
		s.low, s.high = min(s.low, o.low), max(s.high, o.high)
	}
	return s
}
