//go:build linux

package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/worqr/worqr-go/internal/witness"
	"github.com/worqr/worqr-go/worqr"
)

// setup describes a worker process. It is passed as JSON.
type setup struct {
	URL, Namespace, Name string
	Witness, Records     string // an address, a file
	Timing               timing
	Queues               []string
	Capacity             int
	StartRate, GroupRate float64
	MoveRate             float64
	Limit                int
	Takeover             worqr.Takeover
	Liar                 bool // it ignores the ends of its contexts for a lapse
}

type timing struct{ Beat, Lapse, Sweep, Settle time.Duration }

const (
	claims    = 5 * time.Millisecond   // between two claims of a holder
	told      = 20 * time.Millisecond  // between two that are stated to the witness
	writes    = 200 * time.Millisecond // between two checkpoints
	mostSlack = 30                     // milliseconds that a handler needs to close what it holds
)

var (
	reasons = []string{"", "death", "handover", "drain", "rebalance", "returned", "?"}
	causes  = []string{"?", "broken", "handover", "stopping", "canceled", "lapsed", "fenced", "gone", "settled"}
	ofCause = []error{nil, errBroken, worqr.ErrHandover, worqr.ErrStopping, worqr.ErrCanceled, worqr.ErrLapsed,
		worqr.ErrFenced, worqr.ErrGone, worqr.ErrSettled}
	errBroken = errors.New("the feed broke")
)

// holder is a worker process. It holds what it is given, and claims it outside for as long as it
// may. It prints what happens to it on stdout, on one line each, which begins with a stamp. Orders
// come on stdin.
type holder struct {
	setup   setup
	teller  *witness.Teller
	records *records
	skew    *skew
	worker  *worqr.Worker

	armed atomic.Value // string: where it is to freeze or die, and which of the two

	mu   sync.Mutex
	held map[*record]*worqr.Process
	feed map[int]context.CancelCauseFunc
}

func beHolder(args []string) {
	h := &holder{held: map[*record]*worqr.Process{}, feed: map[int]context.CancelCauseFunc{}}
	must(json.Unmarshal([]byte(args[0]), &h.setup))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	var err error
	if h.skew, err = newSkew(); err != nil {
		h.say("no skew: %v", err)
	}
	h.records, err = mapRecords(h.setup.Records)
	must(err)
	h.teller, err = witness.Dial(context.Background(), h.setup.Witness, h.setup.Name)
	must(err)
	go h.claim() // ends with the process, as the next one does
	go h.orders()
	m, err := worqr.Open(ctx, h.setup.URL, worqr.Config{Namespace: h.setup.Namespace, WaitForRedis: true})
	if ctx.Err() == nil {
		must(err)
		h.worker, err = m.NewWorker(h.config())
		must(err)
		if err := h.worker.Run(ctx); err != nil {
			h.say("run: %v", err)
		}
		if err := m.Close(); err != nil {
			h.say("close: %v", err)
		}
	}
	must(h.teller.Close())
	h.say("stopped")
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// say prints a line in one piece, at once.
func (h *holder) say(format string, args ...any) {
	_, _ = os.Stdout.WriteString(fmt.Sprintf("%d ", stamp()) + strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " ") + "\n") // nobody is left to receive an error
}

func (h *holder) config() worqr.WorkerConfig {
	at, queues := h.setup.Timing, map[string]worqr.Queue{}
	for _, name := range h.setup.Queues {
		queues[name] = worqr.Queue{Handler: worqr.HandlerFunc(h.hold), Persistent: true, Limit: h.setup.Limit, Takeover: h.setup.Takeover, Hold: worqr.Hold{
			Settle: at.Settle, MoveRate: h.setup.MoveRate, StartRate: h.setup.StartRate,
			GroupRate: h.setup.GroupRate, Group: func(task []byte) string { return string(task[len(task)-1:]) },
		}}
	}
	return worqr.WorkerConfig{
		Queues: queues, Capacity: h.setup.Capacity,
		Beat: at.Beat, Lapse: at.Lapse, Sweep: at.Sweep, Grace: 4 * at.Lapse, // longer than any handler overstays
		Hooks: worqr.Hooks{
			OnJoin:  func(worker string) { h.say("joined %s", worker); h.pass("join") },
			OnLeave: func(worker string) { h.say("left %s", worker) },
			OnLapse: func(worker string, cause error) { h.say("lapsed %s: %v", worker, cause); h.pass("lapse") },
			OnReclaim: func(worker, _ string, n int) {
				h.say("reclaimed %d of %s", n, worker)
				h.pass("reclaim")
			},
			OnReady: func() { h.say("ready") },
			OnTake: func(p *worqr.Process) {
				h.say("took %s: %s, token %d", p.Task(), p.ID(), p.Token())
				h.pass("take")
			},
			OnSettle: func(p *worqr.Process, result worqr.Outcome, err error) {
				h.say("settled %s: %s: %s %v", p.Task(), p.ID(), result, err)
				if err != nil { // it comes back by another way, without what was written last
					h.records.excuse()
				}
				h.pass("settle")
			},
			OnError: func(err error) {
				h.say("error: %v", err)
				if strings.Contains(err.Error(), "checkpoints of queue") {
					h.records.excuse()
				}
			},
		},
	}
}

// hold is the handler.
func (h *holder) hold(ctx context.Context, p *worqr.Process) error {
	h.pass("begin")
	r, past := h.records.add(), p.Past()
	r.task.Store(int64(numberOf(string(p.Task()))))
	r.token.Store(p.Token())
	r.before.Store(past.Token)
	r.why.Store(int64(index(reasons, string(past.Why))))
	copy(r.process[:], p.ID())
	saved, _ := strconv.ParseInt(string(past.Checkpoint), 10, 64) // none is 0
	r.from.Store(saved)
	r.start.Store(int64(stamp()))
	if !h.claimed(r, p) {
		return context.Cause(ctx)
	}
	r.begun.Store(true)
	valid := p.Valid
	if h.setup.Liar {
		valid = nil
	}
	hold := h.teller.Hold(string(p.Task()), p.Token(), string(past.Why), valid)
	feed, cut := context.WithCancelCause(ctx)
	defer cut(nil)
	h.mu.Lock()
	h.held[r] = p
	h.feed[int(r.task.Load())] = cut
	h.mu.Unlock()

	saved = h.work(feed, p, r, saved)
	cause := context.Cause(feed)
	h.slack(cause)
	h.pass("slack")
	h.save(context.Background(), p, r, saved+1) // where the next is to go on

	h.mu.Lock()
	delete(h.held, r)
	h.mu.Unlock()
	hold.Done()
	r.cause.Store(int64(whichOf(cause)))
	r.end.Store(int64(stamp()))
	h.say("ended %s: %s: %v", p.Task(), p.ID(), cause)
	h.pass("return")
	return h.leave(ctx, p, r, cause)
}

// work writes a checkpoint now and then until the feed ends, and returns the last.
func (h *holder) work(feed context.Context, p *worqr.Process, r *record, saved int64) int64 {
	tick := time.NewTicker(writes)
	defer tick.Stop()
	for {
		select {
		case <-feed.Done():
			return saved
		case <-tick.C:
		}
		saved++
		h.save(feed, p, r, saved)
	}
}

func (h *holder) save(ctx context.Context, p *worqr.Process, r *record, number int64) {
	if err := p.Checkpoint(ctx, []byte(strconv.FormatInt(number, 10))); err == nil {
		r.acked.Store(number)
	}
}

// slack is the time that it takes to close what is held.
func (h *holder) slack(cause error) {
	switch {
	case h.setup.Liar:
		<-time.After(h.setup.Timing.Lapse * 2)
	case rand.IntN(20) == 0: // one that takes long, and acts no more
		<-time.After(time.Duration(rand.Int64N(int64(3 * h.setup.Timing.Lapse))))
	case errors.Is(cause, worqr.ErrHandover), errors.Is(cause, worqr.ErrStopping), errors.Is(cause, worqr.ErrCanceled):
		<-time.After(time.Duration(rand.IntN(mostSlack)) * time.Millisecond)
	}
}

// claim states for all that is held, again and again, that it is held.
func (h *holder) claim() {
	for range time.Tick(claims) {
		h.mu.Lock()
		for r, p := range h.held {
			h.claimed(r, p)
		}
		h.mu.Unlock()
	}
}

// claimed makes one claim, if it is true: for the instant before Valid was called.
func (h *holder) claimed(r *record, p *worqr.Process) bool {
	deadline, at := stampOf(p.Deadline()), stamp()
	if int64(deadline) > r.deadline.Load() { // also of one that is being ended: it moves on while the worker lives
		r.deadline.Store(int64(deadline))
	}
	if !p.Valid() && !h.setup.Liar {
		return false
	}
	r.claim.Store(int64(at))
	return true
}
