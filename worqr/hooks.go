package worqr

// Hooks tell the daemon what its worker does. Each may be nil, and may be called from any
// goroutine. It must not block, as the work that it is about goes on when it has returned. Within a
// hook Fail, StopWork, StartWork, Drain and Mesh.Close may have to wait for that work, and so for
// the hook: they end with their context then, Close a while after the Grace, with an error. Call
// them on another goroutine. A panic is logged with its stack, and given to OnError. No hook is
// called after Run has returned.
type Hooks struct {
	OnJoin  func(worker string)              // registered, also as a new worker after a lapse
	OnLeave func(worker string)              // its processes returned, its registration ended
	OnLapse func(worker string, cause error) // its processes may belong to others; it joins again, and rests if it lapses often
	OnTake  func(p *Process)                 // a task has come into its hands
	// OnSettle is called when a process is not in the worker's hands any more, with what became of
	// its task. With an error the outcome is "": the process may be another worker's, or it is not
	// known what became of it (ErrUnknown).
	OnSettle  func(p *Process, result Outcome, err error)
	OnReclaim func(worker, queue string, returned int) // it put back what a dead peer held, or so much of that
	OnReady   func()                                   // the notifications are subscribed, again too
	OnError   func(err error)                          // what nobody can be given; the worker goes on
}

// Outcome is what became of the task of a process that was in a worker's hands.
type Outcome string

// The outcomes. What a stop puts back in one step is OutcomeReturned, also what is dropped there as
// it was canceled.
const (
	OutcomeDone     Outcome = "done"     // finished, by Process.Finish or its handler's return, and removed
	OutcomeCanceled Outcome = "canceled" // it was canceled, its handler has returned, and it was removed
	OutcomeReturned Outcome = "returned" // it went back to the queue, or to the worker that it moves to
	OutcomeDropped  Outcome = "dropped"  // it was to go back, and was removed: canceled, or its queue deleted
	// OutcomeGone: Redis did not have it in this worker's hands any more, as when its key was
	// removed by hand.
	OutcomeGone Outcome = "gone"
)
