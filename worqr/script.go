package worqr

import (
	"context"
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/pipeline"
)

//go:embed lua/*.lua
var sources embed.FS

// script is one operation. What it does, takes and answers stands at the head of its file.
type script struct {
	name, source, sha string
	once              bool // a copy must not be sent after the first may have run
}

// load reads a script. Comments are stripped: they would be sent with every EVAL and kept by Redis.
func load(name string, preludes ...string) *script {
	var text strings.Builder
	for _, f := range append(preludes, name) {
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
	joinScript    = load("join")
	beatScript    = load("beat")
	serveScript   = load("serve")
	unserveScript = load("unserve")
	noteScript    = load("note")
	forgetScript  = load("forget")
	leaveScript   = load("leave")
	failScript    = load("fail")
	sweepScript   = load("sweep")
	rosterScript  = load("roster")
	servedScript  = load("served")
	checkScript   = load("check")
	appearScript  = load("appear")
	watchScript   = load("watch")
)

// The scripts in the slot of a queue.
var (
	openScript    = load("open", "lib", "hold")
	enqueueScript = onlyOnce(load("enqueue", "lib"))
	takeScript    = load("take", "lib")
	settleScript  = load("settle", "lib")
	reclaimScript = load("reclaim", "lib", "hold")
	lookScript    = load("look", "lib")
	wakeScript    = load("wake", "lib")
	newestScript  = load("newest", "lib")
	cancelScript  = load("cancel", "lib", "hold")
	tellScript    = load("tell", "lib")
	deleteScript  = load("delete", "lib", "hold")
	auditScript   = load("audit", "lib")
	heldScript    = load("held", "lib")
	trimScript    = load("trim", "lib")
	rescueScript  = load("rescue", "lib", "hold")
	allowScript   = load("allow", "lib")
)

// The scripts in the slot of a queue of persistent tasks.
var (
	addScript        = load("add", "lib", "hold")
	holdTakeScript   = load("hold_take", "lib", "hold")
	holdSettleScript = load("hold_settle", "lib", "hold")
	holdLookScript   = load("hold_look", "lib", "hold")
	grantScript      = load("grant", "lib")
	weighScript      = load("weigh", "lib", "hold")
	generationScript = load("generation", "lib", "hold")
	presentScript    = load("present", "lib")
	dropScript       = load("drop", "lib", "hold")
	locateScript     = load("locate", "lib", "hold")
	offerScript      = load("offer", "lib", "hold")
	readyScript      = load("ready", "lib", "hold")
	admitScript      = load("admit", "lib")
	checkpointScript = load("checkpoint", "lib", "hold")
)

func onlyOnce(s *script) *script { s.once = true; return s }

// attempts and pauses of a command that was not answered. All but the last attempt wait for a
// quarter of the time that an answer may take: the connection may be mute, and the next attempt
// goes over another.
var pauses = []time.Duration{0, 20 * time.Millisecond, 100 * time.Millisecond}

// commander sends commands over connections that all callers share. Nothing else in this package
// does, but a line, and serverOf.
type commander struct{ pipe *pipeline.Pipe }

// eval runs a script, and runs it again when no answer came: a copy has no further effect. A script
// that may run only once is not sent twice; its error is ErrUnknown then. repeated tells that a
// copy before the one that was answered may have run.
func (c commander) eval(ctx context.Context, s *script, words []any) (reply any, repeated bool, err error) {
	return c.try(ctx, s.once, func(last bool) (any, bool, error) {
		return s.run(func(name string, words []any) (any, bool, error) { return c.do(ctx, last, name, words) }, words)
	})
}

// read sends one command that changes nothing.
func (c commander) read(ctx context.Context, command string, args ...any) (any, error) {
	reply, _, err := c.try(ctx, false, func(last bool) (any, bool, error) { return c.do(ctx, last, command, args) })
	return reply, err
}

// post sends a command that is made when the writer comes to it.
func (c commander) post(r pipeline.Request) { c.pipe.Send(r) }

func (c commander) do(ctx context.Context, patient bool, name string, words []any) (any, bool, error) {
	if patient {
		return c.pipe.Do(ctx, name, words...)
	}
	return c.pipe.Try(ctx, name, words...)
}

// try sends until there is an answer. send tells with an error whether the server may have run the
// command.
func (c commander) try(ctx context.Context, once bool, send func(last bool) (any, bool, error)) (reply any, unknown bool, err error) {
	var last error
	for i, pause := range pauses {
		if err := sleep(ctx, jitter(pause)); err != nil { // what failed together need not meet again
			break
		}
		reply, sent, err := send(i == len(pauses)-1)
		if err == nil {
			return reply, unknown, nil
		}
		var refusal redis.Error
		switch {
		case errors.As(err, &refusal):
			if err = classify(refusal); !mayPass(refusal) && unknown {
				return nil, true, fmt.Errorf("%w: %w", ErrUnknown, err) // the copy before it may have run
			} else if !mayPass(refusal) {
				return nil, false, err
			}
		case sent:
			unknown = true
		case errors.Is(err, pipeline.ErrClosed):
			err = ErrClosed
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

// command is what follows the name of the command that runs a script: its arguments are those that
// all scripts of a slot have in common, and its own.
func (s *script) command(key string, args []any, common ...any) []any {
	words := append(make([]any, 0, 3+len(common)+len(args)), s.sha, 1, key)
	return append(append(words, common...), args...)
}

// run sends a script by its digest, and by its source when the server does not know it: that one
// was not run, so nothing is repeated, and EVAL also stores it.
func (s *script) run(send func(name string, words []any) (any, bool, error), words []any) (any, bool, error) {
	reply, sent, err := send("EVALSHA", words)
	if unknownScript(err) {
		words = slices.Clone(words) // of an attempt that was late the writer may still read them
		words[0] = s.source
		reply, sent, err = send("EVAL", words)
	}
	return reply, sent, err
}

func unknownScript(err error) bool {
	if err == nil {
		return false
	}
	var refusal redis.Error
	return errors.As(err, &refusal) && strings.HasPrefix(refusal.Error(), "NOSCRIPT")
}

// line is a connection of its own, for what must not wait behind other commands.
type line struct {
	at     *whereabouts
	closed atomic.Bool
	mu     sync.Mutex // held while a command is under way
	conn   redis.Conn
	turn   uint64 // when conn was dialled
}

// eval sends once. After an error of the connection, and after a turn, the next call dials anew.
func (l *line) eval(ctx context.Context, s *script, words []any) (any, error) {
	l.mu.Lock()
	defer l.tidy()
	defer l.mu.Unlock()
	if l.turn != l.at.turn.Load() {
		l.drop()
	}
	if l.conn == nil {
		turn := l.at.turn.Load()
		conn, err := l.at.dial(ctx)
		if err != nil {
			return nil, err
		}
		l.conn, l.turn = conn, turn
	}
	reply, _, err := s.run(func(name string, words []any) (any, bool, error) {
		reply, err := redis.DoContext(l.conn, ctx, name, words...)
		return reply, true, err
	}, words)
	var refusal redis.Error
	switch {
	case misled(err):
		l.drop()
		l.at.wrong(l.turn, err)
	case err != nil && !errors.As(err, &refusal):
		l.drop()
	}
	if errors.As(err, &refusal) {
		return nil, classify(refusal)
	}
	return reply, err
}

// close gives the connection up: now, or when the command that is under way has ended.
func (l *line) close() {
	l.closed.Store(true)
	l.tidy()
}

// tidy drops the connection of a line that was closed, unless a command is under way: that one
// comes here too.
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

// serverOf asks to which run of which server a connection leads; "": it does not say.
func serverOf(ctx context.Context, conn redis.Conn) (string, error) {
	info, err := redis.String(redis.DoContext(conn, ctx, "INFO", "server"))
	var refusal redis.Error
	if err != nil && !errors.As(err, &refusal) {
		return "", err
	}
	return infoField(info, "run_id"), nil
}
