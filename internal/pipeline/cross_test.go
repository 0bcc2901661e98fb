package pipeline_test

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/pipeline"
	"github.com/worqr/worqr-go/internal/redistest"
)

// Replies never cross, whatever breaks: 500,000 calls of 128 callers through a storm (see
// storm_test.go), a tenth of that with -short, 10 million with WORQR_LONG=1. Each call checks that
// the reply is its own. Two more facts are checked throughout:
//   - No request is written twice, and none that was reported as not sent is written at all.
//   - Arguments are not read after Do has returned, unless its context ended or it was late. Each
//     caller writes the next call's payload into the same bytes at once. The race detector sees a
//     violation, and so does the proxy: the payload is then invalid.
func TestRepliesNeverCross(t *testing.T) {
	calls := 500_000
	if os.Getenv("WORQR_LONG") != "" {
		calls = 10_000_000
	} else if testing.Short() {
		calls /= 10
	}
	weather(t, calls, func(d dialler) dialler { return d })
}

// The same with connections that do not implement ConnWithTimeout.
func TestRepliesNeverCrossHidden(t *testing.T) {
	weather(t, 50_000, hide)
}

func weather(t *testing.T, calls int, wrap func(dialler) dialler) {
	s := newStorm(t, calls)
	s.pipe = pipeline.New(pipeline.Config{Dial: wrap(byURL(s.proxy.URL())), Timeout: 100 * time.Millisecond})
	begun := time.Now()
	var callers sync.WaitGroup
	for range 128 {
		callers.Go(s.call)
	}
	callers.Wait()
	s.pipe.Close()
	took := time.Since(begun)
	redistest.Eventually(t, soon, "the proxy has seen all", func() bool { return s.proxy.Connections() == 0 })
	for id := range s.calls {
		if s.unsent.has(id) && s.seen.has(id) {
			t.Errorf("call %d was sent, and was reported to its caller as not sent", id)
		}
	}
	t.Logf("%d calls in %v: %d answered, %d refused, %d left, %d late, %d lost, %d not sent; %d times back to an older connection",
		calls, took.Round(time.Millisecond), s.answered.Load(), s.refused.Load(), s.left.Load(), s.late.Load(), s.lost.Load(), s.notSent.Load(), s.back.Load())
	if s.answered.Load() < int64(calls)*8/10 || s.refused.Load() == 0 || s.left.Load() == 0 || s.late.Load() == 0 || s.lost.Load() == 0 || s.back.Load() == 0 {
		t.Error("that was no storm: each of these has to happen, and most calls have to be answered")
	}
}

// call is one caller: it makes calls until there are no more to make.
func (s *storm) call() {
	payload := make([]byte, 0, maxPayload)
	for {
		id := uint64(s.next.Add(1) - 1)
		if id >= s.calls {
			return
		}
		payload = s.payload(payload[:0], id)
		if !s.one(id, payload) {
			payload = make([]byte, 0, maxPayload) // the old one may still be read
		}
	}
}

// one makes call id. It reports whether the caller may write into payload again.
func (s *storm) one(id uint64, payload []byte) bool {
	switch s.fault(id) {
	case cutAll:
		s.proxy.Cut()
	case killAll:
		s.kill()
	}
	ctx := context.Background()
	patience, leaves := s.patience(id)
	if leaves {
		var end context.CancelFunc
		ctx, end = context.WithTimeout(ctx, patience)
		defer end()
	}
	var reply any
	var sent bool
	var err error
	call, kind := s.pipe.Do, s.kind(id)
	if s.hurried(id) {
		call = s.pipe.Try
	}
	switch kind {
	case echo:
		reply, sent, err = call(ctx, "ECHO", payload)
	default:
		reply, sent, err = call(ctx, "EVALSHA", s.scripts[kind], 0, payload)
	}
	var refusal redis.Error
	switch {
	case err == nil:
		s.answered.Add(1)
		if kind == refuse || !own(kind, reply, payload) {
			s.t.Errorf("call %d got %.100q", id, reply)
		}
	case errors.As(err, &refusal):
		s.refused.Add(1)
		if kind != refuse || string(refusal) != "ODD "+string(payload) || !sent {
			s.t.Errorf("call %d got the refusal %.100q, sent %v", id, refusal, sent)
		}
	case leaves && err == context.DeadlineExceeded && ctx.Err() != nil:
		s.left.Add(1)
	case err == pipeline.ErrLate && s.hurried(id) && sent:
		s.late.Add(1)
	case sent:
		s.lost.Add(1)
	default:
		s.notSent.Add(1)
	}
	if err != nil && !sent {
		s.unsent.add(id)
	}
	return ctx.Err() == nil && err != pipeline.ErrLate
}

// own reports whether a reply is the payload, in the form in which the command of this kind returns
// it.
func own(kind int, reply any, payload []byte) bool {
	if kind == nest {
		parts, err := redis.Values(reply, nil)
		if err != nil || len(parts) != 3 || parts[0] != int64(len(payload)) || parts[1] != nil {
			return false
		}
		reply = parts[2]
	}
	b, ok := reply.([]byte)
	return ok && string(b) == string(payload)
}
