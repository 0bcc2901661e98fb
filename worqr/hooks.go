package worqr

// Hooks tell the daemon what its worker does. Each may be nil, may be called from any goroutine, and must not block.
type Hooks struct {
	OnJoin    func(worker string)                        // registered, also as a new worker after a lapse
	OnLeave   func(worker string)                        // its processes returned, its registration ended
	OnLapse   func(worker string, cause error)           // its processes may belong to others; it joins again
	OnTake    func(p *Process)                           // a task has come into its hands
	OnSettle  func(p *Process, result string, err error) // "done", "dropped" or "gone"; or why it is not known
	OnReclaim func(worker, queue string, returned int)   // it put back what a dead peer held, or so much of that
	OnReady   func()                                     // the notifications are subscribed, again too
	OnError   func(err error)                            // what nobody can be given; the worker goes on
}

func (h *Hooks) join(worker string) {
	if h.OnJoin != nil {
		h.OnJoin(worker)
	}
}

func (h *Hooks) leave(worker string) {
	if h.OnLeave != nil {
		h.OnLeave(worker)
	}
}

func (h *Hooks) lapse(worker string, cause error) {
	if h.OnLapse != nil {
		h.OnLapse(worker, cause)
	}
}

func (h *Hooks) take(p *Process) {
	if h.OnTake != nil {
		h.OnTake(p)
	}
}

func (h *Hooks) settle(p *Process, result outcome, err error) {
	if h.OnSettle != nil {
		h.OnSettle(p, string(result), err)
	}
}

func (h *Hooks) reclaim(worker, queue string, returned int) {
	if h.OnReclaim != nil {
		h.OnReclaim(worker, queue, returned)
	}
}

func (h *Hooks) ready() {
	if h.OnReady != nil {
		h.OnReady()
	}
}

func (h *Hooks) error(err error) {
	if h.OnError != nil && err != nil {
		h.OnError(err)
	}
}
