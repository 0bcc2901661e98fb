//go:build linux

package faults

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/worqr/worqr-go/worqr"
)

// judge reads the holds of a task one after the other, and finds violations. It reports each
// finding once.
type judge struct {
	takeover worqr.Takeover
	margin   time.Duration
	known    map[string]bool

	lapses, quick int           // takeovers after a lapse; those within a lapse of the deadline
	planned       int           // hand-overs
	least         time.Duration // between a deadline and the next begin
	any           bool
}

// finding is a violation.
type finding struct {
	overlap bool
	task    int
	what    string
}

// look judges all holds of a mesh so far.
func (j *judge) look(holds []hold) []finding {
	by := map[int][]hold{}
	for _, h := range holds {
		by[h.task] = append(by[h.task], h)
	}
	var found []finding
	for _, task := range slices.Sorted(mapKeys(by)) {
		list := by[task]
		slices.SortFunc(list, func(a, b hold) int { return cmp.Compare(a.token, b.token) })
		for i, h := range list[1:] {
			found = append(found, j.pair(list[i], h)...)
		}
	}
	return found
}

// pair judges two holds of a task that follow each other.
func (j *judge) pair(old, next hold) (found []finding) {
	key := fmt.Sprintf("%d %d %d", next.task, old.token, next.token)
	if j.known[key] {
		return nil
	}
	j.known[key] = true
	find := func(overlap bool, format string, args ...any) {
		found = append(found, finding{overlap, next.task, fmt.Sprintf("t%d: ", next.task) + fmt.Sprintf(format, args...) +
			fmt.Sprintf("\n\t%s\n\t%s", old, next)})
	}
	left := old.end != 0 && old.cause != "lapsed" && old.cause != "fenced" && old.cause != "gone" // by itself
	given := next.why != "death" && next.before == old.token
	after := next.start - old.deadline
	switch {
	case old.done:
		find(false, "held again after it was finished")
	case next.token == old.token:
		find(true, "two holds with one token")
	case next.start <= old.claim:
		find(true, "held twice for %v", old.claim-next.start)
	case next.worker == old.worker && (old.end == 0 || old.end > next.start):
		find(true, "begun while the handler of the hold before had not returned")
	case next.before >= next.token:
		find(false, "its token %d is not above the one before, %d", next.token, next.before)
	case given && (old.end == 0 || old.end > next.start) && after < j.margin/2: // else it lapsed meanwhile
		find(true, "given away, and the next began before it had stopped")
	case given && left && old.end <= next.start:
		j.planned++
	case left && (old.end <= next.start || after >= j.margin/2):
		// it had stopped, or had to stop, before the next began
	case j.takeover == worqr.TakeoverFast && (next.why == "death" || old.end != 0 && old.end <= next.start):
		j.lapses++ // also the end of its connection ends a hold: no more is asked than that no two claim
	case after < j.margin/2:
		find(true, "taken over %v after the deadline, half the margin is %v", after, j.margin/2)
	default:
		j.lapses++
		if after < 5*j.margin { // nobody was in doubt: in doubt a lapse passes first
			j.quick++
		}
		if !j.any || after < j.least {
			j.any, j.least = true, after
		}
	}
	// A checkpoint is written with the next beat, if there is one, and before the task is given
	// away. When a task is canceled and added again, its checkpoint goes with it: then the next
	// hold is a first one, or came after one that never began.
	if next.before == old.token && (next.from < old.from || given && left && !old.excused && next.from < old.acked) {
		find(false, "it came with checkpoint %d", next.from)
	}
	return found
}

func (h hold) String() string {
	end := "has not ended"
	if h.end != 0 {
		end = fmt.Sprintf("ended %v: %s", ms(h.end), h.cause)
	}
	return fmt.Sprintf("%s %s token %d (%s after %d, checkpoint %d): from %v, claimed until %v, deadline %v, %s, wrote %d", h.worker,
		h.process, h.token, cmp.Or(h.why, "first"), h.before, h.from, ms(h.start), ms(h.claim), ms(h.deadline), end, h.acked)
}

// ms formats a stamp.
func ms(at time.Duration) string {
	return fmt.Sprintf("%.3f", float64(at%(1000*time.Second))/float64(time.Millisecond))
}
