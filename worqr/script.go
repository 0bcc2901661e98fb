package worqr

import (
	"context"
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"
)

//go:embed lua/*.lua
var sources embed.FS

// script is one operation. What it does, takes and answers stands at the head of its file.
type script struct {
	name, source, sha string
	once              bool // a copy must not be sent after the first may have run
}

// load reads a script. Comments are stripped: they would be sent with every EVAL and kept by Redis.
func load(name string, prelude bool) *script {
	var text strings.Builder
	files := []string{name}
	if prelude {
		files = []string{"lib", name}
	}
	for _, f := range files {
		source, err := sources.ReadFile("lua/" + f + ".lua")
		if err != nil {
			panic(err) // the file is embedded: a build cannot lack it
		}
		for line := range strings.Lines(string(source)) {
			if t := strings.TrimSpace(line); t != "" && !strings.HasPrefix(t, "--") {
				text.WriteString(t + "\n")
			}
		}
	}
	sum := sha1.Sum([]byte(text.String()))
	return &script{name: name, source: text.String(), sha: hex.EncodeToString(sum[:])}
}

// The scripts in the slot of the mesh.
var (
	joinScript    = load("join", false)
	beatScript    = load("beat", false)
	serveScript   = load("serve", false)
	unserveScript = load("unserve", false)
	noteScript    = load("note", false)
	forgetScript  = load("forget", false)
	leaveScript   = load("leave", false)
	failScript    = load("fail", false)
	sweepScript   = load("sweep", false)
	rosterScript  = load("roster", false)
	servedScript  = load("served", false)
	checkScript   = load("check", false)
)

// The scripts in the slot of a queue.
var (
	openScript    = load("open", true)
	enqueueScript = onlyOnce(load("enqueue", true))
	takeScript    = load("take", true)
	settleScript  = load("settle", true)
	reclaimScript = load("reclaim", true)
	lookScript    = load("look", true)
	wakeScript    = load("wake", true)
	newestScript  = load("newest", true)
	cancelScript  = load("cancel", true)
	deleteScript  = load("delete", true)
	auditScript   = load("audit", true)
	heldScript    = load("held", true)
	trimScript    = load("trim", true)
)

func onlyOnce(s *script) *script { s.once = true; return s }

// attempts and pauses of a command whose connection failed: the pool may hold several that a restart has broken.
var pauses = []time.Duration{0, 20 * time.Millisecond, 100 * time.Millisecond}

// commander sends commands over a pool. Nothing else in this package does, but a line.
type commander struct{ pool *redis.Pool }

// eval runs a script, and runs it again when no answer came: a copy has no further effect. A script that may run only
// once is not sent twice; its error is ErrUnknown then. repeated tells that a copy before the one that was answered may
// have run.
func (c commander) eval(ctx context.Context, s *script, key string, args []any) (reply any, repeated bool, err error) {
	return c.try(ctx, s.once, func(conn redis.Conn) (any, error) { return evalOn(ctx, conn, s, key, args) })
}

// read sends one command that changes nothing.
func (c commander) read(ctx context.Context, command string, args ...any) (any, error) {
	reply, _, err := c.try(ctx, false, func(conn redis.Conn) (any, error) {
		return redis.DoContext(conn, ctx, command, args...)
	})
	return reply, err
}

func (c commander) try(ctx context.Context, once bool, send func(redis.Conn) (any, error)) (reply any, unknown bool, err error) {
	var last error
	for _, pause := range pauses {
		if err := sleep(ctx, pause); err != nil {
			break
		}
		reply, sent, err := c.attempt(ctx, send)
		var refusal redis.Error
		switch {
		case err == nil:
			return reply, unknown, nil
		case errors.As(err, &refusal):
			if err := classify(refusal); !mayPass(refusal) && unknown {
				return nil, true, fmt.Errorf("%w: %w", ErrUnknown, err) // the copy before it may have run
			} else if !mayPass(refusal) {
				return nil, false, err
			}
		case sent:
			unknown = true
		}
		last = err
		if ctx.Err() != nil || unknown && once {
			break
		}
	}
	if last == nil {
		last = context.Cause(ctx)
	}
	if unknown {
		return nil, true, fmt.Errorf("%w: %w", ErrUnknown, last)
	}
	return nil, false, last
}

// attempt sends once. sent tells that the server may have run it when err is not an answer of the server.
func (c commander) attempt(ctx context.Context, send func(redis.Conn) (any, error)) (reply any, sent bool, err error) {
	conn, err := c.pool.GetContext(ctx)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = conn.Close() }() // gives it back; a broken one is dropped
	reply, err = send(conn)
	return reply, true, err
}

func evalOn(ctx context.Context, conn redis.Conn, s *script, key string, args []any) (any, error) {
	words := make([]any, 0, len(args)+3)
	words = append(append(words, s.sha, 1, key), args...)
	reply, err := redis.DoContext(conn, ctx, "EVALSHA", words...)
	var refusal redis.Error
	if errors.As(err, &refusal) && strings.HasPrefix(refusal.Error(), "NOSCRIPT") {
		words[0] = s.source // not run, so nothing is repeated; EVAL also stores it
		reply, err = redis.DoContext(conn, ctx, "EVAL", words...)
	}
	return reply, err
}

// line is a connection of its own, for what must not wait behind other commands.
type line struct {
	dial   func(context.Context) (redis.Conn, error)
	closed atomic.Bool
	mu     sync.Mutex // held while a command is under way
	conn   redis.Conn
}

// eval sends once. After an error of the connection the next call dials anew.
func (l *line) eval(ctx context.Context, s *script, key string, args []any) (any, error) {
	l.mu.Lock()
	defer l.tidy()
	defer l.mu.Unlock()
	if l.conn == nil {
		conn, err := l.dial(ctx)
		if err != nil {
			return nil, err
		}
		l.conn = conn
	}
	reply, err := evalOn(ctx, l.conn, s, key, args)
	var refusal redis.Error
	if errors.As(err, &refusal) {
		return nil, classify(refusal)
	}
	if err != nil {
		l.drop()
	}
	return reply, err
}

// close gives the connection up: now, or when the command that is under way has ended.
func (l *line) close() {
	l.closed.Store(true)
	l.tidy()
}

// tidy drops the connection of a line that was closed, unless a command is under way: that one comes here too.
func (l *line) tidy() {
	if l.closed.Load() && l.mu.TryLock() {
		l.drop()
		l.mu.Unlock()
	}
}

// drop: the caller has mu.
func (l *line) drop() {
	if l.conn != nil {
		_ = l.conn.Close() // it is given up
		l.conn = nil
	}
}

// sleep waits, or answers why ctx ended before.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// fresh is a context of d for what must still be said after the caller's own has ended.
func fresh(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), d)
}

// jitter spreads d over three quarters to five quarters of it, so that a fleet does not act in step.
func jitter(d time.Duration) time.Duration {
	return d*3/4 + time.Duration(rand.Int64N(int64(d/2)+1))
}

// probe tries a pooled connection that was quiet for a second before it is used, so that a restart of the server does
// not cost a caller the outcome of a command.
func probe(conn redis.Conn, since time.Time) error {
	if time.Since(since) < time.Second {
		return nil
	}
	_, err := conn.Do("PING")
	return err
}
