package heartbeat

import (
	"slices"
	"testing"
	"time"
)

func TestRoundWithoutDoubt(t *testing.T) {
	b := calm(t)
	b.round(5, "[]")
	b.round(5, "[a]", "a")
	b.round(5, "[a b]", "a", "b") // a is returned until it is no longer registered
	b.round(1, "[c]", "c")        // a mesh of one, beside oneself
	b.round(0, "[]")
}

func TestMeshOfOneInDoubt(t *testing.T) {
	b := newBench(t) // it has only just started, and finds one that died before
	b.ask(0, 0)
	b.round(2, "[]", "gone")
	b.pass(3*time.Second - 1)
	b.round(2, "[]", "gone")
	b.advance(1)
	b.round(2, "[gone]", "gone")
	b.round(1, "[]")
}

func TestNoteOutlivesDoubt(t *testing.T) {
	b := newBench(t)
	b.pass(2 * time.Second)
	b.round(5, "[]", "a")
	b.pass(time.Second)
	b.round(5, "[b]", "a", "b") // doubt has ended; a has still not been absent for TTL
	b.pass(2 * time.Second)
	b.Late(b.at)                // and a new doubt
	b.round(5, "[a]", "a", "c") // does not put off what was noted TTL ago
	b.pass(3 * time.Second)
	b.round(5, "[c]", "c")
}

func TestByHand(t *testing.T) {
	b := calm(t)
	b.round(5, "[b]", "!a", "b")
	b.pass(2 * time.Second)
	b.round(5, "[]", "!a")
	b.pass(time.Second)
	b.round(5, "[a]", "!a")
}

// A replica that took over may list a holder again that was absent. What was noted at the old
// server does not count any more.
func TestAnotherRunDropsNotes(t *testing.T) {
	b := calm(t)
	b.round(5, "[]", "!a")
	b.pass(2 * time.Second)
	b.Server("run-2")
	b.round(5, "[]", "!a")
	b.pass(3*time.Second - 1)
	b.round(5, "[]", "!a")
	b.pass(1)
	b.round(5, "[a]", "!a")
}

func TestReturnedIsForgotten(t *testing.T) {
	b := calm(t)
	b.round(5, "[]", "!a", "!b")
	b.pass(2 * time.Second)
	b.round(5, "[]", "!b") // a is back
	if len(b.noted) != 1 {
		t.Errorf("%d notes", len(b.noted))
	}
	b.pass(time.Second)
	b.round(5, "[b]", "!a", "!b")
	b.pass(2 * time.Second)
	b.round(5, "[]", "!a")
	b.pass(time.Second)
	b.round(5, "[a]", "!a")
	b.round(5, "[]")
	if len(b.noted) != 0 {
		t.Errorf("%d notes", len(b.noted))
	}
}

// Three of five die at one instant. Every bound is counted from the first round that finds them
// absent.
func TestThreeOfFive(t *testing.T) {
	const interval = time.Second
	for _, offset := range []time.Duration{0, 1, 400 * ms, 999 * ms} { // of the rounds from the deaths
		b := calm(t)
		died := b.at // right after their beats: their heartbeats last for TTL
		b.pass(offset)
		for {
			var absent []Absent
			if b.at.Sub(died) >= 3*time.Second {
				absent = []Absent{{ID: "x"}, {ID: "y"}, {ID: "z"}}
			}
			dead := b.Round(5, absent)
			if took := b.at.Sub(died); len(dead) > 0 {
				if !slices.Equal(dead, []string{"x", "y", "z"}) || took > 2*3*time.Second+interval {
					t.Errorf("rounds off by %v: %v after %v", offset, dead, took)
				}
				break
			} else if took > time.Minute {
				t.Fatal("never recovered")
			}
			b.pass(interval)
		}
	}
}
