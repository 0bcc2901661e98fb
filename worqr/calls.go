package worqr

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// calls calls the hooks, each time on another goroutine: a hook that panics or calls runtime.Goexit
// ends nothing else. It counts those that have not returned. What comes in lists is told in lists,
// so that one goroutine calls the hooks for all of it.
type calls struct {
	hooks Hooks
	log   zerolog.Logger

	mu      sync.Mutex
	begun   uint64               // the number of the last call
	running map[uint64]time.Time // since when
	closed  bool
	idle    chan struct{} // a flag: the last of them has returned
}

func newCalls(h Hooks, log zerolog.Logger) *calls {
	return &calls{hooks: h, log: log, running: map[uint64]time.Time{}, idle: make(chan struct{}, 1)}
}

// begin counts a call, and what leads to one. False: the worker has stopped, and nothing is told
// any more.
func (c *calls) begin() (number uint64, ok bool) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 0, false
	}
	c.begun++
	c.running[c.begun] = now
	return c.begun, true
}

func (c *calls) done(number uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if delete(c.running, number); len(c.running) == 0 {
		signal(c.idle)
	}
}

// blocked reports whether a hook has not returned for some time.
func (c *calls) blocked() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, since := range c.running {
		if time.Since(since) >= hookPatience {
			return true
		}
	}
	return false
}

// close waits until all hooks have returned. No further one is called.
func (c *calls) close() {
	for {
		c.mu.Lock()
		c.closed = c.closed || len(c.running) == 0
		closed := c.closed
		c.mu.Unlock()
		if closed {
			return
		}
		<-c.idle
	}
}

// each calls a hook for 0 to n-1, in order, and returns when it has returned from the last.
func (c *calls) each(n int, name string, hook func(i int)) {
	if n == 0 {
		return
	}
	number, ok := c.begin()
	if !ok {
		return
	}
	defer c.done(number)
	for next := 0; next < n; { // again after a panic and a Goexit, behind the one that did it
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			returned := false
			defer func() { c.caught(name, returned, recover()) }()
			for next < n {
				next++
				hook(next - 1)
			}
			returned = true
		}()
		<-ended
	}
}

// caught reports a hook that did not return.
func (c *calls) caught(name string, returned bool, panicked any) {
	if returned {
		return
	}
	what, stack := "runtime.Goexit", debug.Stack()
	if panicked != nil {
		what = fmt.Sprintf("panic: %v", panicked)
	}
	c.log.Error().Str("hook", name).Str("ended_by", what).Bytes("stack", stack).Msg("worqr: a hook did not return")
	if name != "OnError" {
		c.error(fmt.Errorf("worqr: call %s: %s\n%s", name, what, stack))
	}
}

func (c *calls) join(worker string) {
	if hook := c.hooks.OnJoin; hook != nil {
		c.each(1, "OnJoin", func(int) { hook(worker) })
	}
}

func (c *calls) leave(worker string) {
	if hook := c.hooks.OnLeave; hook != nil {
		c.each(1, "OnLeave", func(int) { hook(worker) })
	}
}

func (c *calls) lapse(worker string, cause error) {
	if hook := c.hooks.OnLapse; hook != nil {
		c.each(1, "OnLapse", func(int) { hook(worker, cause) })
	}
}

func (c *calls) take(list ...*Process) {
	if hook := c.hooks.OnTake; hook != nil {
		c.each(len(list), "OnTake", func(i int) { hook(list[i]) })
	}
}

// settle reports processes of which is known what became of them.
func (c *calls) settle(list ...*Process) {
	if hook := c.hooks.OnSettle; hook != nil {
		c.each(len(list), "OnSettle", func(i int) { hook(list[i], Outcome(list[i].result), list[i].err) })
	}
}

func (c *calls) reclaim(worker, queue string, returned int) {
	if hook := c.hooks.OnReclaim; hook != nil {
		c.each(1, "OnReclaim", func(int) { hook(worker, queue, returned) })
	}
}

func (c *calls) ready() {
	if hook := c.hooks.OnReady; hook != nil {
		c.each(1, "OnReady", func(int) { hook() })
	}
}

func (c *calls) error(err error) {
	if hook := c.hooks.OnError; hook != nil && err != nil {
		c.each(1, "OnError", func(int) { hook(err) })
	}
}

// hookPatience is how long a hook may need before a call whose context has ended believes that it
// waits for that hook.
const hookPatience = 100 * time.Millisecond

// within runs what may wait for hooks on a goroutine of its own, and waits for it. When ctx has
// ended it waits no longer than a hook should need: the caller may be one. What was begun goes on
// then.
func (c *calls) within(ctx context.Context, do func() error) error {
	ended := make(chan error, 1)
	go func() { ended <- do() }()
	return c.await(ctx, ended)
}

func (c *calls) await(ctx context.Context, ended <-chan error) error {
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	for {
		timer := time.NewTimer(hookPatience)
		select {
		case err := <-ended:
			timer.Stop()
			return err
		case <-timer.C:
		}
		if c.blocked() {
			return fmt.Errorf("%w: a hook has not returned, and what was begun waits for it: call this on another goroutine", context.Cause(ctx))
		}
	}
}
