package redistest

import (
	"os/exec"
	"runtime"
	"sync"
)

// children starts every child process of this test binary.
var children spawner

// spawner starts processes that die with this one. The kernel sends the death
// signal when the thread that started the child ends, not the process; so all
// are started from one thread, which lives until stop.
type spawner struct {
	mu    sync.Mutex
	start chan spawn
	done  chan struct{}
}

type spawn struct {
	cmd *exec.Cmd
	err chan<- error
}

// run starts cmd; the caller waits for it.
func (s *spawner) run(cmd *exec.Cmd) error {
	dieWithParent(cmd)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.start == nil {
		s.start, s.done = make(chan spawn), make(chan struct{})
		go loop(s.start, s.done)
	}
	err := make(chan error, 1)
	s.start <- spawn{cmd, err}
	return <-err
}

func loop(start <-chan spawn, done chan<- struct{}) {
	runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
	defer close(done)
	for s := range start {
		s.err <- s.cmd.Start()
	}
}

// stop ends the thread, and with it every child that is left.
func (s *spawner) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.start != nil {
		close(s.start)
		<-s.done
		s.start = nil
	}
}
