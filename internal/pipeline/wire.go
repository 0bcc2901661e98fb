package pipeline

import (
	"context"
	"runtime"
	"sync"
	"time"
)

const (
	// From this many callers on, the writer lets other goroutines run before it flushes, so that
	// their requests join the batch. With fewer callers it does so only while nothing is flying:
	// otherwise it is better that Redis works on some requests while others come.
	crowd = 8
	// A reply that takes longer than this sends the next requests over another connection.
	slowAnswer = 20 * time.Millisecond

	leastPause = 10 * time.Millisecond  // between two attempts to dial
	mostPause  = 250 * time.Millisecond // so an outage costs each wire four attempts a second
)

// wire owns one connection at a time, and the goroutine that writes to it.
type wire struct {
	pipe *Pipe

	mu      sync.Mutex
	queue   []Request
	spare   []Request // the array of the previous queue, to be used again
	link    *link     // nil: none yet
	started bool
	closed  bool
	filled  chan struct{} // a flag

	// Used by the writer alone.
	last   int // callers of the last flush
	pause  time.Duration
	notYet time.Time // when to dial again
}

func newWire(p *Pipe) *wire { return &wire{pipe: p, filled: make(chan struct{}, 1)} }

// add queues a request, unless the pipe is closed.
func (w *wire) add(r Request) bool {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return false
	}
	if !w.started {
		w.started = true
		w.pipe.wait.Go(w.write)
	}
	first := len(w.queue) == 0
	w.queue = append(w.queue, r)
	w.mu.Unlock()
	if first {
		select {
		case w.filled <- struct{}{}:
		default:
		}
	}
	return true
}

// age returns for how long the oldest request that was sent has waited for its reply.
func (w *wire) age(now time.Time) time.Duration {
	w.mu.Lock()
	l := w.link
	w.mu.Unlock()
	if l == nil {
		return 0
	}
	return l.age(now)
}

// close refuses what comes from now on. The writer completes what is queued, and ends.
func (w *wire) close() {
	w.mu.Lock()
	w.closed = true
	l := w.link
	w.mu.Unlock()
	if l != nil {
		l.fail(ErrClosed)
	}
}

// retire ends the present connection once its replies have come.
func (w *wire) retire() {
	w.mu.Lock()
	l := w.link
	w.mu.Unlock()
	if l != nil {
		l.retire()
	}
}

// grab removes and returns all that is queued.
func (w *wire) grab() []Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	batch := w.queue
	w.queue, w.spare = w.spare[:0], batch
	return batch
}

// write sends what is queued, until the pipe is closed.
func (w *wire) write() {
	for w.pipe.ctx.Err() == nil {
		select {
		case <-w.filled:
		case <-w.pipe.ctx.Done():
			continue
		}
		l, err := w.connected()
		if w.pipe.ctx.Err() != nil {
			break
		}
		if err != nil {
			refuse(w.grab(), err)
			continue
		}
		if flying := l.callers(); flying == 0 || w.last+flying+w.waiting() >= crowd {
			runtime.Gosched()
		}
		w.last = l.send(w.grab())
	}
	refuse(w.grab(), ErrClosed)
}

func (w *wire) waiting() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.queue)
}

// refuse completes requests that were not sent, unless they were withdrawn.
func refuse(batch []Request, err error) {
	for i, r := range batch {
		if _, _, callers := r.Command(); callers > 0 {
			r.Answered(nil, false, err)
		}
		batch[i] = nil
	}
}

// connected returns a link that works, as far as is known. It dials when there is none, after a
// pause if the last attempt failed. What is queued meanwhile waits for the next attempt.
func (w *wire) connected() (*link, error) {
	w.mu.Lock()
	l := w.link
	w.mu.Unlock()
	if l != nil && l.usable() {
		return l, nil
	}
	if !w.rest(time.Until(w.notYet)) {
		return nil, ErrClosed
	}
	ctx, cancel := context.WithTimeout(w.pipe.ctx, w.pipe.cfg.Timeout)
	defer cancel()
	conn, err := w.pipe.cfg.Dial(ctx)
	if err != nil {
		w.pause = min(max(2*w.pause, leastPause), mostPause)
		w.notYet = time.Now().Add(w.pause)
		return nil, err
	}
	w.pause = 0
	l = newLink(conn, w.pipe.cfg)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		l.fail(ErrClosed)
		return nil, ErrClosed
	}
	w.link = l
	w.pipe.wait.Go(func() {
		defer context.AfterFunc(w.pipe.ctx, func() { l.fail(ErrClosed) })() // also if it was replaced
		l.read()
	})
	return l, nil
}

// rest waits for d and reports whether the pipe is still open. It returns early when the pipe is
// closed.
func (w *wire) rest(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-w.pipe.ctx.Done():
		return false
	}
}
