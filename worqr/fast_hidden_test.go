package worqr_test

import (
	"errors"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// scenario 114: as long as the server hides who is present, the mode of a Fast queue is Strict;
// when it does so no more, it is Fast by itself, for one-shot and for persistent tasks. A queue
// that asks for Strict stays so.
func TestTakeoverIsFastWhenPresenceIsSeen(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t)
	c := server.Conn(t)
	may := func(right string) {
		if _, err := c.Do("ACL", "SETUSER", "default", right); err != nil {
			t.Fatal(err)
		}
	}
	m := openAt(t, server.URL(), worqr.Config{Namespace: "hidden"})
	may("-pubsub") // the command that counts subscriptions
	cfg := worqr.WorkerConfig{Queues: map[string]worqr.Queue{}}
	h := &holds{now: map[string]hold{}, before: map[string]int64{}}
	cfg.Queues["one-shot"] = worqr.Queue{Handler: h.handle("w")}
	cfg.Queues["persistent"] = worqr.Queue{Handler: h.handle("w"), Persistent: true, Takeover: worqr.TakeoverFast}
	cfg.Queues["strict"] = worqr.Queue{Handler: h.handle("w"), Persistent: true}
	w, err := m.NewWorker(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Takeover("one-shot"); !errors.Is(err, worqr.ErrNotStarted) {
		t.Errorf("before the start: %v", err)
	}
	if err := w.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Takeover("one-shot"); !errors.Is(err, worqr.ErrNotWorking) {
		t.Errorf("before StartWork: %v", err)
	}
	for name := range cfg.Queues {
		if err := w.StartWork(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	mode := func(queue string) worqr.Takeover {
		mode, err := w.Takeover(queue)
		if err != nil {
			t.Errorf("takeover of %s: %v", queue, err)
		}
		return mode
	}
	for name := range cfg.Queues {
		if got := mode(name); got != worqr.TakeoverStrict {
			t.Errorf("%s is %v although nobody sees the worker", name, got)
		}
	}
	may("+pubsub")
	redistest.Eventually(t, soon, "it is Fast by itself", func() bool {
		return mode("one-shot") == worqr.TakeoverFast && mode("persistent") == worqr.TakeoverFast
	})
	for name, want := range map[string]int{"one-shot": 1, "persistent": 1, "strict": 0} {
		if n, err := redis.Int(c.Do("SCARD", queuePrefix("hidden", name)+":fast")); err != nil || n != want {
			t.Errorf("%s: the server knows %d to be Fast, want %d, %v", name, n, want, err)
		}
	}
	if got := mode("strict"); got != worqr.TakeoverStrict {
		t.Errorf("strict is %v", got)
	}
	if err := w.Fail(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := w.Takeover("one-shot"); !errors.Is(err, worqr.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
}

// A checkpoint that is stored reaches the next holder, also where it is not known why the hold
// before has ended.
func TestPersistentCheckpointComesWithoutAReason(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	a, stop := f.join("a")
	f.ready(1)
	enqueue(t, f.mesh, "q", "t")
	first := f.now("t", 1).p
	checkpoint(t, first, "x\ny")
	f.beats(a, 3)
	if err := stop(); err != nil {
		t.Error(err)
	}
	if n, err := redis.Int(f.redis.Do("DEL", queuePrefix(f.ns, "q")+":past")); n != 1 {
		t.Fatalf("no reason was stored (%v)", err)
	}
	f.join("b")
	past := f.now("t", 2).past
	if past.Why != worqr.ReasonFirst || past.Token != first.Token() || string(past.Checkpoint) != "x\ny" {
		t.Errorf("past %+v, want the checkpoint and the token %d", past, first.Token())
	}
}
