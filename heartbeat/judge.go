package heartbeat

import (
	"sync"
	"time"
)

// Judge is the peers' side of a heartbeat: when may a silent one be taken for dead? It holds no
// goroutine and does no I/O; its owner feeds it what it learns. All methods may be called by any
// goroutine.
//
// For each look at the mesh the owner calls Server and Sample with what came with the answers, Late
// with its own lease's LastLate, and then Round with what the answers said: so a step of the
// server's clock casts doubt on the very look that it falsified. Answers to its own beats are
// samples too.
//
// # Why a verdict is safe
//
// What a holder promises (Lease): it stops at s + TTL - Margin at the latest, s being before its
// last good beat was sent. What the server promises: a beat executed at x >= s keeps the heartbeat
// until its clock has advanced by TTL, a beat never makes one anew, and ids are never used again.
// So whoever was absent once is absent for ever, and every good beat of his lies before the instant
// at which he was first seen absent.
//
// In doubt only our own monotonic clock is used. He was absent at y at the latest, y being when we
// noted it: so s <= y, and he stopped by y + TTL - Margin. We say so at y + TTL or later, having
// looked again. Whatever the server's clock did changes nothing in this. Margin is left for the two
// hosts' drift and for his handlers' return. If our host slept, or our process stood still, we only
// waited longer.
//
// Without doubt the server's clock stands for ours. The samples of the last TTL and more agree
// within Margin/4. If x lies before the first of them, more than TTL has passed since x by our own
// clock. Otherwise a sample a came before x and another one, n, with the answer that he is absent.
// From x to n the server's clock advanced by TTL at least, from a to n by no more than ours did and
// Margin/4, and from a to x by no less than ours did less Margin/4: so by ours TTL - Margin/2
// passed from x to n at least. He stopped by x + TTL - Margin; half of Margin is left for drift and
// return.
//
// The caller's part in it: who was seen absent stays absent. A server that only hides what has
// expired has to delete it when it is looked at, before its clock can step back; a server that took
// another's place has another run id (Server).
//
// What this does not see: a server's clock that steps back and forth again between two samples, so
// within Every + TTL/4, with a beat in between; a server that goes on answering the holder after
// another one took its place; a holder's host that slept where heartbeat cannot know it. Against
// these, and against a holder that pauses between looking at its lease and acting, only a fencing
// token at the place of the effect helps.
type Judge struct {
	ttl       time.Duration
	tolerance time.Duration
	gap       time.Duration    // the longest between two samples
	now       func() time.Time // monotonic
	made      time.Time

	mu         sync.Mutex
	until      time.Time // doubt lasts until here
	run        string
	last       time.Time            // when the last sample that measures was taken in
	seen, past span                 // samples of the current stretch of TTL, and of the one before
	noted      map[string]time.Time // when an id that may not be judged at once was first seen absent
}

// NewJudge makes a judge. It is in doubt until TTL after its first sample: before that it has seen
// nothing. The error is that of cfg.WithDefaults, which wraps ErrConfig.
func NewJudge(cfg Config) (*Judge, error) { return newJudge(cfg, time.Now) }

func newJudge(cfg Config, now func() time.Time) (*Judge, error) {
	cfg, err := cfg.WithDefaults()
	if err != nil {
		return nil, err
	}
	return &Judge{ttl: cfg.TTL, tolerance: cfg.tolerance(), gap: cfg.Every + cfg.answerTime(), now: now, made: now()}, nil
}

// Sample takes in one reading of the server's clock: sent and received are monotonic instants
// before the request was sent and after its answer arrived, server is what the server's clock
// showed in between, counted from its epoch.
//
// The server's clock has to advance as ours does. Between two samples it advanced by server2 -
// server1, and ours by sent2 - received1 at least and received2 - sent1 at most. More than Margin/4
// outside of these bounds is doubt: one of the two clocks stepped, or our host slept. It is tested
// against every sample of the last TTL and more, not only against the last one, so that many small
// steps do not pass for none. An answer that took longer than Margin/4 is doubt too, and intended:
// it says too little about the clock, and whoever gets slow answers should not be quick to judge.
// So is the first sample after more than Every + TTL/4 without one: in such a gap the clock can
// have stepped there and back.
func (j *Judge) Sample(sent, received time.Time, server time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := j.now()
	// By so much the server's clock is ahead of the time since made, at least and at most. Two
	// samples disagree exactly when the highest at most and the lowest at least lie too far apart,
	// whichever of the two came first.
	s := span{since: now, low: server - received.Sub(j.made), high: server - sent.Sub(j.made)}
	if s.width() > j.tolerance {
		j.doubt(now)
		return // it is no measure for others
	}
	if now.Sub(j.last) > j.gap { // as it is for the first sample
		j.doubt(now)
	}
	j.last = now
	switch all := s.join(j.seen).join(j.past); {
	case j.seen.empty():
		j.seen = s
	case all.width() > j.tolerance:
		j.doubt(now)
		j.seen, j.past = s, span{} // from here on the clock is trusted as it is now, when doubt has ended
	case now.Sub(j.seen.since) >= j.ttl:
		j.seen, j.past = s, j.seen // two stretches, so that slow drift over hours does not add up
	default:
		j.seen = j.seen.join(s)
	}
}

// Server takes in which run of the server answered. Another one than before is doubt: it may have
// restarted, or be a replica that never saw the last beats. Notes are dropped then: a replica may
// list again who was absent before. Empty is unknown and counts as unchanged.
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

// Late takes in when the judge's own beats were late (Lease.LastLate): whoever could not reach the
// server in time must not conclude from the silence of others. Zero is never.
func (j *Judge) Late(at time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !at.IsZero() {
		j.doubt(at)
	}
}

// InDoubt says whether a Round now would only take note. Doubt lasts TTL from its last cause. Who
// can leave rounds to others does so in doubt; who has to do one does it: its notes are verdicts
// TTL later.
func (j *Judge) InDoubt() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.inDoubt(j.now())
}

// Absent is one who is registered and has no heartbeat.
type Absent struct {
	ID string
	// ByHand: an operator took the heartbeat away, and the holder may still trust in it. Always
	// judged as in doubt.
	ByHand bool
}

// Round takes in one complete look at the mesh, how many are registered and which of them have no
// heartbeat (each once), and answers who is dead. A look that failed half way is no round: it would
// drop the notes of those it did not reach.
//
// More than half absent, of three or more, is doubt: rather the server lost heartbeats than so many
// died at once. Without doubt an absent one is dead at once. In doubt, or ByHand, it is noted, and
// dead in the first round at least TTL later that still finds it absent; that holds for a noted one
// also when doubt has ended meanwhile. Whoever is not absent any more is forgotten. A dead one is
// answered in each round until it is no longer registered.
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

// Soonest is how long it is until a noted one can be judged dead for the first time: a round then
// saves the wait for the next one. Zero: none is noted that is not judged.
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

// Due says whether a noted one can be judged dead by now: a round is wanted from this judge,
// whoever does the others.
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

// doubt sets a cause of doubt; an earlier one than the last changes nothing. The caller holds mu.
func (j *Judge) doubt(cause time.Time) {
	if until := cause.Add(j.ttl); until.After(j.until) {
		j.until = until
	}
}

// inDoubt: the caller holds mu.
func (j *Judge) inDoubt(now time.Time) bool {
	return j.seen.empty() || now.Before(j.until)
}

// span is what a stretch of samples says about how far the server's clock is ahead of ours.
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
