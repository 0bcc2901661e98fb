package wire

import (
	"context"
	"math"
	"slices"
)

var (
	auditScript = Named("audit")
	heldScript  = Named("held")
	trimScript  = Named("trim")
)

// Audit is a page of who is in a queue.
type Audit struct {
	Next           string // cursor, "0" at the end
	Waiting, Marks int
	Oldest         int64 // token in hand on this page; 0: none, or there are no marks
	Members        []Member
}

// Member is a membership as the queue knows it.
type Member struct {
	ID        string
	Returning bool // it is out, and its processes are on their way to the front
	Held      int
}

// Audit lists the page at a cursor, "0" for the first.
func (q Queue) Audit(ctx context.Context, cursor string) (Audit, error) {
	reply, err := q.ask(ctx, auditScript, cursor)
	return decoded(reply, err, decodeAudit)
}

func decodeAudit(reply any) (p Audit, err error) {
	a := listOf("audit", reply, 4)
	p.Next, p.Waiting, p.Marks, p.Oldest = a.text(), a.count(), a.count(), a.integer()
	for range a.rows(3) {
		p.Members = append(p.Members, Member{ID: a.text(), Returning: a.text() == "returning", Held: a.count()})
	}
	return p, a.all()
}

// Held is a page of the processes of a membership.
type Held struct {
	Next string // token to go on after, "" at the end
	Rows []HeldRow
}

// HeldRow is a process.
type HeldRow struct {
	Process string
	Token   int64
	Task    []byte
}

// Held lists the processes of a membership behind a token, "0" for the first page: with the filter
// "" all without their tasks, with "*" all, else the copies of one task by its fingerprint.
func (q Queue) Held(ctx context.Context, member, after, filter string) (Held, error) {
	reply, err := q.ask(ctx, heldScript, member, after, Most, filter)
	return decoded(reply, err, decodeHeld)
}

func decodeHeld(reply any) (h Held, err error) {
	a := listOf("held", reply, 1)
	h.Next = a.text()
	for range a.rows(3) {
		h.Rows = append(h.Rows, HeldRow{a.text(), a.integer(), a.bytes()})
	}
	return h, a.all()
}

// Trim drops the cancel marks that concern nobody any more. oldest is the oldest token in hand, 0:
// none. It reports whether the queue may be forgotten.
func (q Queue) Trim(ctx context.Context, oldest int64) (empty bool, err error) {
	reply, err := q.ask(ctx, trimScript, oldest)
	return decoded(reply, err, decodeTrim)
}

func decodeTrim(reply any) (empty bool, err error) {
	a := listOf("trim", reply, 2)
	_, empty = a.count(), a.flag()
	return empty, a.all()
}

// Len is how many tasks wait.
func (q Queue) Len(ctx context.Context) (int, error) {
	reply, err := q.mesh.send.Read(ctx, "LLEN", q.tasks())
	return decoded(reply, err, decodeLen)
}

func decodeLen(reply any) (int, error) { return decodeCount("LLEN", reply) }

// Tasks lists up to limit waiting tasks, beginning offset tasks behind the front, in the order in
// which they will be taken.
func (q Queue) Tasks(ctx context.Context, offset, limit int) ([][]byte, error) {
	limit = min(limit, math.MaxInt-offset-1)
	// the front is the right end of the list
	reply, err := q.mesh.send.Read(ctx, "LRANGE", q.tasks(), -(offset + limit), -(offset + 1))
	tasks, err := decoded(reply, err, decodeTasks)
	slices.Reverse(tasks)
	return tasks, err
}

func decodeTasks(reply any) (tasks [][]byte, err error) {
	a := listOf("LRANGE", reply, 0)
	for range a.left() {
		tasks = append(tasks, a.bytes())
	}
	return tasks, a.all()
}

func (q Queue) tasks() string { return q.key + ":tasks" }
