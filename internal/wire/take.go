package wire

import (
	"context"
	"strconv"
	"strings"
	"time"
)

var (
	takeScript     = Named("take")
	holdTakeScript = Named("hold_take")
)

// Parking is when a take notes its membership as idle, so that an enqueue wakes it.
type Parking string

// When it does.
const (
	ParkNever   Parking = "0"
	ParkDry     Parking = "1" // when the queue ran empty
	ParkNothing Parking = "2" // when it was empty
)

// Take asks for the tasks of so many processes.
type Take struct {
	Member string
	First  int64 // number
	Count  int
	Park   Parking // of one-shot tasks
	Settle []byte  // what is settled before, as AppendRun names it; nil: nothing. Not of persistent tasks
}

// Taken is what a take brought.
type Taken struct {
	Newest  int64         // cancel mark
	More    bool          // tasks are left, or of persistent ones more falls to the membership
	Help    bool          // a reclaim was under way and a step of it was done instead: ask again
	Settled Outcomes      // of Take.Settle
	Due     time.Duration // until the next delayed task may start; 0: none is known
	Rows    []Row
	Pasts   []Past // of persistent tasks one for each row
}

// Row is a process and its task.
type Row struct {
	Number, Token int64
	Task          []byte
}

// Past is how the hold before has ended.
type Past struct {
	Why        string // "": nobody held it before, or it is not known
	Token      int64
	Checkpoint []byte // nil: none
}

// Take brings tasks from the front. repeated: see Evaluator. Errors: ErrFenced, ErrInvalid.
func (q Queue) Take(ctx context.Context, t Take) (taken Taken, repeated bool, err error) {
	var reply any
	switch {
	case q.hold:
		reply, repeated, err = q.eval(ctx, holdTakeScript, t.Member, t.First, t.Count)
	case t.Settle != nil:
		reply, repeated, err = q.eval(ctx, takeScript, t.Member, t.First, t.Count, string(t.Park), t.Settle)
	default:
		reply, repeated, err = q.eval(ctx, takeScript, t.Member, t.First, t.Count, string(t.Park))
	}
	if err != nil {
		return Taken{}, repeated, err
	}
	if q.hold {
		taken, err = decodeHoldTake(reply)
	} else {
		taken, err = decodeTake(reply, t.Settle != nil)
	}
	return taken, repeated, err
}

func decodeTake(reply any, settled bool) (t Taken, err error) {
	a := listOf("take", reply, 3)
	runs := t.begin(&a)
	if settled {
		t.Settled = Outcomes(a.text())
	}
	t.rows(&a, runs, 1)
	return t, a.all()
}

func decodeHoldTake(reply any) (t Taken, err error) {
	a := listOf("hold_take", reply, 4)
	runs := t.begin(&a)
	t.Due = time.Duration(max(0, a.integer())) * time.Millisecond
	t.rows(&a, runs, 2)
	return t, a.all()
}

func (t *Taken) begin(a *answer) (runs string) {
	t.Newest = a.integer()
	switch state := a.text(); state {
	case "OK":
	case "MORE":
		t.More = true
	case "HELP":
		t.Help = true
	default:
		a.fail("its state is %q", Clip(state))
	}
	return a.text()
}

// rows reads what has its numbers and tokens in runs: 'number token count number token count ...'.
// A row has a task, and of two elements its past.
func (t *Taken) rows(a *answer, runs string, width int) {
	left := int64(a.rows(width))
	if left > 0 {
		t.Rows = make([]Row, 0, left)
	}
	if width == 2 && left > 0 {
		t.Pasts = make([]Past, 0, left)
	}
	for runs != "" && a.err == nil {
		var run Run
		run, runs = cutRun(a, runs)
		if run.Count > left {
			a.fail("its runs name more processes than there are tasks")
			return
		}
		left -= run.Count
		for i := range run.Count {
			t.Rows = append(t.Rows, Row{run.Number + i, run.Token + i, a.bytes()})
			if width == 2 {
				t.Pasts = append(t.Pasts, a.past())
			}
		}
	}
	if left > 0 {
		a.fail("its runs name fewer processes than there are tasks")
	}
}

// cutRun takes the first run off.
func cutRun(a *answer, runs string) (run Run, rest string) {
	rest = runs
	for _, part := range [...]*int64{&run.Number, &run.Token, &run.Count} {
		var word string
		word, rest, _ = strings.Cut(rest, " ")
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil || n < 0 {
			a.fail("its runs have %q, not a number", Clip(word))
		}
		*part = n
	}
	return run, rest
}

// past reads 'why token' and, behind a line feed, the checkpoint.
func (a *answer) past() Past {
	row := a.text()
	if row == "" {
		return Past{}
	}
	head, data, kept := strings.Cut(row, "\n")
	why, number, _ := strings.Cut(head, " ")
	token, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		a.fail("a past begins with %q", Clip(head))
		return Past{}
	}
	past := Past{Why: why, Token: token}
	if kept {
		past.Checkpoint = []byte(data)
	}
	return past
}
