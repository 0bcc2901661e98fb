package worqr

import "sync"

// outbox holds the processes whose outcome is to be sent. They go with the next take, or the
// settler sends them: as many in one command as have come together while the last command was under
// way.
type outbox struct {
	mu     sync.Mutex
	queue  []*Process
	again  []*Process    // was sent and not answered: only the settler sends it again, so that it holds up no take
	closed error         // why nothing is accepted any more
	filled chan struct{} // a flag
}

func newOutbox() *outbox { return &outbox{filled: make(chan struct{}, 1)} }

// add takes a process in, or returns why not.
func (o *outbox) add(p *Process) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed != nil {
		return o.closed
	}
	o.queue = append(o.queue, p)
	return nil
}

// restore hands what was not answered to the settler, or returns why nothing is accepted any more.
func (o *outbox) restore(batch []*Process) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed != nil {
		return o.closed
	}
	o.again = append(o.again, batch...)
	signal(o.filled)
	return nil
}

// fresh takes up to a chunk out of what was not sent yet.
func (o *outbox) fresh() []*Process {
	o.mu.Lock()
	defer o.mu.Unlock()
	return chunk(&o.queue)
}

// next takes up to a chunk out, what was sent before first.
func (o *outbox) next() []*Process {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.again) > 0 {
		return chunk(&o.again)
	}
	return chunk(&o.queue)
}

// chunk takes up to a chunk off the front of a list.
func chunk(list *[]*Process) []*Process {
	n := min(len(*list), chunkTasks)
	batch := (*list)[:n:n]
	if *list = (*list)[n:]; len(*list) == 0 {
		*list = nil // lets go of the array
	}
	return batch
}

// close refuses what comes from now on, for this reason, and returns what was not taken out.
func (o *outbox) close(why error) []*Process {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed == nil {
		o.closed = why
	}
	rest := append(o.again, o.queue...)
	o.again, o.queue = nil, nil
	return rest
}
