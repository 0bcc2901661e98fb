//go:build linux

package faults

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/worqr/worqr-go/worqr"
)

func (h *holder) orders() {
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		verb, arg, _ := strings.Cut(in.Text(), " ")
		switch verb {
		case "sync": // the witness has received all that was stated until now
			must(h.teller.Sync(context.Background()))
			fmt.Println("synced " + arg)
		case "clock":
			d, err := time.ParseDuration(arg)
			must(err)
			if h.skew != nil {
				must(h.skew.set(d))
			}
		case "end":
			task, how, _ := strings.Cut(arg, " ")
			h.mu.Lock()
			if cut := h.feed[numberOf(task)]; cut != nil {
				cut(ending(how))
			}
			h.mu.Unlock()
		case "at":
			h.armed.Store(arg)
		case "over": // the run is over: from now on it passes everywhere
			h.armed.Store("")
			run, err := strconv.ParseInt(arg, 10, 64)
			must(err)
			h.records.heard().Store(run)
		case "close": // and open again a while later
			name, pause, _ := strings.Cut(arg, " ")
			d, err := time.ParseDuration(pause)
			must(err)
			go h.reopen(name, d)
		case "term":
			must(syscall.Kill(os.Getpid(), syscall.SIGTERM))
		case "drain":
			go func() { h.say("drained: %v", h.worker.Drain(context.Background())) }()
		}
	}
}

// numberOf returns the number of a task. The task is "t" and its number.
func numberOf(task string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(task, "t"))
	must(err)
	return n
}

// index returns where word stands in list, or else the last index.
func index(list []string, word string) int {
	for i, w := range list {
		if w == word {
			return i
		}
	}
	return len(list) - 1
}

// whichOf returns where the cause stands in causes.
func whichOf(cause error) int {
	for i, err := range ofCause {
		if i > 0 && errors.Is(cause, err) {
			return i
		}
	}
	return 0
}

// reopen stops the work on a queue, and begins it again.
func (h *holder) reopen(queue string, pause time.Duration) {
	closing, cancel := context.WithTimeout(context.Background(), pause)
	defer cancel()
	h.say("stop work on %s: %v", queue, h.worker.StopWork(closing, queue))
	<-closing.Done()
	for {
		err := h.worker.StartWork(context.Background(), queue)
		h.say("start work on %s: %v", queue, err)
		if err == nil || errors.Is(err, worqr.ErrClosed) {
			return
		}
		<-time.After(20 * time.Millisecond)
	}
}

// leave settles, in the way that was ordered, what was not held until the end of its context.
func (h *holder) leave(ctx context.Context, p *worqr.Process, r *record, cause error) error {
	var e ending
	if !errors.As(cause, &e) {
		return cause
	}
	switch e {
	case "nil":
		return nil
	case "panic":
		panic(cause)
	case "done":
		return fmt.Errorf("%w: as ordered", worqr.ErrDone)
	case "stop":
		h.say("stop of %s: %v", p.ID(), p.Stop(ctx))
	case "finish":
		ok, err := p.Finish(ctx)
		r.done.Store(ok)
		h.say("finish of %s: %t %v", p.ID(), ok, err)
	}
	return cause
}

// ending is an ordered end of a handler.
type ending string

var endings = []ending{"error", "nil", "panic", "stop", "done", "finish"} // after the last two nobody holds the task again

func (e ending) Error() string { return "the feed broke: " + string(e) }

func (e ending) Is(err error) bool { return err == errBroken }

// places are where a worker may be ordered to freeze or to die.
var places = []string{"join", "lapse", "reclaim", "take", "settle", "begin", "slack", "return"}

// pass is called at each place. The hooks call it too, so it takes no lock.
func (h *holder) pass(place string) {
	armed, _ := h.armed.Load().(string)
	at, what, _ := strings.Cut(armed, " ")
	switch {
	case at != place || !h.armed.CompareAndSwap(armed, ""):
		return
	case what == "freeze":
		h.say("freezes at %s", place)
		must(syscall.Kill(os.Getpid(), syscall.SIGSTOP))
	case what == "die":
		h.say("dies at %s", place)
		must(syscall.Kill(os.Getpid(), syscall.SIGKILL))
	}
}
