package worqr_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// Tasks that one caller enqueues one after the other, with handlers that return at once, are taken
// several at a time: without pauses each task costs a take. A stream with a gap in it shows
// nothing: a pause of a millisecond that falls into it brings less than two tasks, and ends the
// pauses for a second. On a busy machine most streams have one.
func TestAStreamIsTakenSeveralAtATime(t *testing.T) {
	t.Parallel()
	const warm, streams, tasks, calm = 100, 30, 200, time.Second
	m, proxy := mortal(t, redistest.Namespace(t))
	ran := make(chan string, warm+tasks)
	run(t, m, handling(patient(), "q", 1, gather(ran)))
	enqueue(t, m, "q", numbered("warm", warm)...)
	for range warm {
		receive(t, "a run", ran)
	}
	takes := counted(proxy)
	dense, least := 0, tasks
	for n := range streams {
		before, last, gap := takes("take"), time.Now(), time.Duration(0)
		want := numbered(fmt.Sprintf("%d.", n), tasks)
		for _, task := range want {
			enqueue(t, m, "q", task)
			gap, last = max(gap, time.Since(last)), time.Now()
		}
		for i := range tasks {
			if got := receive(t, "a run", ran); got != want[i] {
				t.Fatalf("ran %q as number %d, want %q", got, i, want[i])
			}
		}
		taken := takes("take") - before
		t.Logf("%d takes for a stream of %d tasks, the longest gap %v", taken, tasks, gap)
		if taken > 0 && taken <= tasks/2 {
			return
		}
		least = min(least, taken)
		if gap < time.Millisecond/2 {
			if dense++; dense == 3 {
				t.Fatalf("%d streams of %d tasks without a gap were taken with more than half as many takes", dense, tasks)
			}
		}
		<-time.After(calm) // until pauses may be again
	}
	if least > tasks*9/10 { // the first pause of a stream brings several on any machine
		t.Fatalf("each of %d streams of %d tasks was taken with %d takes at the least", streams, tasks, least)
	}
	t.Skipf("%d of %d streams were without a gap: the machine is too busy to show anything", dense, streams)
}

// Where each task comes of the one before, a pause would only delay: one that brings less than two
// ends them for a second.
func TestAPauseThatBringsNothingEndsThePauses(t *testing.T) {
	t.Parallel()
	p := worqr.NewPacer(false)
	if p.May() {
		t.Fatal("it may pause before any handler returned quickly")
	}
	p = worqr.NewPacer(true)
	for _, step := range []struct {
		n     int
		dry   bool
		pause bool
	}{{1, true, true}, {5, true, true}, {17, false, false}, {0, true, false}, {2, true, true}, {2, true, true}, {1, true, false}} {
		may := p.May()
		if !may {
			t.Fatalf("it may not pause before %+v", step)
		}
		if got := p.Took(step.n, step.dry, may); got != step.pause {
			t.Fatalf("after %+v pauses: %t", step, got)
		}
	}
	for range 1000 {
		if may := p.May(); may || p.Took(1, true, may) {
			t.Fatal("pauses again at once")
		}
	}
}
