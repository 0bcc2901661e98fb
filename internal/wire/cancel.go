package wire

import "context"

var (
	cancelScript = Named("cancel")
	tellScript   = Named("tell")
	deleteScript = Named("delete")
)

// Canceled is what a cancel found.
type Canceled struct {
	Waiting int // copies that waited and were removed
	Mark    int64
	Named   bool // all copies in hand are named, and holders were told; else see Held and Tell
	Copies  []Copy
}

// Copy is a process that holds a copy of the task.
type Copy struct {
	Process string
	Token   int64
}

// Cancel ends every copy of a task that there is.
func (q Queue) Cancel(ctx context.Context, task []byte, ticket int64) (Canceled, error) {
	reply, err := q.ask(ctx, cancelScript, stored(task), ticket)
	return decoded(reply, err, decodeCancel)
}

func decodeCancel(reply any) (c Canceled, err error) {
	a := listOf("cancel", reply, 3)
	c.Waiting, c.Mark, c.Named = a.count(), a.integer(), a.flag()
	for range a.rows(2) {
		c.Copies = append(c.Copies, Copy{a.text(), a.integer()})
	}
	return c, a.all()
}

// Tell sends holders the hint of a cancel that did not name the copies.
func (q Queue) Tell(ctx context.Context, task []byte, mark int64) error {
	_, err := q.ask(ctx, tellScript, stored(task), mark)
	return err
}

// Deleted is what a delete found.
type Deleted struct {
	Waiting int // tasks that were removed
	Mark    int64
}

// Delete removes the waiting tasks, and marks the queue.
func (q Queue) Delete(ctx context.Context, ticket int64) (Deleted, error) {
	reply, err := q.ask(ctx, deleteScript, ticket)
	return decoded(reply, err, decodeDelete)
}

func decodeDelete(reply any) (d Deleted, err error) {
	a := listOf("delete", reply, 2)
	d.Waiting, d.Mark = a.count(), a.integer()
	return d, a.all()
}
