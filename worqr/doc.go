// Package worqr is a peer-supervised worker mesh for Go daemons. Redis is the only shared part: no
// broker process, no leader, no cleaner to deploy. Workers take tasks, hold them as processes,
// prove that they live by a heartbeat, watch each other, and put a dead peer's processes back at
// the front of the queue.
//
// # Words
//
// A task is raw bytes. A queue is a FIFO list of tasks. A process is a task in a worker's hands,
// with an id and a token. A worker is one incarnation of a daemon's membership: a restarted or
// lapsed one is a new worker with a new id. The mesh is all workers under one namespace. A worker
// beats; one whose heartbeat ran out has lapsed, and peers reclaim what it held. Tasks are taken,
// and finished or stopped. Cancel ends every copy of a task, delete empties a queue.
//
// # Promises
//
//   - A task that was accepted is never lost by the mesh (Redis's own durability aside).
//   - One-shot tasks are delivered at least once; at any instant at most one worker owns a process;
//     Finish returns true to exactly one caller for each delivered task.
//   - A persistent task has at most one holder: a holder stops itself before any peer may take
//     over, and every process carries a fencing token that only rises, for what lies outside Redis.
//   - Tasks are raw bytes, stored unwrapped; pub/sub only wakes: the truth is re-read after every
//     (re)subscribe and on a slow poll.
//
// # What is not promised
//
// A task may be run twice: its worker died, or was cut off, after the work and before Finish was
// answered. Make the work repeatable, or let what it touches refuse a token lower than the last one
// it saw. There is no history, no schedule, no result store and no priority. For those use a job
// queue; for millions of messages with replay, a log.
//
// # The states of a task
//
//	           Enqueue              take                 Finish
//	producer ----------> waiting ----------> in hand ----------> done
//	                        ^                   |
//	                        |   front or back   |  Stop, StopWork, a failed handler,
//	                        +-------------------+  Fail, death or lapse (by a peer)
//
// Cancel removes waiting copies, and marks the others: a marked one that would come back is
// dropped. DeleteQueue does the same to all that waits.
//
// # Persistent tasks
//
// With Queue.Persistent a handler holds its task until its context ends. The workers of the queue
// share its tasks out by Capacity: the tasks that wait by the take itself, and what one holds above
// its share is handed over, the old handler having returned before the new one begins. A handler
// that returns gives the task back with a delay; ErrDone or Finish ends it. Mesh.Reconcile makes
// the tasks of a queue equal to a list, Mesh.Locate returns who holds one.
//
// # Takeover
//
// The lapse always lets a peer take over. Where Takeover is Fast the end of a process does too, as
// the server sees it: within about half a second. It is the default of one-shot tasks, and
// persistent ones can ask for it. A queue is Fast as long as the server sees the worker's presence
// connection: Worker.Takeover returns what it is now.
//
// Two can hold a persistent task that is taken over Fast in one case: the connection by which the
// server sees a worker is ended by the server or on the way, and the news of that is lost. It lasts
// until a ping goes unanswered, 2.45 s at most, and no longer than the lease. Process.Valid sees
// every other case.
//
// A one-shot task goes on when that connection is lost, as it may run twice anyway. If it cannot be
// restored within 300 ms a peer may run the task too, until the first worker hears of it: within a
// second, by looks every 250 ms, or by the end of its lease. Process.Valid is false from the first
// instant, and Finish returns true to one of them only. Takeover: Strict rules it out.
//
// # Two levels
//
// Worker.Run is the daemon's way: queues with handlers and limits; it drains when its context ends
// and joins again after a lapse. Below it is one call for each verb: Start, On, StartWork, Take,
// Process.Finish, Process.Stop, StopWork, Fail.
//
// # Time and trust
//
// A holder measures from before each beat was sent, and a timer, not the I/O path, ends its trust
// Margin before Redis can forget it: the contexts of its processes end with ErrLapsed. A judge that
// has any doubt (its own beats were late, Redis's clock jumped, Redis restarted, half the mesh is
// gone) waits a further lapse by its own monotonic clock. So two hold at once only when two clocks
// drift apart by more than Margin in one lapse, or a handler needs longer than that to return after
// its context ended. What is left, a pause between a check and an outside effect, is what the token
// is for. The package heartbeat has the argument.
//
// # Who owns which goroutine
//
// A Mesh owns its listener's, from the first Listener or Start until Close. A Worker owns one that
// tends it; each incarnation three (lease, looks, supervision), five more where a queue is taken
// over Fast (presence, watch), and each open queue two (dispatcher, settler), all of which have
// ended when Run, Fail or Close returns. A hook runs in one that lasts as long as its call, and is
// waited for. A handler runs in a goroutine of its own that cannot be ended from outside: one that
// ignores its context is named in the log, and keeps its slot until it returns.
package worqr
