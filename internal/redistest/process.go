package redistest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// process is a redis-server that this test binary runs. It implements host.
type process struct {
	bin  binary
	dir  string // removed with the process
	port int
	args []string
	mark string

	cmd    *exec.Cmd
	exited chan struct{} // closed when cmd has been waited for
	out    tail
}

// startProcess starts a redis-server with args on a free port.
func startProcess(bin binary, args []string) (*Server, error) {
	dir, err := newFolder()
	if err != nil {
		return nil, err
	}
	p := &process{bin: bin, dir: dir, mark: newNamespace("redistest") + ".rdb"}
	for range 5 { // another process may take the port in between
		if p.port, err = freePort(); err != nil {
			break
		}
		addr := loopback(p.port)
		p.args = append([]string{"--bind", "127.0.0.1", "--port", fmt.Sprint(p.port), "--dir", dir,
			"--dbfilename", p.mark, "--save", "", "--daemonize", "no"}, args...)
		if err = p.start(); err == nil {
			return &Server{url: "redis://" + addr + "/0", addr: addr, host: p}, nil
		}
	}
	log := p.log()
	p.remove()
	return nil, fmt.Errorf("start %s: %w\n%s", bin.path, err, log)
}

func (p *process) start() error {
	if p.alive() {
		return errors.New("it runs already")
	}
	cmd := exec.Command(p.bin.path, p.args...)
	cmd.Env = p.bin.environ()
	cmd.Stdout, cmd.Stderr = &p.out, &p.out
	if err := children.run(cmd); err != nil {
		return err
	}
	exited := make(chan struct{})
	p.cmd, p.exited = cmd, exited
	go func() {
		defer close(exited)
		cmd.Wait() // its output has the reason
	}()
	var err error
	poll(startLimit, func() bool {
		err = probeOwn(loopback(p.port), p.mark)
		return err == nil || err == errStranger || !p.alive()
	})
	if err == nil && p.alive() {
		return nil
	}
	if !p.alive() {
		err = errors.New("it ended at once")
	}
	p.kill()
	return err
}

func (p *process) alive() bool {
	if p.cmd == nil {
		return false
	}
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

func (p *process) stop() error { return p.end(syscall.SIGTERM) }
func (p *process) kill() error { return p.end(syscall.SIGKILL) }

func (p *process) end(sig syscall.Signal) error {
	if !p.alive() {
		return errors.New("it does not run")
	}
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	if !within(stopLimit, p.exited) {
		return fmt.Errorf("it is still there %v after %v", stopLimit, sig)
	}
	return nil
}

func (p *process) pause() error {
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	if !poll(stopLimit, func() bool { return stopped(p.cmd.Process.Pid) }) {
		return errors.New("it goes on after SIGSTOP")
	}
	return nil
}

func (p *process) resume() error { return p.cmd.Process.Signal(syscall.SIGCONT) }

func (p *process) remove() error {
	var err error
	if p.alive() {
		err = p.kill()
	}
	return errors.Join(err, os.RemoveAll(p.dir))
}

func (p *process) kind() string { return "in a process" }
func (p *process) log() string  { return p.out.String() }

// tail keeps the end of what is written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

const tailSize = 4096

func (w *tail) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf = append(w.buf, b...)
	if extra := len(w.buf) - tailSize; extra > 0 {
		w.buf = append(w.buf[:0], w.buf[extra:]...)
	}
	return len(b), nil
}

func (w *tail) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(w.buf)
}
