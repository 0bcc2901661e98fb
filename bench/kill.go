package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	"github.com/worqr/worqr-go/bench/adapter"
)

// settling is how long both programs run before the kill.
const settling = 5 * time.Second

// kills measures how long after a SIGKILL of its holder a task runs elsewhere, with the defaults of
// each library.
func (f *field) kills(ctx context.Context, list []peer, rounds int, limit time.Duration, book *figures) {
	c := cell{Figure: "kill", Concurrency: 1, Rounds: rounds}
	slow := map[string]bool{}
	for round := range rounds {
		for _, p := range list {
			if ctx.Err() != nil {
				return
			}
			if p.Kind != library || slow[p.Name] {
				continue
			}
			started := time.Now()
			took, err := f.kill(ctx, p, limit)
			what := fmt.Sprintf("kill, round %d/%d: %s", round+1, rounds, p.Name)
			progress("%-62s %s", what, since(started, err))
			if err != nil {
				slow[p.Name] = true
				book.skip(p.Name, "kill: "+err.Error())
				continue
			}
			slow[p.Name] = took > 20*time.Second // once is enough of these
			us := float64(took.Microseconds())
			book.add(c, p.Name, adapter.Result{Mode: "kill", Concurrency: 1, Count: 1, P50: us, P99: us})
		}
	}
}

// kill makes one program hold a task and another wait for it, and kills the first.
func (f *field) kill(ctx context.Context, p peer, limit time.Duration) (time.Duration, error) {
	if err := f.clear(ctx, p); err != nil {
		return 0, err
	}
	limit += settling
	ctx, cancel := context.WithTimeout(ctx, limit+5*time.Second)
	defer cancel()
	holder, err := f.talk(ctx, p, "hold", limit)
	if err != nil {
		return 0, err
	}
	defer holder.end()
	if err := holder.wait("held"); err != nil {
		return 0, err
	}
	rescuer, err := f.talk(ctx, p, "rescue", limit)
	if err != nil {
		return 0, err
	}
	defer rescuer.end()
	if err := rescuer.wait("ready"); err != nil {
		return 0, err
	}
	select {
	case <-time.After(settling): // both have been running for a while, as in a fleet
	case <-ctx.Done():
	}
	holder.end()
	killed := time.Now()
	if err := rescuer.wait(""); err != nil {
		if time.Since(killed) > limit-settling-time.Second {
			err = fmt.Errorf("its task did not run again within %v", limit-settling)
		}
		return 0, err
	}
	return time.Since(killed), nil
}

// talker is a program whose lines are read while it runs.
type talker struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
	ended bool
}

func (f *field) talk(ctx context.Context, p peer, mode string, limit time.Duration) (*talker, error) {
	c := cell{Mode: mode, Concurrency: 1}
	args := append(f.args(p, c), "-limit", limit.String())
	cmd := exec.CommandContext(ctx, program(f.root, p.Dir), args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &talker{cmd: cmd, lines: bufio.NewScanner(out)}, cmd.Start()
}

// wait reads until an event, or without a name until the result.
func (t *talker) wait(event string) error {
	for t.lines.Scan() {
		var line struct {
			Event string
			adapter.Result
		}
		switch err := json.Unmarshal(t.lines.Bytes(), &line); {
		case err != nil: // a line of the library
		case line.Error != "":
			return errors.New(line.Error)
		case line.Event == event:
			return nil
		}
	}
	return errors.Join(io.ErrUnexpectedEOF, t.lines.Err())
}

// end kills the program.
func (t *talker) end() {
	if !t.ended {
		t.ended = true
		_ = t.cmd.Process.Kill()
		_ = t.cmd.Wait() // that it was killed is no error
	}
}
