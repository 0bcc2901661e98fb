package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// process is a worker process as its parent sees it. Its fields are the parent's goroutine's but
// for exited.
type process struct {
	number int
	cmd    *exec.Cmd
	stdin  io.Closer
	exited chan struct{} // closed when it has ended and all that it reported was read
	fate   fate
}

type fate int

const (
	alive fate = iota
	killed
	frozen
	thawed
)

// fleet is all the worker processes.
type fleet []*process

// startFleet starts worker processes out of this very program; enter gets their reports, by several
// goroutines.
func startFleet(n int, url, queue string, pace time.Duration, enter func(worker int, r report)) (fleet, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var f fleet
	for number := range n {
		cmd := exec.Command(program)
		cmd.Env = append(os.Environ(), "REDIS_URL="+url, envQueue+"="+queue, envPace+"="+pace.String())
		cmd.Stderr = os.Stderr
		cmd.SysProcAttr = dieWithParent()
		stdin, err := cmd.StdinPipe()
		if err != nil {
			return f, err
		}
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			return f, err
		}
		if err := cmd.Start(); err != nil {
			return f, fmt.Errorf("start a worker: %w", err)
		}
		p := &process{number: number, cmd: cmd, stdin: stdin, exited: make(chan struct{})}
		f = append(f, p)
		go func() {
			defer close(p.exited)
			readReports(stdout, func(r report) { enter(number, r) })
			_ = cmd.Wait() // how it ended is judged by its work
		}()
	}
	return f, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// gone reports whether the process has ended.
func (p *process) gone() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// kill is SIGKILL: the process has no chance to say or return anything.
func (p *process) kill() error {
	p.fate = killed
	return p.cmd.Process.Kill()
}

// freeze is SIGSTOP: the process stands still and knows nothing of it.
func (p *process) freeze() error {
	err := freeze(p.cmd.Process)
	if err == nil {
		p.fate = frozen
	}
	return err
}

// thaw is SIGCONT: the process goes on in the middle of what it did.
func (p *process) thaw() error {
	p.fate = thawed
	return thaw(p.cmd.Process)
}

// stop asks all workers to leave, and kills those that have not within the grace.
func (f fleet) stop(grace time.Duration) {
	for _, p := range f {
		if p.fate == frozen {
			_ = thaw(p.cmd.Process) // it has to run to stop
		}
		_ = p.stdin.Close()
	}
	var stopping sync.WaitGroup
	for _, p := range f {
		stopping.Go(func() {
			select {
			case <-p.exited:
			case <-time.After(grace):
				_ = p.cmd.Process.Kill()
				<-p.exited
			}
		})
	}
	stopping.Wait()
}
