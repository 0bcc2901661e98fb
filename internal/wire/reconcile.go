package wire

import "context"

var (
	addScript        = Named("add")
	generationScript = Named("generation")
	presentScript    = Named("present")
	dropScript       = Named("drop")
)

// Added is what an add found.
type Added struct {
	Waiting int
	Note    bool // the queue had neither tasks nor members: note it again
	Added   int  // were not there
}

// Add stores up to Most persistent tasks, but for those that are present. generation is that of a
// Reconcile, or "". Errors: ErrPlain, ErrSuperseded, ErrRedisFull.
func (q Hold) Add(ctx context.Context, generation string, tasks [][]byte) (Added, error) {
	args := append(make([]any, 0, 1+len(tasks)), generation)
	for _, task := range tasks {
		args = append(args, stored(task))
	}
	reply, err := q.ask(ctx, addScript, args...)
	return decoded(reply, err, decodeAdd)
}

func decodeAdd(reply any) (d Added, err error) {
	a := listOf("add", reply, 3)
	d.Waiting, d.Note, d.Added = a.count(), a.flag(), a.count()
	return d, a.all()
}

// Generation begins a Reconcile, and ends the reach of all earlier ones. Errors: ErrConfig.
func (q Hold) Generation(ctx context.Context) (string, error) {
	reply, err := q.ask(ctx, generationScript)
	return decoded(reply, err, decodeGeneration)
}

func decodeGeneration(reply any) (string, error) { return decodeText("generation", reply) }

// Page is a page of tasks.
type Page struct {
	Next  string // cursor, "0" at the end
	Tasks []string
}

// Present lists the persistent tasks at a cursor, "0" for the first page.
func (q Hold) Present(ctx context.Context, cursor string) (Page, error) {
	reply, err := q.ask(ctx, presentScript, cursor)
	return decoded(reply, err, decodePresent)
}

func decodePresent(reply any) (p Page, err error) {
	a := listOf("present", reply, 1)
	p.Next = a.text()
	for range a.left() {
		p.Tasks = append(p.Tasks, a.text())
	}
	return p, a.all()
}

// Drop cancels persistent tasks, and returns how many of them were there. Errors: ErrSuperseded.
func (q Hold) Drop(ctx context.Context, generation string, tasks []string) (int, error) {
	args := append(make([]any, 0, 1+len(tasks)), generation)
	for _, task := range tasks {
		args = append(args, task)
	}
	reply, err := q.ask(ctx, dropScript, args...)
	return decoded(reply, err, decodeDrop)
}

func decodeDrop(reply any) (int, error) { return decodeCount("drop", reply) }
