package worqr

import "fmt"

// Takeover says what lets a peer take over the tasks of a worker that died. Where nothing else is said, it is Fast for one-shot
// tasks, which are delivered at least once anyway, and Strict for persistent ones.
type Takeover int

const (
	_      Takeover = iota
	Strict          // its lapse: no two hold a task
	Fast            // also the end of its process, as the server sees it: within about half a second; see the package's words
)

func (t Takeover) check() error {
	if t < 0 || t > Fast {
		return fmt.Errorf("Takeover: %d is neither Strict nor Fast", t)
	}
	return nil
}

// fast tells whether peers may take over from a worker that is not present.
func (q Queue) fast() bool { return q.Takeover == Fast || q.Takeover == 0 && !q.Persistent }

// queue is how a queue is served, also one that was not configured.
func (c *WorkerConfig) queue(name string) Queue {
	if q, ok := c.Queues[name]; ok {
		return q
	}
	return Queue{Takeover: c.Takeover}
}
