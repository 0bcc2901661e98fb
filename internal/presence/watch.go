package presence

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// WatchConfig configures a judge. The zero value works.
type WatchConfig struct {
	// Self is the judge's own worker. A judge that the server does not count itself concludes
	// nothing from the absence of others.
	Self string
	// Every is the longest time from one look to the next. Default 100 ms, at most half of Grace.
	Every time.Duration
	// Grace is how long a worker has to be missed. Default and minimum: JudgeGrace.
	Grace time.Duration
}

// Row is what one look shows of one worker.
type Row struct {
	ID          string
	Subscribers int
	// Ends is when its heartbeat ends by the server's clock, in microseconds; 0: it has none.
	Ends int64
	// Appeared: the server has counted its subscription before, as somebody recorded. So a judge
	// that is new to the task may suspect it too.
	Appeared bool
}

// Suspect is a worker that is missed.
type Suspect struct {
	ID    string
	Ends  int64     // as in the look that began the suspicion: any other value is a beat since then
	Since time.Time // when the reply of that look had arrived
}

// Findings are the results of one look, sorted by id.
type Findings struct {
	Suspects []Suspect // all that are missed
	// Dead are those of the suspects that peers may take over from. A worker stays among them until
	// it is seen again or Taken. A peer that takes over asks the server about both facts once more,
	// in one step: that nobody is subscribed, and that Ends is the same.
	Dead  []Suspect
	Doubt string        // why this look started each suspicion again; "": it did not
	Next  time.Duration // the next look should come after this
}

// beatStep is by how much Ends has to move to count as a beat: scripts know it only to a few
// milliseconds.
const beatStep = 5 * time.Millisecond

// Watch is the judge. It is pure: one goroutine passes the looks to it, in their order, and reads
// the clock.
type Watch struct {
	cfg     WatchConfig
	workers map[string]*watched
	last    time.Time // when the reply of the last look had arrived
}

// watched is what is known of a worker that the looks list.
type watched struct {
	known bool // it was subscribed once; Taken takes that back
	taken bool // not to be suspected until it is subscribed again
	since time.Time
	ends  int64
}

func (w *watched) missed() bool { return !w.since.IsZero() }

// NewWatch returns a judge. The error wraps ErrConfig.
func NewWatch(cfg WatchConfig) (*Watch, error) {
	if cfg.Grace == 0 {
		cfg.Grace = JudgeGrace
	}
	if cfg.Every == 0 {
		cfg.Every = 100 * time.Millisecond
	}
	switch {
	case cfg.Grace < JudgeGrace:
		return nil, fmt.Errorf("%w: Grace %v of the judge is below %v", ErrConfig, cfg.Grace, JudgeGrace)
	case cfg.Every < 0 || cfg.Every > cfg.Grace/2:
		return nil, fmt.Errorf("%w: Every %v is not in 0..%v, half of Grace", ErrConfig, cfg.Every, cfg.Grace/2)
	}
	return &Watch{cfg: cfg, workers: map[string]*watched{}}, nil
}

// Look takes in one complete look at all workers. sent and received are monotonic instants before
// the request was sent and after its reply arrived. A worker that is not listed is forgotten.
//
// A worker that was subscribed once and is not now is missed, since the arrival of the reply. It is
// dead in the first look that is sent at least Grace later, if each look in between missed it too
// and its heartbeat has not moved.
func (w *Watch) Look(sent, received time.Time, rows []Row) Findings {
	listed := make(map[string]*watched, len(rows))
	var selfMissed bool
	for _, row := range rows {
		one := w.workers[row.ID]
		if one == nil {
			one = &watched{}
		}
		one.see(row, received)
		listed[row.ID] = one
		selfMissed = selfMissed || row.ID == w.cfg.Self && one.missed()
	}
	w.workers = listed

	f := Findings{Doubt: w.doubt(sent, received, selfMissed), Next: w.cfg.Every}
	for _, id := range slices.Sorted(maps.Keys(listed)) {
		one := listed[id]
		if !one.missed() {
			continue
		}
		if f.Doubt != "" {
			one.since = received
		}
		s := Suspect{id, one.ends, one.since}
		f.Suspects = append(f.Suspects, s)
		if left := w.cfg.Grace - sent.Sub(one.since); left <= 0 && f.Doubt == "" {
			f.Dead = append(f.Dead, s)
		} else {
			f.Next = min(f.Next, max(0, w.cfg.Grace-received.Sub(one.since)))
		}
	}
	w.last = received
	return f
}

// Taken is called when all of a worker's processes that may be taken over were. The worker is not
// suspected again before it is subscribed.
func (w *Watch) Taken(id string) {
	if one := w.workers[id]; one != nil {
		*one = watched{taken: true}
	}
}

// see takes in a row.
func (w *watched) see(row Row, received time.Time) {
	if row.Subscribers > 0 {
		*w = watched{known: true}
		return
	}
	w.known = w.known || row.Appeared && !w.taken
	moved := row.Ends != 0 && (time.Duration(row.Ends-w.ends)*time.Microsecond).Abs() > beatStep
	if w.known && (!w.missed() || moved) {
		w.since, w.ends = received, row.Ends
	}
}

// doubt returns why this look proves nothing against those it misses, or "".
func (w *Watch) doubt(sent, received time.Time, selfMissed bool) string {
	known, missed := 0, 0
	for _, one := range w.workers {
		if one.known {
			known++
		}
		if one.missed() {
			missed++
		}
	}
	late := w.cfg.Grace / 2
	switch {
	case missed == 0:
		return ""
	case selfMissed:
		return "the server does not count the judge either"
	case known >= 3 && 2*missed > known:
		return fmt.Sprintf("%d of %d are missed at once", missed, known)
	case !w.last.IsZero() && sent.Sub(w.last) > w.cfg.Every+late:
		return fmt.Sprintf("the look comes %v after the last one", sent.Sub(w.last).Round(time.Millisecond))
	case received.Sub(sent) > late:
		return fmt.Sprintf("the look took %v", received.Sub(sent).Round(time.Millisecond))
	}
	return ""
}
