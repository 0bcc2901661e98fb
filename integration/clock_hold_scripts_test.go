package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/redistest"
)

// opens opens a membership.
func (s stepped) opens(t testing.TB, m string) {
	t.Helper()
	s.on(t, "open", m, s.on(t, "newest")[0], "1", "0", 1, 0)
}

// holds opens a membership, adds tasks and makes it take as many.
func (s stepped) holds(t testing.TB, m string, tasks ...string) {
	t.Helper()
	args := []any{""}
	for _, task := range tasks {
		args = append(args, task)
	}
	s.opens(t, m)
	s.on(t, "add", args...)
	if took := s.on(t, "hold_take", m, 1, len(tasks)); len(took) != 4+2*len(tasks) {
		t.Fatalf("took %q", took)
	}
}

// past returns what is kept of a task: why, token, returns, deaths.
func (s stepped) past(t testing.TB, task string) []string {
	t.Helper()
	all, err := redis.StringMap(s.conn.Do("HGETALL", s.key("past")))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(all[fingerprint(task)])
}

// tokenOf returns the token of a membership's only process.
func (s stepped) tokenOf(t testing.TB, m string) string {
	t.Helper()
	list, err := redis.Strings(s.conn.Do("ZRANGE", s.key("processes:"+m), 0, 0, "WITHSCORES"))
	if err != nil || len(list) != 2 {
		t.Fatalf("%v, %v", list, err)
	}
	return list[1]
}

// scenario 116: a task whose handler returned goes on at its time, and Locate agrees.
func TestADelayedTaskGoesOnAfterTheClockWentBack(t *testing.T) {
	steppedBack(t, func(t *testing.T, s stepped, by time.Duration) {
		s.holds(t, "w.1", "t1")
		s.on(t, "hold_settle", "w.1", "1 "+s.tokenOf(t, "w.1")+" 1 later")
		s.on(t, "hold_look", "w.1", 0, 0)
		s.clock.step(t, -by)
		took := s.on(t, "hold_take", "w.1", 2, 1)
		if len(took) == 4 {
			if left := took[3]; len(left) > 3 || left == "-1" {
				t.Errorf("it is due in %s ms, want 100 at most", left)
			}
			if at := s.on(t, "locate", "t1"); at[0] == "delayed" && len(at[3]) == 16 {
				if wait := time.Duration(num(t, at[3])-s.now(t).UnixMicro()) * time.Microsecond; wait > time.Second {
					t.Errorf("it is located %v from now", wait)
				}
			}
		}
		redistest.Eventually(t, soon, "it waits, or is held", func() bool {
			s.on(t, "hold_look", "w.1", 0, 0)
			return s.on(t, "locate", "t1")[0] != "delayed"
		})
		// what is delayed from now on has its time too, and the clock is forgotten with the last
		// task
		next := 3
		redistest.Eventually(t, soon, "it is held again", func() bool {
			s.on(t, "hold_take", "w.1", next, 1)
			next++
			return s.on(t, "locate", "t1")[0] == "held"
		})
		number, err := redis.Strings(s.conn.Do("ZRANGE", s.key("processes:w.1"), 0, 0))
		if err != nil {
			t.Fatal(err)
		}
		s.on(t, "hold_settle", "w.1", number[0]+" "+s.tokenOf(t, "w.1")+" 1 finish")
		if s.count(t, "EXISTS", s.key("clock")) == 1 {
			t.Error("the queue has no task, and a clock is kept")
		}
	})
}

// the same when the clock went on first: what was delayed meanwhile is not late by that
func TestADelayedTaskGoesOnAfterTheClockWentOnAndBack(t *testing.T) {
	steppedBack(t, func(t *testing.T, s stepped, by time.Duration) {
		s.holds(t, "w.1", "t1")
		s.clock.step(t, by)
		s.on(t, "hold_settle", "w.1", "1 "+s.tokenOf(t, "w.1")+" 1 later")
		s.on(t, "hold_look", "w.1", 0, 0)
		s.clock.step(t, -by)
		redistest.Eventually(t, soon, "it waits", func() bool {
			s.on(t, "hold_look", "w.1", 0, 0)
			return s.on(t, "locate", "t1")[0] == "waiting"
		})
	})
}

// scenario 116: a hold of a minute is older than the clock shows, and so is one that was taken
// since the step.
func TestAHoldOfAMinuteIsInnocentAfterTheClockWentBack(t *testing.T) {
	steppedBack(t, func(t *testing.T, s stepped, by time.Duration) {
		s.holds(t, "w.1", "t1")
		s.clock.step(t, time.Minute)
		s.on(t, "hold_look", "w.1", 0, 0)
		s.clock.step(t, -by)
		s.holds(t, "v.1", "t2")
		for _, m := range []string{"w.1", "v.1"} {
			s.on(t, "reclaim", m, 32, "death", 4000)
		}
		for _, task := range []string{"t1", "t2"} {
			if past := s.past(t, task); len(past) != 4 || past[0] != "death" || past[3] != "0" {
				t.Errorf("%s: %q, want a death that it is not blamed for", task, past)
			}
		}
		// When Redis's clock shows again what it showed, who dies early is blamed again.
		s.clock.step(t, by+2*time.Second)
		s.opens(t, "u.1")
		s.on(t, "add", "", "t3")
		s.on(t, "hold_take", "u.1", 1, 3)
		s.on(t, "reclaim", "u.1", 32, "death", 4000)
		if past := s.past(t, "t3"); len(past) != 4 || past[3] != "1" {
			t.Errorf("t3: %q, want one death", past)
		}
	})
}

// Nobody has looked since the hold began, but the last token lies ahead.
func TestNobodyIsBlamedWhileTheLastTokenIsAhead(t *testing.T) {
	steppedBack(t, func(t *testing.T, s stepped, by time.Duration) {
		s.holds(t, "w.1", "t1")
		if _, err := s.conn.Do("DEL", s.key("clock")); err != nil {
			t.Fatal(err)
		}
		s.clock.step(t, -by)
		s.on(t, "reclaim", "w.1", 32, "death", 4000)
		if past := s.past(t, "t1"); len(past) != 4 || past[3] != "0" {
			t.Errorf("%q, want no death", past)
		}
	})
}

// scenario 116: a membership that was opened before the step does not look as if it had joined in
// the future, and the claim of the round that plans moves ends.
func TestMembersHaveNotJoinedInTheFuture(t *testing.T) {
	steppedBack(t, func(t *testing.T, s stepped, by time.Duration) {
		s.holds(t, "w.1", "t1")
		s.set(t, s.key("round"), "dead.1", 800*time.Millisecond)
		s.clock.step(t, -by)
		if said := s.on(t, "hold_look", "w.1", 0, 800); said[3] != "" {
			t.Fatalf("%q, want that another has the round", said)
		}
		s.ends(t, s.key("round"), 800*time.Millisecond)
		var round []string
		redistest.Eventually(t, soon, "it has the round", func() bool {
			round = strings.Fields(s.on(t, "hold_look", "w.1", 0, 800)[3])
			return len(round) > 0
		})
		if opened := num(t, round[5]); opened > num(t, round[0]) {
			t.Errorf("opened %d us ahead of the clock", opened-num(t, round[0]))
		}
		kept, err := redis.String(s.conn.Do("HGET", s.key("shares"), "w.1"))
		if err != nil || num(t, strings.Fields(kept)[2]) > num(t, round[0]) {
			t.Errorf("%q is kept, %v", kept, err)
		}
	})
}

// scenario 116: one try at a time lasts for 0.3 s.
func TestATrialEndsAfterTheClockWentBack(t *testing.T) {
	steppedBack(t, func(t *testing.T, s stepped, by time.Duration) {
		s.opens(t, "w.1")
		s.on(t, "add", "", "t1")
		if _, err := s.conn.Do("HSET", s.key("past"), fingerprint("t1"), "death 1 0 2"); err != nil {
			t.Fatal(err)
		}
		s.set(t, s.key("trial:w.1"), "another", 300*time.Millisecond)
		s.clock.step(t, -by)
		s.on(t, "hold_take", "w.1", 1, 1)
		s.ends(t, s.key("trial:w.1"), 300*time.Millisecond)
	})
}

// scenario 116: turns of an upstream go on from where they were, as fast and no faster.
func TestTurnsGoOnAfterTheClockWentBack(t *testing.T) {
	steppedBack(t, func(t *testing.T, s stepped, by time.Duration) {
		const each = 20 * time.Second
		for range 3 {
			s.on(t, "admit", "upstream", each.Microseconds())
		}
		s.clock.step(t, -by)
		var waits []time.Duration
		for range 2 {
			waits = append(waits, time.Duration(num(t, s.on(t, "admit", "upstream", each.Microseconds())[0]))*time.Microsecond)
		}
		if waits[0] > 3*each || waits[0] < 2*each || waits[1]-waits[0] > each || waits[1]-waits[0] < each/2 {
			t.Errorf("the next turns are in %v; want them an interval apart, the first %v from now", waits, 3*each)
		}
		// A daemon of the revision before reads a number, to the microsecond.
		key := s.key("turn:" + fingerprint("upstream"))
		read, err := redis.Strings(s.conn.Do("EVAL", `local v = redis.call('GET', KEYS[1]) return {v, string.format('%.0f', tonumber(v))}`, 1, key))
		if err != nil || !strings.HasPrefix(read[0], read[1]+".") {
			t.Errorf("it reads %q, %v", read, err)
		}
		// And it writes that alone.
		ahead := fmt.Sprint(s.now(t).Add(by).UnixMicro())
		s.set(t, s.key("turn:"+fingerprint("old")), ahead, by)
		if wait := num(t, s.on(t, "admit", "old", each.Microseconds())[0]); time.Duration(wait)*time.Microsecond < by-each {
			t.Errorf("its turn is in %d us, want about %v", wait, by)
		}
	})
}

// nothing that ends was forgotten: what was present is left as it was found
func TestTheClockIsKeptOnlyWhileThereAreTasks(t *testing.T) {
	t.Parallel()
	clock := newClocked(t, buildClock(t))
	s := stepped{fieldAt(t, clock.Server), clock}
	s.holds(t, "w.1", "t1", "t2")
	s.on(t, "hold_look", "w.1", 0, 0)
	if s.count(t, "EXISTS", s.key("clock")) == 0 {
		t.Error("no clock is kept beside two tasks")
	}
	s.on(t, "reclaim", "w.1", 32, "drain")
	s.on(t, "delete", s.on(t, "newest")[0])
	keys, err := redis.Strings(s.conn.Do("KEYS", s.key("*")))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(keys)
	if slices.Contains(keys, s.key("clock")) {
		t.Errorf("left: %q", keys)
	}
}
