package worqr_test

import (
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
)

// scenario 116: the date at which the budget of moves is full lies an hour ahead, as Redis's clock
// went back by that. It is cut down when nothing can be drawn, too: so a joiner gets its share.
func TestPersistentMovesGoOnWhenTheBudgetLiesAhead(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.join("a")
	f.join("b")
	f.ready(2)
	enqueue(t, f.mesh, "q", numbered("t", 12)...)
	f.spread(12, "a", "b")
	policy := f.ns + ":{q}:policy"
	ahead := time.Now().Add(time.Hour).UnixMicro()
	if _, err := f.redis.Do("HSET", policy, "full", ahead); err != nil {
		t.Fatal(err)
	}
	f.join("c")
	f.spread(12, "a", "b", "c")
	if full, err := redis.Int64(f.redis.Do("HGET", policy, "full")); err != nil || full > ahead-time.Minute.Microseconds() {
		t.Errorf("full at %d, %v; want it cut down from %d", full, err, ahead)
	}
}
