package model

// roll is a persistent queue as it is to be: the tasks that are present, wherever they are.
type roll struct {
	name  string
	tasks map[string]*present
	tales map[string]*tale // of all tasks that ever were there
}

// present is one task that is there.
type present struct {
	// doomed is the process that had the task in hand when it was canceled, or its queue deleted:
	// the task ends with it. told: by a cancel, so the process is to end.
	doomed string
	told   bool
	again  bool // it was added once more since then: it waits for that end
}

// tale is what is known of a task from one hold to the next.
type tale struct {
	fresh bool  // nobody has held it since it was added
	loose bool  // what the next hold finds is not foretold
	last  *turn // the hold with the highest token
	floor int   // a checkpoint that was written: no later hold finds an earlier one
	kept  mark  // the last that was seen in Redis
	fails int   // holds in a row that ended by a return
	dead  int   // how many workers in a row died early in their hold, at most
}

func newRoll(name string) *roll {
	return &roll{name: name, tasks: map[string]*present{}, tales: map[string]*tale{}}
}

func (q *roll) tale(task string) *tale {
	if q.tales[task] == nil {
		q.tales[task] = &tale{}
	}
	return q.tales[task]
}

// add enters what is added, and reports whether it was not there.
func (q *roll) add(task string) bool {
	w := q.tasks[task]
	switch {
	case w == nil:
		q.tasks[task] = &present{}
		q.begin(task)
	case w.doomed != "" && !w.again:
		w.again = true
	default:
		return false
	}
	return true
}

// begin starts the tale of a task anew: what was before it was added concerns it no more.
func (q *roll) begin(task string) {
	t := q.tale(task)
	*t = tale{fresh: true, loose: t.loose, last: t.last}
}

// remove ends a task that is canceled, told, or whose queue is deleted. holder is the process that
// has it in hand, or "". It reports whether there was something to end.
func (q *roll) remove(task, holder string, told bool) bool {
	w := q.tasks[task]
	if w == nil {
		return false
	}
	if holder == "" {
		delete(q.tasks, task)
		return true
	}
	ends := w.doomed != holder || w.again || told && !w.told
	w.doomed, w.told, w.again = holder, w.told || told, false
	return ends
}

// end enters that the task ends with its present process.
func (q *roll) end(task, holder string) {
	if w := q.tasks[task]; w != nil {
		w.doomed, w.told = holder, true
	}
}

// ended enters that the process which had a doomed task has ended.
func (q *roll) ended(task string) {
	w := q.tasks[task]
	delete(q.tasks, task)
	if w != nil && w.again {
		q.add(task)
	}
}
