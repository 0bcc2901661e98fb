package events

import "fmt"

// Kind is what happened. The first four are kinds of a queue, for [Listener.On]. The others are
// kinds of the mesh, for [Listener.OnMesh].
type Kind uint8

const (
	// Work means that tasks were added to those that wait in a queue. They were enqueued or put
	// back. Sets Queue and Count.
	Work Kind = iota + 1

	// Cancel means that a task was canceled. Copies that waited are removed, and the contexts of
	// those in hand end. Sets Queue, Token, Task, Size and, for a Task that was cut, Sum.
	Cancel

	// Delete means that a queue was deleted. What waited is removed, and what is in hand goes on.
	// Sets Queue and Token.
	Delete

	// Done means that a process was finished. Sets Queue, Worker, Process, Token, Task and Size.
	Done

	// Joined means that a worker joined the mesh. Sets Worker.
	Joined

	// Left means that a worker left, after it had put back what it held. Sets Worker.
	Left

	// Lapsed means that a peer found that a worker's heartbeat has ended. Sets Worker.
	Lapsed

	// Reclaimed means that all that a lapsed worker held is back in its queues. Sets Worker.
	Reclaimed
)

var kindWords = [...]string{"", "work", "cancel", "delete", "done", "joined", "left", "lapsed", "reclaimed"}

// String returns the name of the constant in lower case: "work", "joined" and so on.
func (k Kind) String() string {
	if k == 0 || int(k) >= len(kindWords) {
		return fmt.Sprintf("kind(%d)", uint8(k))
	}
	return kindWords[k]
}

// Event is one thing that happened. The constants of [Kind] name the fields that are set; the
// others are zero.
type Event struct {
	Kind  Kind
	Queue string // the name of the queue

	// Count is how many tasks came. In a callback of Worker.On it may also be how many the worker
	// found waiting.
	Count int

	// Task is the task, or its first 4096 bytes when Size is greater than its length. All callbacks
	// share its memory: it may be read and kept, but not written to.
	Task []byte

	Size int    // the size of the whole task in bytes
	Sum  string // the SHA-1 of the whole task in hex, for a Cancel whose Task was cut

	Worker  string // the id of the worker
	Process string // the id of the process, as from Process.ID

	// Token is a fencing token. Tokens of a queue only rise. With Done it is that of the process.
	// Cancel and Delete draw one of their own: they concern the processes with a lower token.
	Token int64
}
