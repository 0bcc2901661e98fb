package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"time"
)

// Run is one run of one mode.
type Run struct {
	Options
	Session *Session
	Result  *Result
	Meter   *Meter
	Redis   *Redis // nil without one
	Task    []byte
}

// For returns how long the run lasts.
func (r *Run) For() time.Duration { return time.Duration(r.Seconds * float64(time.Second)) }

var modes = map[string]func(context.Context, *Run) error{
	"enqueue": enqueue, "drain": drain, "mixed": mixed, "wake": wake, "idle": idle, "memory": memory, "hands": hands,
	"commands": commands, "pipeline": pipeline, "hold": hold, "rescue": rescue,
}

// Main runs the mode that the flags ask for and prints the result. The program ends with it,
// whatever the library still does.
func Main(p Peer) {
	var o Options
	var limit time.Duration
	flag.StringVar(&o.Redis, "redis", "127.0.0.1:6379", "host:port")
	flag.StringVar(&o.Postgres, "postgres", "", "URL")
	flag.StringVar(&o.Scripts, "scripts", "", "file with the Lua scripts")
	flag.StringVar(&o.Mode, "mode", "mixed", "what to measure")
	flag.StringVar(&o.Variant, "variant", "", "configuration of a peer that has several")
	flag.IntVar(&o.Concurrency, "concurrency", 1, "producers, and handlers at once")
	flag.IntVar(&o.Tasks, "tasks", 100_000, "at most, in the modes that need a number")
	flag.Float64Var(&o.Seconds, "seconds", 1, "how long")
	flag.IntVar(&o.Samples, "samples", 1000, "at most, of mode wake")
	flag.Float64Var(&o.Pause, "pause", 10, "milliseconds between two samples, on average")
	flag.DurationVar(&limit, "limit", 5*time.Minute, "give up after this")
	flag.Parse()

	result := &Result{Module: p.Module, Version: version(p.Module), Config: p.Config, NoRedis: p.NoRedis,
		Mode: o.Mode, Concurrency: o.Concurrency}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if err := run(ctx, p, o, result); err != nil {
		result.Error = fmt.Sprintf("%s: %v", o.Mode, err)
		result.Unsupported = errors.Is(err, ErrUnsupported)
	}
	say(result)
	os.Exit(0)
}

func run(ctx context.Context, p Peer, o Options, result *Result) error {
	r := &Run{Options: o, Result: result, Meter: &Meter{}, Task: []byte("0123456789abcdef0123456789abcdef")}
	if !p.NoRedis {
		conn, err := DialRedis(o.Redis)
		if err != nil {
			return err
		}
		r.Redis, r.Meter.redis = conn, conn
	}
	session, err := p.Open(ctx, o)
	if err != nil {
		return err
	}
	r.Session = session
	mode := session.Own[o.Mode]
	if mode == nil {
		mode = modes[o.Mode]
	}
	if mode == nil {
		return ErrUnsupported
	}
	done := make(chan error, 1)
	go func() { done <- mode(ctx, r) }() // a library may ignore ctx
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// version returns the version of a module that this program was built with.
func version(module string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, d := range info.Deps {
		if d.Path == module {
			if d.Replace != nil {
				return "this tree"
			}
			return d.Version
		}
	}
	return ""
}

var saying sync.Mutex

// say prints v as a line of JSON.
func say(v any) {
	saying.Lock()
	defer saying.Unlock()
	_ = json.NewEncoder(os.Stdout).Encode(v)
}
