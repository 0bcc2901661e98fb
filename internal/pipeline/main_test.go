package pipeline_test

import (
	"context"
	"math/rand/v2"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/pipeline"
	"github.com/worqr/worqr-go/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// soon is a limit for what has to happen, generous enough for a busy machine.
const soon = 20 * time.Second

// pass lets time pass, where that is what a test is about.
func pass(d time.Duration) { <-time.After(d) }

// open returns a pipe that is closed at the end of the test.
func open(t testing.TB, cfg pipeline.Config) *pipeline.Pipe {
	t.Helper()
	p := pipeline.New(cfg)
	t.Cleanup(p.Close)
	return p
}

type dialler = func(context.Context) (redis.Conn, error)

// line dials, counts the dials, and can delay them.
type line struct {
	to      dialler
	gate    chan struct{} // nil, or a dial waits until it is closed
	dialled atomic.Int32
}

func (l *line) dial(ctx context.Context) (redis.Conn, error) {
	l.dialled.Add(1)
	if l.gate != nil {
		select {
		case <-l.gate:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return l.to(ctx)
}

// byURL returns a dial function for the Redis at a URL.
func byURL(url string) dialler {
	return func(ctx context.Context) (redis.Conn, error) { return redis.DialURLContext(ctx, url) }
}

// hidden has no time-out of its own for a read: it does not implement redis.ConnWithTimeout.
type hidden struct{ redis.Conn }

func hide(dial dialler) dialler {
	return func(ctx context.Context) (redis.Conn, error) {
		c, err := dial(ctx)
		if err != nil {
			return nil, err
		}
		return hidden{c}, nil
	}
}

// answer is what a request got.
type answer struct {
	reply any
	sent  bool
	err   error
}

// request is a Request for Send. It keeps its answer.
type request struct {
	name    string
	args    []any
	answers chan answer // has room for one too many
}

func ask(name string, args ...any) *request {
	return &request{name: name, args: args, answers: make(chan answer, 2)}
}

func (r *request) Command() (string, []any, int) { return r.name, r.args, 1 }

func (r *request) Answered(reply any, sent bool, err error) { r.answers <- answer{reply, sent, err} }

// answer waits for the answer.
func (r *request) answer(t testing.TB) answer {
	t.Helper()
	select {
	case a := <-r.answers:
		return a
	case <-time.After(soon):
		t.Fatalf("%s %v has no answer", r.name, r.args)
		return answer{}
	}
}

func send(p *pipeline.Pipe, name string, args ...any) *request {
	r := ask(name, args...)
	p.Send(r)
	return r
}

// do runs Do in a goroutine of its own.
func do(p *pipeline.Pipe, ctx context.Context, name string, args ...any) *request {
	r := ask(name, args...)
	go func() { r.Answered(p.Do(ctx, name, args...)) }()
	return r
}

// echoes makes a call that must succeed at its first attempt.
func echoes(t testing.TB, p *pipeline.Pipe, text string) {
	t.Helper()
	if v, err := redis.String(first(p.Do(context.Background(), "ECHO", text))); err != nil || v != text {
		t.Fatalf("ECHO %s: %q, %v", text, v, err)
	}
}

// first returns what redigo's converters take.
func first(reply any, _ bool, err error) (any, error) { return reply, err }

// seeded returns a seed that WORQR_SEED repeats, and logs it.
func seeded(t testing.TB) uint64 {
	t.Helper()
	seed, err := strconv.ParseUint(os.Getenv("WORQR_SEED"), 10, 64)
	if err != nil {
		seed = rand.Uint64()
	}
	t.Logf("WORQR_SEED=%d repeats what is drawn here", seed)
	return seed
}
