package worqr_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/redistest"
)

// A take that is repeated over numbers of which some have ended answers the others as they were,
// and draws only for the numbers above the last block.
func TestARepeatedTakeAnswersWhatItsNumbersHold(t *testing.T) {
	t.Parallel()
	b := bareAt(t, redistest.Shared(t).Conn(t))
	b.enqueue(numbered("t", 10)...)
	state, runs, all := b.take(1, 10)
	if state != "OK" || runs != fmt.Sprintf("1 %d 10", all[0].token) {
		t.Fatalf("the first take: %s %q, want one run of 10", state, runs)
	}
	b.agrees(all)
	want(t, "settle", b.settle(all[1].to("finish"), all[4].to("front"), all[9].to("back")), []string{"done", "done", "done"})
	held := slices.Concat(all[:1], all[2:4], all[5:9]) // 1, 3, 4, 6, 7, 8, 9

	before := snapshot(t, b.c, b.ns)
	state, _, again := b.take(1, 10)
	want(t, "repeated", again, held)
	if _, _, some := b.take(4, 3); !slices.Equal(some, []drawn{all[3], all[5]}) {
		t.Errorf("numbers 4 to 6 hold %v", some)
	}
	if _, runs, none := b.take(2, 1); runs != "" || none != nil {
		t.Errorf("number 2 holds %q %v, and it has ended", runs, none)
	}
	want(t, "changed", differences(before, snapshot(t, b.c, b.ns)), nil)
	if state != "OK" {
		t.Errorf("a repeated take answered %s", state)
	}

	state, _, more := b.take(8, 5) // 8 and 9 are held, 10 has ended, 11 and 12 are new
	want(t, "numbers of a block that is half new", numbers(more), []int64{8, 9, 11, 12})
	want(t, "tasks of it", tasksOf(more), []string{all[7].task, all[8].task, all[4].task, all[9].task})
	want(t, "those held before", more[:2], held[5:])
	if state != "OK" || more[2].token <= all[9].token || more[3].token != more[2].token+1 {
		t.Errorf("%s, tokens %v after %d", state, more, all[9].token)
	}
	b.agrees(append(held, more[2:]...))
}

// A number whose key was written by hand strands nothing: what it would have had comes under
// another one, in order, or goes on waiting.
func TestATakeOverKeysThatWereWrittenByHand(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		strings, lists []int   // numbers that are in the way
		numbers        []int64 // that have a task then
		state          string
	}{
		"at the beginning":   {[]int{1}, nil, []int64{2, 3, 4, 5, 6}, "MORE"},
		"in between":         {[]int{2, 4}, nil, []int64{1, 3, 5, 6}, "MORE"},
		"at the end":         {[]int{5, 6}, nil, []int64{1, 2, 3, 4}, "MORE"},
		"the number behind":  {[]int{7}, nil, []int64{1, 2, 3, 4, 5, 6}, "MORE"},
		"only one is left":   {[]int{1, 2, 3, 5, 6}, nil, []int64{4}, "MORE"},
		"every number":       {[]int{1, 2, 3, 4, 5, 6}, nil, nil, "MORE"},
		"a list":             {nil, []int{3}, []int64{1, 2, 3, 4, 5, 6}, "MORE"},
		"lists and a string": {[]int{4}, []int{1, 3, 6}, []int64{1, 2, 3, 5, 6}, "MORE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := bareAt(t, redistest.Shared(t).Conn(t))
			tasks := numbered("t", 8)
			b.enqueue(tasks...)
			for _, n := range c.strings {
				b.do("SET", b.key(fmt.Sprintf("process:W.1.%d", n)), "foreign")
			}
			for _, n := range c.lists {
				b.do("RPUSH", b.key(fmt.Sprintf("process:W.1.%d", n)), "foreign")
			}
			state, _, list := b.take(1, 6)
			want(t, "numbers", numbers(list), c.numbers)
			want(t, "taken", tasksOf(list), tasks[:len(list)])
			want(t, "waiting", b.waiting(), tasks[len(list):])
			if state != c.state {
				t.Errorf("it answered %s, want %s", state, c.state)
			}
			b.agrees(list)
			for i := 1; i < len(list); i++ {
				if list[i].token <= list[i-1].token {
					t.Errorf("tokens do not rise: %v", list)
				}
			}
			for i, d := range slices.Backward(list) { // back again, in two ways
				want(t, "settle", b.settle(d.to("front")), []string{"done"})
				want(t, "waiting", b.waiting(), tasks[i:])
			}
			b.agrees(nil)
			var rest []string
			for first, state := 7, "MORE"; state == "MORE"; first += 20 { // a number that is in the way costs its task a turn
				var more []drawn
				state, _, more = b.take(first, 20)
				rest = append(rest, tasksOf(more)...)
			}
			want(t, "taken in the end", rest, tasks)
		})
	}
}

// Redis is told numbers in digits, however round they are: 100000000 is not 1e+8, which nobody
// would find again.
func TestRoundNumbersOfProcesses(t *testing.T) {
	t.Parallel()
	b := bareAt(t, redistest.Shared(t).Conn(t))
	for _, first := range []int{99_999_999, 1_000_000_000, 2_000_000_000_000} {
		b.enqueue("a", "b", "c")
		_, _, list := b.take(first, 3)
		want(t, "taken", tasksOf(list), []string{"a", "b", "c"})
		b.agrees(list)
		_, _, again := b.take(first, 3)
		want(t, "repeated", again, list)
		want(t, "settle", b.settle(list[0].to("finish"), list[1].to("finish"), list[2].to("finish")), []string{"done", "done", "done"})
	}
	b.agrees(nil)
}

// A settle of 500 with every outcome, mixed: each word says what has come of it, whether somebody
// hears of what is done or nobody does.
func TestASettleOfManyOutcomes(t *testing.T) {
	t.Parallel()
	for name, heard := range map[string]bool{"nobody listens": false, "somebody listens": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := bareAt(t, redistest.Shared(t).Conn(t))
			var ears []*ear
			if heard {
				ears = []*ear{listen(t, redistest.Shared(t), redis.PubSubConn.Subscribe, b.channel())}
			}
			b.settlesMany(ears)
		})
	}
}

func (b *bare) settlesMany(ears []*ear) {
	b.enqueue(numbered("t", 450)...)
	_, _, all := b.take(1, 450)
	canceled, inHand := map[string]bool{}, map[int64]drawn{}
	for i, d := range all {
		if inHand[d.number] = d; i%40 == 0 || i%40 == 7 {
			b.run("cancel", d.task, "0")
			canceled[d.task] = true
		}
	}
	var named, words, front, back, told []string
	add := func(d drawn, outcome string) {
		named = append(named, d.to(outcome))
		word := "done"
		switch {
		case inHand[d.number].token != d.token:
			words = append(words, "gone")
			return
		case outcome == "finish":
			told = append(told, b.told(d))
		case canceled[d.task]:
			word = "dropped"
		case outcome == "front":
			front = slices.Insert(front, 0, d.task)
		default:
			back = append(back, d.task)
		}
		words = append(words, word)
		delete(inHand, d.number)
	}
	for i, d := range all {
		switch i % 8 {
		case 0, 3:
			add(d, "finish")
		case 1:
			add(d, "front")
		case 2, 7:
			add(d, "back")
		case 4:
			add(drawn{d.number, d.token + 1, ""}, "finish") // not its token
		case 5:
			add(drawn{1000 + d.number, d.token, ""}, "front") // never taken
		} // 6 stays
	}
	for i := 0; len(named) < 500; i++ { // once more, with the same outcome or another one
		add(all[i], []string{"finish", "front", "back"}[i%3])
	}
	want(b, "words", b.settle(named...), words)
	for _, word := range []string{"done", "gone", "dropped"} {
		if !slices.Contains(words, word) {
			b.Errorf("nothing of it is %s", word)
		}
	}
	want(b, "waiting", b.waiting(), slices.Concat(front, back))
	all = slices.DeleteFunc(all, func(d drawn) bool { return inHand[d.number] != d })
	b.agrees(all)
	if n := len(keysOf(b, b.c, b.ns)); n != 5+len(all) { // tasks, workers, processes, token, cancels
		b.Errorf("%d keys are left, want 5 and %d processes", n, len(all))
	}
	for _, e := range ears {
		want(b, "heard", e.heard(b), told)
	}
	before := snapshot(b, b.c, b.ns)
	want(b, "a second copy", b.settle(named...), slices.Repeat([]string{"gone"}, len(named)))
	want(b, "changed by it", differences(before, snapshot(b, b.c, b.ns)), nil)
}
