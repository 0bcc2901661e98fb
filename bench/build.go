package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// skipped is a peer that was left out, or figures of one.
type skipped struct {
	Peer   string `json:"peer"`
	Reason string `json:"reason"`
}

// build builds the programs of these peers. It returns the peers that could be built, and those
// that could not.
func build(ctx context.Context, root string, list []peer) (made []peer, left []skipped) {
	outcome := map[string]error{}
	for _, p := range list {
		if p.Absent != "" {
			left = append(left, skipped{p.Name, p.Absent})
			continue
		}
		err, seen := outcome[p.Dir]
		if !seen {
			started := time.Now()
			err = buildOne(ctx, root, p.Dir)
			outcome[p.Dir] = err
			progress("build %-22s %s", p.Dir, since(started, err))
		}
		if err != nil {
			left = append(left, skipped{p.Name, err.Error()})
			continue
		}
		made = append(made, p)
	}
	return made, left
}

func buildOne(ctx context.Context, root, dir string) error {
	bin, err := filepath.Abs(program(root, dir))
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", bin, ".")
	cmd.Dir = filepath.Join(root, "peers", dir)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	if _, err := os.Stat(cmd.Dir); err != nil {
		return fmt.Errorf("there is no folder peers/%s", dir)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("it does not build: %s", reason(string(out), err))
	}
	return nil
}

func program(root, dir string) string { return filepath.Join(root, ".bin", dir) }

var address = regexp.MustCompile(`https?://\S+`)

// reason returns the last line of a tool's output, which holds the cause, without addresses.
func reason(out string, err error) string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	if last == "" {
		last = err.Error()
	}
	last = address.ReplaceAllString(last, "(address)")
	if len(last) > 200 {
		last = last[:200] + "..."
	}
	return last
}
