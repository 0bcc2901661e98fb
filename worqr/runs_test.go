package worqr_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/redistest"
)

// A run says of each of its processes what would be said of it alone, whatever has become of the
// others.
func TestTheRunsOfASettle(t *testing.T) {
	t.Parallel()
	nothing := func(*bare, []drawn) {}
	for name, c := range map[string]struct {
		before  func(b *bare, all []drawn) // of tasks 0 to 9, which have the numbers 1 to 10
		settle  func(all []drawn) []string // runs
		words   string                     // answered
		waiting string                     // tasks then, the front first; w waits all the time
	}{
		"all of it": {nothing, func(all []drawn) []string { return []string{all[0].run(10, "finish")} },
			strings.Repeat("done ", 10), "w"},
		"one of it has ended": {func(b *bare, all []drawn) { b.settle(all[4].to("finish")) },
			func(all []drawn) []string { return []string{all[3].run(3, "finish")} }, "done gone done", "w"},
		"the first has ended": {func(b *bare, all []drawn) { b.settle(all[0].to("back")) },
			func(all []drawn) []string { return []string{all[0].run(3, "finish")} }, "gone done done", "w 0"},
		"all have ended": {func(b *bare, all []drawn) { b.settle(all[0].run(10, "finish")) },
			func(all []drawn) []string { return []string{all[0].run(10, "back")} }, strings.Repeat("gone ", 10), "w"},
		"to the front": {nothing, func(all []drawn) []string { return []string{all[2].run(4, "front")} },
			"done done done done", "2 3 4 5 w"},
		"two to the front": {nothing,
			func(all []drawn) []string { return []string{all[2].run(2, "front"), all[5].run(3, "front")} },
			"done done done done done", "5 6 7 2 3 w"},
		"to the front, with a gap": {func(b *bare, all []drawn) { b.settle(all[3].to("finish")) },
			func(all []drawn) []string { return []string{all[2].run(3, "front")} }, "done gone done", "2 4 w"},
		"to the back": {nothing, func(all []drawn) []string { return []string{all[2].run(3, "back")} },
			"done done done", "w 2 3 4"},
		"beyond the last": {nothing, func(all []drawn) []string { return []string{all[8].run(4, "finish")} },
			"done done gone gone", "w"},
		"from before the first": {nothing,
			func(all []drawn) []string { return []string{drawn{0, all[0].token - 1, ""}.run(3, "front")} },
			"gone done done", "0 1 w"},
		"other tokens": {nothing,
			func(all []drawn) []string { return []string{drawn{1, all[1].token, ""}.run(5, "finish")} },
			"gone gone gone gone gone", "w"},
		"runs that overlap": {nothing,
			func(all []drawn) []string { return []string{all[0].run(4, "finish"), all[2].run(4, "back")} },
			"done done done done gone gone done done", "w 4 5"},
		"one is canceled": {func(b *bare, all []drawn) { b.run("cancel", all[3].task, "0") },
			func(all []drawn) []string { return []string{all[2].run(3, "front"), all[6].run(2, "finish")} },
			"done dropped done done done", "2 4 w"},
		"the task of one was removed by hand": {func(b *bare, all []drawn) { b.do("DEL", b.key("process:W.1.3")) },
			func(all []drawn) []string { return []string{all[0].run(5, "finish")} }, "done done gone done done", "w"},
		"that of the first": {func(b *bare, all []drawn) { b.do("DEL", b.key("process:W.1.1")) },
			func(all []drawn) []string { return []string{all[0].run(3, "finish")} }, "gone done done", "w"},
		"nothing": {nothing, func(all []drawn) []string { return []string{all[0].run(0, "finish"), all[0].to("finish")} },
			"done", "w"},
	} {
		for _, listens := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				b := bareAt(t, redistest.Shared(t).Conn(t))
				b.enqueue("0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "w")
				_, _, all := b.take(1, 10)
				c.before(b, all)
				var e *ear
				if listens {
					e = listen(t, redistest.Shared(t), redis.PubSubConn.Subscribe, b.channel())
				}
				runs, words := c.settle(all), strings.Fields(c.words)
				want(t, "words", b.settle(runs...), words)
				want(t, "waiting", b.waiting(), strings.Fields(c.waiting))
				told, ended := b.meant(runs, words, all)
				if listens {
					want(t, "heard", e.heard(b), told)
				}
				for _, n := range ended {
					if there, err := redis.Int(b.do("EXISTS", b.key("process:W.1."+n)), nil); err != nil || there > 0 {
						t.Errorf("process %s has ended and is there, %v", n, err)
					}
				}
				listed, err := redis.Strings(b.do("ZRANGE", b.key("processes:W.1"), 0, -1), nil)
				if err != nil {
					t.Fatal(err)
				}
				for _, n := range ended {
					if slices.Contains(listed, n) {
						t.Errorf("process %s has ended and is listed", n)
					}
				}
				want(t, "a second copy", b.settle(runs...), slices.Repeat([]string{"gone"}, len(words)))
			})
		}
	}
}

// meant returns what a listener is told by these words, and the numbers that have ended.
func (b *bare) meant(runs, words []string, all []drawn) (told, ended []string) {
	b.Helper()
	for run := range slices.Chunk(strings.Fields(strings.Join(runs, " ")), 4) {
		for i := range b.integer(run[2]) {
			n := b.integer(run[0]) + i
			if words[0] == "done" && run[3] == "finish" {
				told = append(told, b.told(all[n-1]))
			}
			if words[0] != "gone" {
				ended = append(ended, strconv.FormatInt(n, 10))
			}
			words = words[1:]
		}
	}
	return told, ended
}
