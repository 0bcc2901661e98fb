package worqr

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/worqr/worqr-go/heartbeat"
	"github.com/worqr/worqr-go/internal/share"
	"github.com/worqr/worqr-go/internal/wire"
)

// Queue configures how a worker serves a queue.
type Queue struct {
	Handler Handler // required
	// Limit is how many handlers run at once; 0 means 1, and no limit where tasks are persistent.
	// While handlers return within a millisecond, as many tasks more, but 16 at the least and 64 at
	// the most, are in hand and start as slots become free; what then waits for 10 ms goes back to
	// the front.
	Limit int
	// Persistent: a handler holds its task until its context ends, and the workers of the queue
	// share its tasks out by Capacity. What returns before goes back with a delay, of 100 ms
	// doubling to 30 s; ErrDone and Process.Finish end the task. A queue is persistent for all
	// workers or for none. See docs/persistent.md.
	Persistent bool
	// Takeover is what lets peers take over the queue's tasks when this worker dies. The zero
	// value: what the worker's says.
	Takeover Takeover
	Hold     Hold // how persistent tasks are held
}

// WorkerConfig configures a Worker. The zero value works.
type WorkerConfig struct {
	// Queues that Run serves. Others can be served by StartWork and Take.
	Queues map[string]Queue
	// Beat is the time between two heartbeats: at most a third of Lapse. Default 1 s, or a third of
	// Lapse when that is less.
	Beat time.Duration
	// Lapse is how long a worker counts as alive after a heartbeat. It is the same for the whole
	// mesh: the first worker decides, another value is refused while workers are registered. At
	// least 100 ms, whole milliseconds. Default 3 s.
	Lapse time.Duration
	// Margin is how long before its lapse a worker ends its handlers, so that they have returned
	// when a peer takes over. Below a third of Lapse. Default Lapse/10.
	Margin time.Duration
	// Sweep is the time between two looks at the peers. Default 1 s.
	Sweep time.Duration
	// Grace is how long handlers may go on after a stop. Default 10 s.
	Grace time.Duration
	// Takeover is that of each queue which does not say. The zero value: Fast for one-shot tasks,
	// Strict for persistent ones.
	Takeover Takeover
	// Capacity is the worker's weight where work is shared out. Default 1.
	Capacity int
	// Labels are shown where workers are listed.
	Labels map[string]string
	Hooks  Hooks
}

// withDefaults fills the zero values and checks the rest.
func (c WorkerConfig) withDefaults() (WorkerConfig, error) {
	beat, err := heartbeat.Config{Every: c.Beat, TTL: c.Lapse, Margin: c.Margin}.WithDefaults()
	if err != nil {
		text := strings.TrimPrefix(err.Error(), heartbeat.ErrConfig.Error()+": ")
		return c, fmt.Errorf("%w: %s", ErrConfig, strings.NewReplacer("Every", "Beat", "TTL", "Lapse").Replace(text))
	}
	c.Beat, c.Lapse, c.Margin = beat.Every, beat.TTL, beat.Margin
	refuse := func(format string, args ...any) (WorkerConfig, error) {
		return c, fmt.Errorf("%w: "+format, append([]any{ErrConfig}, args...)...)
	}
	if c.Lapse%time.Millisecond != 0 {
		return refuse("Lapse: %v is not a whole number of milliseconds", c.Lapse)
	}
	if c.Sweep == 0 {
		c.Sweep = time.Second
	}
	if c.Grace == 0 {
		c.Grace = 10 * time.Second
	}
	if c.Capacity == 0 {
		c.Capacity = 1
	}
	if err := c.Takeover.check(); err != nil {
		return refuse("%w", err)
	}
	switch {
	case c.Sweep < 2*time.Millisecond:
		return refuse("Sweep: %v is below 2ms", c.Sweep)
	case c.Grace < 0:
		return refuse("Grace: %v is below 0", c.Grace)
	case c.Capacity < 0:
		return refuse("Capacity: %d is below 0", c.Capacity)
	case c.Capacity > share.MaxWeight:
		return refuse("Capacity: %d is above %d", c.Capacity, share.MaxWeight)
	}
	queues := map[string]Queue{}
	for name, q := range c.Queues {
		if err := wire.CheckQueue(name); err != nil {
			return refuse("Queues: %w", err)
		}
		if q.Handler == nil {
			return refuse("Queues: the Handler of queue %q is nil", name)
		}
		if f, ok := q.Handler.(HandlerFunc); ok && f == nil {
			return refuse("Queues: the Handler of queue %q is nil", name)
		}
		if q.Limit < 0 {
			return refuse("Queues: the Limit of queue %q is %d, below 0", name, q.Limit)
		}
		if q.Takeover == 0 {
			q.Takeover = c.Takeover
		}
		if err := q.Takeover.check(); err != nil {
			return refuse("Queues: queue %q: %w", name, err)
		}
		if q.Hold, err = q.Hold.withDefaults(q.Persistent); err != nil {
			return refuse("Queues: queue %q: %w", name, err)
		}
		if !q.Persistent {
			q.Limit = max(q.Limit, 1)
		}
		queues[name] = q
	}
	c.Queues, c.Labels = queues, maps.Clone(c.Labels)
	return c, nil
}
