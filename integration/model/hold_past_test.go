package model

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/worqr/worqr-go/worqr"
)

// judgeAll holds what each new hold found against the hold before it, and looks at those that go on
// beside each other.
func (c *crew) judgeAll() {
	c.ledger.mu.Lock()
	defer c.ledger.mu.Unlock()
	var fresh []*turn
	pairs := map[[2]string][]*turn{}
	for _, t := range c.ledger.turns {
		if !t.judged {
			t.judged = true
			fresh = append(fresh, t)
		}
		if t.isOn() && t.p.Valid() {
			key := [2]string{t.queue, t.task}
			pairs[key] = append(pairs[key], t)
		}
	}
	slices.SortFunc(fresh, func(a, b *turn) int { return cmp.Compare(a.p.Token(), b.p.Token()) })
	loose := map[*tale]bool{}
	for _, t := range fresh {
		tale := c.rolls[t.queue].tale(t.task)
		loose[tale] = loose[tale] || tale.loose
		if what := c.judge(tale, t, loose[tale]); what != "" {
			c.ledger.wrong = append(c.ledger.wrong, fmt.Sprintf("%s: %s", t, what))
		}
	}
	for _, q := range c.rolls { // what was written by now, the next holds find
		for _, tale := range q.tales {
			tale.floor = max(tale.floor, tale.kept.number)
		}
	}
	for _, list := range pairs {
		if what := c.tooMany(list); what != "" {
			c.ledger.wrong = append(c.ledger.wrong, what)
		}
	}
}

// tooMany says what is wrong with those that hold one task now, in the order of their begins. With
// MakeBeforeBreak two may for a lapse, and until the holder before has heard of it.
func (c *crew) tooMany(list []*turn) string {
	if len(list) < 2 {
		return ""
	}
	c.tally.add("two held a task as it moved", 1)
	since := c.world.now().Sub(list[1].began)
	most := c.world.worker.Lapse + 3*c.world.worker.Beat
	if !c.terms.overlap || len(list) > 2 || since > most && c.world.virtual {
		return fmt.Sprintf("%d hold a task at once, for %v: %v", len(list), since, list)
	}
	return ""
}

// judge says what is wrong with what a hold has found, or "".
func (c *crew) judge(tale *tale, t *turn, loose bool) string {
	past, before, fresh := t.past, tale.last, tale.fresh
	tale.fresh, tale.loose, tale.last = false, false, t
	floor := tale.floor
	tale.floor = max(tale.floor, t.from)
	c.tally.add("a hold after "+cmp.Or(string(past.Why), "nothing"), 1)
	if before != nil && t.p.Token() <= before.p.Token() {
		return fmt.Sprintf("its token is not above that of %s", before)
	}
	if loose {
		return ""
	}
	first := past.Why == worqr.ReasonFirst && past.Token == 0
	unseen := past.Token > 0 && (before == nil || past.Token > before.p.Token()) // a hold that never began
	switch {
	case first && !fresh:
		return "it should have a past"
	case fresh && t.from > 0:
		return "its checkpoint is from before the task was added"
	case first:
		return ""
	case unseen:
		c.tally.add("a hold that never began", 1)
	case fresh:
		return "its past is from before the task was added"
	case past.Token < before.p.Token():
		return fmt.Sprintf("its past passes over %s", before)
	default:
		if what := c.after(tale, before, t); what != "" {
			return what + ": " + before.String()
		}
	}
	if t.from < floor {
		return fmt.Sprintf("a checkpoint %d was written before", floor)
	}
	return ""
}

// after says what is wrong with a hold that followed another one directly.
func (c *crew) after(tale *tale, before, t *turn) string {
	var allowed []worqr.Reason
	given := true // its holder gave it away, and lived on
	switch {
	case before.ended.IsZero():
		given = false
	case before.order == returns || before.order == breaks:
		allowed = append(allowed, worqr.ReasonReturned)
	case before.order == givesUp:
		allowed = append(allowed, worqr.ReasonHandover)
	case errors.Is(before.cause, worqr.ErrStopping):
		allowed = append(allowed, worqr.ReasonDrain)
	case errors.Is(before.cause, worqr.ErrHandover):
		allowed = append(allowed, worqr.ReasonRebalance)
	case errors.Is(before.cause, worqr.ErrFenced): // its presence was lost
		given = false
		allowed = append(allowed, worqr.ReasonDrain, worqr.ReasonDeath)
	}
	if before.lost || before.dead {
		given = false
		allowed = append(allowed, worqr.ReasonDeath)
	}
	if c.terms.overlap { // it was offered, whatever its holder did then
		allowed = append(allowed, worqr.ReasonRebalance)
	}
	if !slices.Contains(allowed, t.past.Why) {
		return fmt.Sprintf("its reason should be one of %q", allowed)
	}
	if t.past.Why == worqr.ReasonDeath {
		c.tally.add("a hold after a death within a lapse", fastOne(before, t, c.world.worker.Lapse-c.world.worker.Beat*3/2))
	}
	if given && !c.terms.overlap && t.from < max(before.saved, before.from) {
		return fmt.Sprintf("checkpoint %d was written before the task was given away", max(before.saved, before.from))
	}
	return c.waited(tale, before, t)
}

// fastOne is 1 when a hold began soon after a death.
func fastOne(before, t *turn, within time.Duration) int {
	if !before.died.IsZero() && t.began.Sub(before.died) < within {
		return 1
	}
	return 0
}

// healthy is how long a hold lasts that has no failures behind it.
const healthy = time.Minute

// waited reports whether what came back by a return has waited too short for that.
func (c *crew) waited(tale *tale, before, t *turn) string {
	if !before.ended.IsZero() && before.ended.Sub(before.began) > healthy {
		tale.fails = 0
	}
	if t.past.Why != worqr.ReasonReturned {
		return ""
	}
	tale.fails++
	least := min(100*time.Millisecond<<min(tale.fails-1, 20), 30*time.Second)
	if c.world.virtual && t.began.Sub(before.ended) < least {
		return fmt.Sprintf("it began %v after the %dth return, want %v", t.began.Sub(before.ended), tale.fails, least)
	}
	return ""
}
