package main

import (
	"context"
	"fmt"
	"time"
)

// conclude prints the result, when all workers have ended. Its last line is the one that counts.
func (d *demo) conclude(ctx context.Context) error {
	r := d.books.judge(func(path string) (string, error) { return sumOf(ctx, path) })
	err := d.look(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return err
	}
	order, again, ordered := d.order()
	left := d.seen.waiting
	for _, held := range d.seen.hands {
		left += len(held)
	}

	say := func(what, format string, args ...any) { d.screen.say("%-20s"+format, append([]any{what}, args...)...) }
	d.screen.say("")
	say("files", "%d", r.files)
	say("verified", "%d, by sums that this process computed by itself", r.verified)
	say("wrong", "%d", r.wrong)
	say("lost", "%d", r.lost)
	say("left in the queue", "%d", left)
	say("finished twice", "%d", r.twice)
	say("taken again", "%d by peers; late finishes refused: %d", again, r.refused)
	for _, line := range order {
		say("order kept", "%s", line)
	}
	if running, ok := d.recovery(); ok {
		say("SIGKILL to running", "%.2f s until a peer had the first reclaimed task in hand (lapse %v)", running.Seconds(), lapse)
	}
	d.screen.say("verified %d of %d, lost %d, finished twice %d", r.verified, r.files, r.lost, r.twice)
	if r.verified < r.files || r.lost > 0 || r.twice > 0 || left > 0 || !ordered {
		return errWrong
	}
	return nil
}

// order reports for each victim whether its tasks came back to the front in their order, and how
// many did.
func (d *demo) order() (lines []string, again int, ok bool) {
	if d.struck.IsZero() {
		return []string{"NO: it never came half-way"}, 0, false
	}
	if other := d.others(); other != "" {
		return []string{"not judged: worker " + other + " has lapsed by itself, as this machine is very busy"}, 0, true
	}
	ok = true
	names := map[fate]string{killed: "killed", frozen: "frozen", thawed: "frozen"}
	for _, v := range d.victims {
		n, _, err := d.books.order(v, d.victims)
		again += n
		switch name := names[v.worker.fate]; {
		case err != nil:
			ok = false
			lines = append(lines, fmt.Sprintf("NO, %s worker: %v", name, err))
		case v.back.IsZero():
			ok = false
			lines = append(lines, fmt.Sprintf("NO, %s worker: no peer has told of reclaiming it", name))
		case n == 0:
			lines = append(lines, fmt.Sprintf("yes, the %s worker had nothing in hand", name))
		default:
			lines = append(lines, fmt.Sprintf("yes, what the %s worker held (%d) was taken next, in its order", name, n))
		}
	}
	return lines, again, ok
}

// others names a worker that lapsed although nobody struck it: then tasks came back that no victim
// had held.
func (d *demo) others() string {
	for _, p := range d.fleet {
		l, expected := d.books.ledger(p.number), 0
		if p.fate == thawed || p.fate == frozen {
			expected = 1
		}
		if l.lapses > expected {
			return short(l.life)
		}
	}
	return ""
}

// recovery is the time from SIGKILL until the first reclaimed task was in a peer's hands.
func (d *demo) recovery() (time.Duration, bool) {
	for _, v := range d.victims {
		if v.worker.fate == killed {
			_, first, _ := d.books.order(v, d.victims)
			return first.Sub(v.at), !first.IsZero()
		}
	}
	return 0, false
}
