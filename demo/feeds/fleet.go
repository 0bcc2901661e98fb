package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// member is a holder process as its parent sees it.
type member struct {
	name   string
	cmd    *exec.Cmd
	stdin  io.Closer
	fate   string        // what was done to it: "", killed or draining
	exited chan struct{} // closed when it has ended
	err    error         // how it ended
}

// fleet is all the holder processes, those that have ended too. It belongs to the goroutine of
// perform.
type fleet struct {
	env     []string // of each, besides the parent's
	members []*member
}

// add starts one more holder, out of this very program.
func (f *fleet) add() (*member, error) {
	m := &member{name: fmt.Sprintf("holder-%d", len(f.members)+1), exited: make(chan struct{})}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	m.cmd = exec.Command(program)
	m.cmd.Env = append(append(os.Environ(), f.env...), envName+"="+m.name)
	m.cmd.Stderr = os.Stderr
	m.cmd.SysProcAttr = dieWithParent()
	if m.stdin, err = m.cmd.StdinPipe(); err == nil {
		err = m.cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", m.name, err)
	}
	f.members = append(f.members, m)
	go func() {
		m.err = m.cmd.Wait()
		close(m.exited)
	}()
	return m, nil
}

// kill is SIGKILL: the process has no chance to say or give back anything.
func (m *member) kill() error {
	m.fate = "killed"
	return m.cmd.Process.Kill()
}

// drain is SIGTERM: the process gives up what it holds, and ends. Where there is no such signal it
// is the end of its standard input.
func (m *member) drain() {
	m.fate = cmp.Or(m.fate, "draining")
	if m.cmd.Process.Signal(syscall.SIGTERM) != nil {
		_ = m.stdin.Close()
	}
}

func (m *member) gone() bool {
	select {
	case <-m.exited:
		return true
	default:
		return false
	}
}

// state is a word or two on a holder; heard reports whether it is in touch with the witness.
func (m *member) state(heard bool) string {
	switch {
	case m.fate == "killed":
		return "killed"
	case m.gone() && m.err != nil:
		return "died: " + m.err.Error()
	case m.gone():
		return "ended"
	case m.fate != "":
		return m.fate
	case !heard:
		return "starting"
	}
	return "holding"
}

// serving returns the holders that should hold feeds now.
func (f *fleet) serving() []*member {
	var out []*member
	for _, m := range f.members {
		if m.fate == "" && !m.gone() {
			out = append(out, m)
		}
	}
	return out
}

// stop drains all holders, and kills those that have not ended within the grace.
func (f *fleet) stop(grace time.Duration) {
	for _, m := range f.members {
		m.drain()
	}
	var stopping sync.WaitGroup
	for _, m := range f.members {
		stopping.Go(func() {
			select {
			case <-m.exited:
			case <-time.After(grace):
				_ = m.cmd.Process.Kill()
				<-m.exited
			}
		})
	}
	stopping.Wait()
}
