package worqr_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/redistest"
)

// Who listens hears of each of a batch, in order, by whatever kind of subscription, and also when
// nobody did before.
func TestDoneEventsAreHeardInFull(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	b := bareAt(t, server.Conn(t))
	byName, byPattern := redis.PubSubConn.Subscribe, redis.PubSubConn.PSubscribe
	for _, listeners := range []func() []*ear{
		func() []*ear { return nil },
		func() []*ear { return []*ear{listen(t, server, byName, b.channel())} },
		func() []*ear { return []*ear{listen(t, server, byPattern, b.ns+"@0:*:done")} },
		func() []*ear { return nil },
		func() []*ear {
			return []*ear{listen(t, server, byPattern, b.ns+"*"), listen(t, server, byName, b.channel())}
		},
	} {
		ears := listeners()
		told := slices.Concat(b.finishes(1, false), b.finishes(100, false), b.finishes(100, true))
		for i, e := range ears {
			want(t, fmt.Sprintf("heard by %d of %d", i+1, len(ears)), e.heard(b), told)
			e.leave()
		}
	}
}

// finishes has n tasks taken and finished in one batch, as one run or as so many, and returns what
// a listener is told.
func (b *bare) finishes(n int, run bool) (told []string) {
	b.Helper()
	b.enqueue(slices.Repeat([]string{"a\ntask"}, n)...)
	_, _, list := b.take(b.next, n)
	var named []string
	for _, d := range list {
		named, told = append(named, d.to("finish")), append(told, b.told(d))
	}
	if run {
		named = []string{list[0].run(n, "finish")}
	}
	want(b, "words", b.settle(named...), slices.Repeat([]string{"done"}, n))
	return told
}

// What nobody hears is not said: the first publish of a batch finds that out, and no other is made.
func TestDoneEventsThatNobodyHears(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t)
	b := bareAt(t, server.Conn(t))
	listen(t, server, redis.PubSubConn.Subscribe, b.ns+"@0:other:done") // another queue's
	for _, n := range []int{1, 2, 100} {
		for _, run := range []bool{false, true} {
			before := b.published()
			b.finishes(n, run)
			if made := b.published() - before; made != 2 { // one by the enqueue
				t.Errorf("a batch of %d that nobody hears of made %d publishes, want 1; a run: %v", n, made-1, run)
			}
		}
	}
	b.agrees(nil)

	b.enqueue(numbered("t", 10)...)
	_, _, list := b.take(b.next, 10)
	b.settle(list[5].to("back"))
	before := b.published()
	b.settle(list[0].run(10, "finish"))
	if made := b.published() - before; made != 1 {
		t.Errorf("a run with a gap that nobody hears of made %d publishes, want 1", made)
	}
}

// published is how many publishes the server has run.
func (b *bare) published() int64 {
	b.Helper()
	stats, err := redis.String(b.do("INFO", "commandstats"), nil)
	if err != nil {
		b.Fatal(err)
	}
	_, stats, _ = strings.Cut(stats, "cmdstat_publish:calls=")
	calls, _, _ := strings.Cut(stats, ",")
	return b.integer("0" + calls)
}
