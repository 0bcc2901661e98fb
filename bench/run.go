package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"time"

	"github.com/worqr/worqr-go/bench/adapter"
)

// field is where the programs run.
type field struct {
	root     string // the folder of this module
	scripts  string
	redis    *redisServer
	postgres *postgresServer // nil: none
}

// args returns the flags of a program.
func (f *field) args(p peer, c cell) []string {
	args := []string{
		"-redis", f.redis.addr, "-scripts", f.scripts, "-mode", c.Mode, "-variant", p.Variant,
		"-concurrency", strconv.Itoa(c.Concurrency), "-seconds", fmt.Sprint(c.Seconds), "-limit", c.limit().String(),
	}
	if p.Postgres {
		args = append(args, "-postgres", f.postgres.url)
	}
	if c.Tasks > 0 {
		args = append(args, "-tasks", strconv.Itoa(c.Tasks))
	}
	if c.Pause > 0 {
		args = append(args, "-pause", fmt.Sprint(c.Pause))
	}
	return args
}

// clear removes what the previous program has left.
func (f *field) clear(ctx context.Context, p peer) error {
	if p.Postgres {
		return f.postgres.clear(ctx)
	}
	return f.redis.flush()
}

// run makes a program measure one cell, once.
func (f *field) run(ctx context.Context, p peer, c cell) (adapter.Result, error) {
	var result adapter.Result
	if err := f.clear(ctx, p); err != nil {
		return result, fmt.Errorf("clear: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, c.limit()+10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, program(f.root, p.Dir), f.args(p, c)...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return result, fmt.Errorf("%w: %s", err, reason(said.String(), err))
	}
	return parse(out)
}

// parse reads the last line that a program has printed; a library may print others before it.
func parse(out []byte) (adapter.Result, error) {
	var result adapter.Result
	var last []byte
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		if line := bytes.TrimSpace(lines.Bytes()); bytes.HasPrefix(line, []byte(`{"`)) {
			last = append(last[:0], line...)
		}
	}
	if err := json.Unmarshal(last, &result); err != nil {
		return result, fmt.Errorf("it printed no result: %w", err)
	}
	if result.Error != "" {
		err := errors.New(result.Error)
		if result.Unsupported {
			err = fmt.Errorf("%w: %w", adapter.ErrUnsupported, err)
		}
		return result, err
	}
	return result, nil
}
