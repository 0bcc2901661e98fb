package model

import (
	"math"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"pgregory.net/rapid"
)

// sequential makes a history of operations one after another, each by another client.
func sequential(ops ...porcupine.Operation) []porcupine.Operation {
	for i := range ops {
		ops[i].ClientId, ops[i].Call, ops[i].Return = i%clients, int64(10*i), int64(10*i+5)
	}
	return ops
}

func op(c call, r reply) porcupine.Operation { return porcupine.Operation{Input: c, Output: r} }

func enqueued(tasks string) porcupine.Operation {
	return op(call{verb: enqueues, tasks: tasks}, reply{})
}

func took(owner byte, task string, token int64) porcupine.Operation {
	return op(call{verb: takes, owner: owner}, reply{done: true, task: task[0], token: token})
}

func did(v verb, owner byte, task string, done bool) porcupine.Operation {
	return op(call{verb: v, owner: owner, tasks: task}, reply{done: done})
}

func saw(waiting, inHand string) porcupine.Operation {
	return op(call{verb: reads}, reply{state: shelf{waiting: waiting, inHand: inHand}})
}

// The checker refuses what a queue must not do, each beside what it must.
func TestTheCheckerTellsRightFromWrong(t *testing.T) {
	for name, c := range map[string]struct{ right, wrong []porcupine.Operation }{
		"the front is taken first": {
			sequential(enqueued("ab"), took(1, "a", 1), took(2, "b", 2)),
			sequential(enqueued("ab"), took(1, "b", 1), took(2, "a", 2)),
		},
		"a task is taken once": {
			sequential(enqueued("ab"), took(1, "a", 1), took(2, "b", 2)),
			sequential(enqueued("ab"), took(1, "a", 1), took(2, "a", 2)),
		},
		"a queue with tasks is not empty": {
			sequential(enqueued("a"), took(1, "a", 1), op(call{verb: takes, owner: 2}, reply{})),
			sequential(enqueued("a"), op(call{verb: takes, owner: 2}, reply{}), took(1, "a", 1)),
		},
		"tokens rise": {
			sequential(enqueued("ab"), took(1, "a", 7), took(2, "b", 8)),
			sequential(enqueued("ab"), took(1, "a", 8), took(2, "b", 7)),
		},
		"a finish is true once": {
			sequential(enqueued("a"), took(1, "a", 1), did(finishes, 1, "a", true), did(finishes, 1, "a", false)),
			sequential(enqueued("a"), took(1, "a", 1), did(finishes, 1, "a", true), did(finishes, 1, "a", true)),
		},
		"a finished task does not come back": {
			sequential(enqueued("a"), took(1, "a", 1), did(finishes, 1, "a", true), saw("", "")),
			sequential(enqueued("a"), took(1, "a", 1), did(finishes, 1, "a", true), saw("a", "")),
		},
		"a stopped task is taken next": {
			sequential(enqueued("ab"), took(1, "a", 1), did(stops, 1, "a", true), took(2, "a", 2)),
			sequential(enqueued("ab"), took(1, "a", 1), did(stops, 1, "a", true), took(2, "b", 2)),
		},
		"one that is stopped to the back is taken last": {
			sequential(enqueued("ab"), took(1, "a", 1), did(rotates, 1, "a", true), saw("ba", "")),
			sequential(enqueued("ab"), took(1, "a", 1), did(rotates, 1, "a", true), saw("ab", "")),
		},
		"a cancel leaves no waiting copy": {
			sequential(enqueued("ab"), did(cancels, 0, "a", true), took(1, "b", 1)),
			sequential(enqueued("ab"), did(cancels, 0, "a", true), took(1, "a", 1)),
		},
		"a cancel tells what waited": {
			sequential(enqueued("a"), took(1, "a", 1), did(cancels, 0, "a", false)),
			sequential(enqueued("a"), took(1, "a", 1), did(cancels, 0, "a", true)),
		},
		"a canceled task that is stopped does not come back": {
			sequential(enqueued("a"), took(1, "a", 1), did(cancels, 0, "a", false), did(stops, 1, "a", true), saw("", "")),
			sequential(enqueued("a"), took(1, "a", 1), did(cancels, 0, "a", false), did(stops, 1, "a", true), saw("a", "")),
		},
		"what a worker held comes back in its order": {
			sequential(enqueued("abc"), took(1, "a", 1), took(1, "b", 2), did(fails, 1, "", false), saw("abc", "")),
			sequential(enqueued("abc"), took(1, "a", 1), took(1, "b", 2), did(fails, 1, "", false), saw("bac", "")),
		},
		"what others hold does not": {
			sequential(enqueued("ab"), took(1, "a", 1), took(2, "b", 2), did(fails, 1, "", false), saw("a", "\x02b ")),
			sequential(enqueued("ab"), took(1, "a", 1), took(2, "b", 2), did(fails, 1, "", false), saw("ab", "")),
		},
		"nor what was canceled": {
			sequential(enqueued("a"), took(1, "a", 1), did(cancels, 0, "a", false), did(fails, 1, "", false), saw("", "")),
			sequential(enqueued("a"), took(1, "a", 1), did(cancels, 0, "a", false), did(fails, 1, "", false), saw("a", "")),
		},
		"nothing is lost": {
			sequential(enqueued("ab"), took(1, "a", 1), saw("b", "\x01a ")),
			sequential(enqueued("ab"), took(1, "a", 1), saw("", "\x01a ")),
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := verdict(ranked(c.right)); got != porcupine.Ok {
				t.Errorf("the right one is %s", got)
			}
			if got := verdict(ranked(c.wrong)); got != porcupine.Illegal {
				t.Errorf("the wrong one is %s", got)
			}
		})
	}
}

// What was not answered may have happened or not; never by halves, and never twice.
func TestAnUnknownOutcomeMayBeEither(t *testing.T) {
	enqueue := op(call{verb: enqueues, tasks: "ab"}, reply{unknown: true})
	finish := op(call{verb: finishes, owner: 1, tasks: "a"}, reply{unknown: true})
	stop := op(call{verb: stops, owner: 1, tasks: "a"}, reply{unknown: true})
	taken := func(next ...porcupine.Operation) []porcupine.Operation {
		return sequential(append([]porcupine.Operation{enqueued("a"), took(1, "a", 1)}, next...)...)
	}
	for name, c := range map[string]struct {
		known   []porcupine.Operation
		unknown porcupine.Operation
		want    porcupine.CheckResult
	}{
		"stored":             {sequential(saw("ab", "")), enqueue, porcupine.Ok},
		"not stored":         {sequential(saw("", "")), enqueue, porcupine.Ok},
		"stored late":        {sequential(saw("", ""), took(1, "a", 1)), enqueue, porcupine.Ok},
		"half stored":        {sequential(saw("a", "")), enqueue, porcupine.Illegal},
		"stored twice":       {sequential(saw("abab", "")), enqueue, porcupine.Illegal},
		"stored and gone":    {sequential(saw("ab", ""), saw("", "")), enqueue, porcupine.Illegal},
		"finished":           {taken(saw("", "")), finish, porcupine.Ok},
		"not finished":       {taken(saw("", "\x01a ")), finish, porcupine.Ok},
		"finished, or not":   {taken(did(fails, 1, "", false), saw("a", "")), finish, porcupine.Ok},
		"finished, and back": {taken(saw("", ""), did(fails, 1, "", false), saw("a", "")), finish, porcupine.Illegal},
		"stopped":            {taken(saw("a", "")), stop, porcupine.Ok},
		"not stopped":        {taken(saw("", "\x01a ")), stop, porcupine.Ok},
		"stopped and lost":   {taken(saw("", "")), stop, porcupine.Illegal},
	} {
		c.unknown.ClientId, c.unknown.Return = clients, math.MaxInt64
		if got := verdict(ranked(append(c.known, c.unknown))); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// The ranks that speed the checker up change no verdict: on short histories it comes to the same
// without them, on right ones and on ones with a false answer.
func TestRanksChangeNoVerdict(t *testing.T) {
	seen := newTally()
	defer func() { seen.want(t, true, string(porcupine.Ok), string(porcupine.Illegal)) }()
	for range 40 {
		rapid.Check(t, sameVerdict(seen))
	}
}

func sameVerdict(seen *tally) func(*rapid.T) {
	return func(rt *rapid.T) {
		history := simulated(rt)
		plain := verdict(history)
		seen.add(string(plain), 1)
		if got := verdict(ranked(history)); got != plain {
			for _, o := range history {
				rt.Logf("[%d, %d] %s", o.Call, o.Return, queueSpec.DescribeOperation(o.Input, o.Output))
			}
			rt.Fatalf("with ranks %s, without %s", got, plain)
		}
	}
}

func verdict(history []porcupine.Operation) porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(queueSpec, history, time.Minute)
}

// simulated is a history of a plain queue whose operations overlap, and whose answers may be false.
func simulated(rt *rapid.T) (history []porcupine.Operation) {
	var s shelf
	tasks, token := byte('a'), int64(0)
	for i := range 3 + number.Draw(rt, "length")%6 {
		n := number.Draw(rt, "what")
		var c call
		var r reply
		switch kind := n % 8; {
		case kind < 3:
			c = call{verb: enqueues, tasks: string([]byte{tasks})}
			tasks++
		case kind < 5:
			c = call{verb: takes, owner: byte(1 + n/8%2)}
			if s.waiting != "" {
				token++
				r = reply{done: true, task: s.waiting[0], token: token}
			}
		case kind == 5 && s.waiting != "":
			c, r = call{verb: cancels, tasks: s.waiting[len(s.waiting)-1:]}, reply{done: true}
		case kind < 8 && s.inHand != "":
			c = call{verb: pick([]verb{finishes, stops, rotates, fails}, n/8), owner: s.inHand[0], tasks: s.inHand[1:2]}
			r = reply{done: true}
		default:
			c = call{verb: takes, owner: 1}
			if s.waiting != "" {
				token++
				r = reply{done: true, task: s.waiting[0], token: token}
			}
		}
		_, s = s.step(c, r)
		early, late := int64(number.Draw(rt, "early")%25), int64(number.Draw(rt, "late")%25)
		o := op(c, r)
		o.ClientId, o.Call, o.Return = i, int64(10*i)-early, int64(10*i)+late
		history = append(history, o)
	}
	if number.Draw(rt, "false")%2 == 0 {
		at := number.Draw(rt, "at") % len(history)
		r := history[at].Output.(reply)
		r.done = !r.done
		if r.done && r.task == 0 {
			r.task, r.token = 'a', token+1
		}
		history[at].Output = r
	}
	read := saw(s.waiting, "")
	hand := []byte(s.inHand)
	for i := 2; i < len(hand); i += 3 {
		hand[i] = ' '
	}
	read.Output = reply{state: shelf{waiting: s.waiting, inHand: string(hand)}}
	read.ClientId, read.Call, read.Return = len(history), 1000, 1001
	return append(history, read)
}
