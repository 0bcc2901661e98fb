package model

import (
	"errors"
	"slices"
	"strconv"
	"sync"

	"github.com/worqr/worqr-go/worqr"
)

// universe are the tasks of a queue: few, so that they come again and again.
var universe = []string{"a", "", "\x00\xff\r\n", "d", "e", "f", "g"}

// some picks tasks by the bits of a number.
func some(n int) (list []string) {
	for i, task := range universe {
		if n>>i&1 == 1 {
			list = append(list, task)
		}
	}
	return list
}

func raw(tasks []string) [][]byte {
	list := make([][]byte, len(tasks))
	for i, task := range tasks {
		list[i] = []byte(task)
	}
	return list
}

func (c *crew) enqueue(s step) {
	q, mesh := c.roll(s.a), c.client.mesh
	if hosts := c.running(); len(hosts) > 0 && s.c%3 == 0 {
		mesh = pick(hosts, s.b).mesh
	}
	tasks := some(s.b & s.c)
	if len(tasks) == 0 {
		tasks = []string{pick(universe, s.b)}
	}
	if tasks = c.addable(q, tasks); len(tasks) == 0 {
		return
	}
	tasks = append(tasks, tasks[0]) // once more: it is there then
	c.did("enqueue %q to %q", tasks, q.name)
	ctx, cancel := c.within()
	defer cancel()
	err := mesh.Enqueue(ctx, q.name, raw(tasks)...)
	if c.losing != none && errors.Is(err, worqr.ErrUnknown) {
		return // it was sent as one of one-shot tasks, and refused or lost
	}
	c.expect("enqueue", err, nil)
	for _, task := range tasks {
		q.add(task)
	}
}

func (c *crew) reconcile(s step) {
	q := c.roll(s.a)
	c.reconcileTo(q, c.addable(q, some(s.b)))
}

// addable leaves out what would be added while a canceled process of it is still in hand. The
// embedded default cannot do it: its Lua does not read the date 9e+15.
func (c *crew) addable(q *roll, tasks []string) []string {
	if !c.world.virtual {
		return tasks
	}
	return slices.DeleteFunc(tasks, func(task string) bool {
		w := q.tasks[task]
		return w != nil && w.doomed != ""
	})
}

// reconcileTo makes a queue equal to a list, and compares what was done for it.
func (c *crew) reconcileTo(q *roll, tasks []string) {
	c.did("reconcile %q with %q", q.name, tasks)
	s := c.eye.stock(q.name)
	ctx, cancel := c.within()
	defer cancel()
	got, err := c.client.mesh.Reconcile(ctx, q.name, raw(tasks))
	c.expect("reconcile", err, nil)
	var want worqr.Reconciled
	for _, task := range tasks {
		if q.add(task) {
			want.Added++
		} else {
			want.Kept++
		}
	}
	for task := range q.tasks {
		if !slices.Contains(tasks, task) && q.remove(task, s.holders[task], true) {
			want.Canceled++
		}
	}
	if got != want && c.losing != lostReply && c.world.virtual {
		c.fatalf("reconcile: %+v, want %+v", got, want)
	}
}

// reconcileAtOnce has two callers want different tasks at the same time. One of them prevails; then
// a third wants something else again.
func (c *crew) reconcileAtOnce(s step) {
	q := c.roll(s.a)
	lists := [3][]string{some(s.b), some(s.c), some(s.b + s.c)}
	if c.world.virtual { // what is in hand they agree upon: see addable
		inHand := c.eye.stock(q.name).holders
		for i, list := range lists {
			lists[i] = slices.DeleteFunc(list, func(task string) bool { return inHand[task] != "" })
			for j, task := range universe {
				if q.tasks[task] != nil && q.tasks[task].doomed == "" && inHand[task] != "" && s.c>>j&1 == 1 {
					lists[i] = append(lists[i], task)
				}
			}
		}
	}
	c.did("reconcile %q with %q and with %q at once", q.name, lists[0], lists[1])
	ctx, cancel := c.within()
	defer cancel()
	var calls sync.WaitGroup
	var errs [2]error
	for i := range errs {
		calls.Go(func() { _, errs[i] = c.client.mesh.Reconcile(ctx, q.name, raw(lists[i])) })
	}
	calls.Wait()
	for i, err := range errs {
		if err != nil && (!errors.Is(err, worqr.ErrSuperseded) || errs[1-i] != nil) {
			c.fatalf("two reconciles at once: %v, %v", errs[0], errs[1])
		}
	}
	c.adopt(q)
	c.reconcileTo(q, c.addable(q, lists[2]))
}

// adopt takes what is there for what is to be. What came and went before is not known.
func (c *crew) adopt(q *roll) {
	c.world.settle()
	for range 2 { // what has begun by now, and what begins next
		for _, task := range universe {
			tale := q.tale(task)
			tale.loose, tale.floor, tale.kept = true, 0, mark{}
		}
		c.judgeAll()
	}
	s := c.eye.stock(q.name)
	marks := pairs(c.eye.ask([]any{"ZRANGE", c.eye.queue(q.name) + ":cancels", 0, -1, "WITHSCORES"})[0], nil)
	canceled := func(sum string, h held) bool {
		mark, _ := strconv.ParseFloat(marks[sum], 64) // none is 0
		return h.id != "" && float64(h.token) <= mark
	}
	q.tasks = map[string]*present{}
	for task, sum := range s.present {
		w, h := &present{}, s.processes[s.holders[task]]
		w.told = canceled(sum, h)
		if w.told || canceled("*", h) {
			w.doomed, w.again = h.id, s.delayed[task] == never
		}
		q.tasks[task] = w
	}
}

func (c *crew) cancel(s step) {
	q, task := c.roll(s.a), pick(universe, s.b)
	c.did("cancel %q in %q", task, q.name)
	before := c.eye.stock(q.name)
	ctx, cancel := c.within()
	defer cancel()
	got, err := c.client.mesh.Cancel(ctx, q.name, []byte(task))
	c.expect("cancel", err, nil)
	q.remove(task, before.holders[task], true)
	waiting, running := before.unique[task], []string{}
	for _, p := range []string{before.holders[task], before.offers[task]} {
		if p != "" && !slices.Contains(running, p) && before.processes[p].task == task {
			running = append(running, p)
		}
	}
	if !c.world.virtual || c.losing == lostReply {
		return
	}
	same := got.Waiting == waiting && len(got.Running) == len(running)
	for _, p := range got.Running {
		same = same && slices.Contains(running, p.ID) && p.Token == before.processes[p.ID].token
	}
	if !same {
		c.fatalf("cancel of %q: %+v, want %d waiting and %q running", task, got, waiting, running)
	}
}

func (c *crew) deleteQueue(s step) {
	q := c.roll(s.a)
	c.did("delete %q", q.name)
	before := c.eye.stock(q.name)
	ctx, cancel := c.within()
	defer cancel()
	n, err := c.client.mesh.DeleteQueue(ctx, q.name)
	c.expect("delete", err, nil)
	if want := len(before.unique); n != want && c.losing != lostReply && c.world.virtual {
		c.fatalf("delete of %q: %d waited, want %d", q.name, n, want)
	}
	for task := range q.tasks {
		q.remove(task, before.holders[task], false)
	}
}

// checkpoint has one or two holders write where they are.
func (c *crew) checkpoint(s step) {
	for i := range 1 + s.b%2 {
		if t := c.someTurn(s.a + i); t != nil {
			c.did("checkpoint of %s", t)
			if err := c.save(t); err != nil && t.p.Valid() {
				c.fatalf("checkpoint of %s: %v", t, err)
			}
		}
	}
}

// someTurn is a hold of a running worker, nil when there is none.
func (c *crew) someTurn(n int) *turn {
	var list []*turn
	for _, name := range holdQueues {
		on := c.turnsOn(name)
		for _, t := range on {
			list = append(list, t)
		}
	}
	if len(list) == 0 {
		return nil
	}
	slices.SortFunc(list, func(a, b *turn) int { return int(a.p.Token() - b.p.Token()) })
	return pick(list, n)
}

func (c *crew) handlerReturns(s step) { c.give(s, returns) }
func (c *crew) handlerBreaks(s step)  { c.give(s, breaks) }
func (c *crew) handlerIsDone(s step)  { c.give(s, isDone) }
func (c *crew) finish(s step)         { c.give(s, ends) }
func (c *crew) stop(s step)           { c.give(s, givesUp) }

// give has a handler do something, and waits until it has returned.
func (c *crew) give(s step, o order) {
	t := c.someTurn(s.a)
	if t == nil {
		c.enqueue(s)
		return
	}
	c.did("%s: %s", t, o)
	before := c.eye.stock(t.queue)
	c.ledger.mu.Lock()
	t.order, t.left = o, o == ends || o == givesUp
	c.ledger.mu.Unlock()
	t.orders <- o
	c.until(soon, "the handler has returned", func() bool {
		select {
		case <-t.over:
			return true
		default:
			return false
		}
	})
	c.world.settle()
	c.ledger.mu.Lock()
	won, err, cause := t.won, t.err, t.cause
	c.ledger.mu.Unlock()
	if cause != nil && !errors.Is(cause, worqr.ErrSettled) {
		return // it ended otherwise before it heard of this
	}
	c.expect(string(o), err, nil)
	q, holds := c.rolls[t.queue], before.holders[t.task] == t.p.ID()
	if o == ends && won != holds {
		c.fatalf("finish of %s: %v, and the holder is %q", t, won, before.holders[t.task])
	}
	if holds && (o == ends || o == isDone) {
		q.end(t.task, t.p.ID())
	}
}
