package wire

import "context"

var enqueueScript = Named("enqueue")

// Batch is one enqueue, made task by task by who sends it on a connection of his own: several
// callers share one. It may be sent once.
type Batch struct {
	Name string // of the command
	Args []any
}

// BatchHead is what all batches of a queue begin with.
type BatchHead struct{ words []any }

// Enqueue returns the head of the batches of this queue.
func (q Queue) Enqueue(ctx context.Context) (BatchHead, error) {
	root, err := q.mesh.channels(ctx)
	if err != nil {
		return BatchHead{}, err
	}
	return BatchHead{enqueueScript.Command(q.key, nil, root, q.Name)}, nil
}

// Begin makes a batch with room for so many tasks.
func (h BatchHead) Begin(tasks int) Batch {
	return Batch{"EVALSHA", append(make([]any, 0, len(h.words)+tasks), h.words...)}
}

// Add adds a task.
func (b *Batch) Add(task []byte) { b.Args = append(b.Args, stored(task)) }

// Again reports whether the batch was not run, as the server did not know the script, and is to be
// sent again: it has the text of it then.
func (b *Batch) Again(err error) bool {
	if b.Name != "EVALSHA" || !UnknownScript(err) {
		return false
	}
	b.Name, b.Args[0] = "EVAL", enqueueScript.Source
	return true
}

// Enqueued is what an enqueue found.
type Enqueued struct {
	Waiting int
	Note    bool // the queue had neither tasks nor members: note it again
}

// DecodeEnqueue reads the answer to a batch.
func DecodeEnqueue(reply any) (e Enqueued, err error) {
	a := listOf("enqueue", reply, 2)
	e.Waiting, e.Note = a.count(), a.flag()
	return e, a.all()
}
