package worqr_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// Tasks that one caller enqueues one after the other, with handlers that return at once, are taken
// several at a time: without pauses each task costs a take. A stream in which less than three tasks
// come in a pause is too thin to show that, as on a busy machine; of several streams one suffices.
func TestAStreamIsTakenSeveralAtATime(t *testing.T) {
	t.Parallel()
	const warm, streams, tasks = 100, 10, 1000
	m, proxy := mortal(t, redistest.Namespace(t))
	ran := make(chan string, warm+tasks)
	run(t, m, handling(patient(), "q", 1, gather(ran)))
	enqueue(t, m, "q", numbered("warm", warm)...)
	for range warm {
		receive(t, "a run", ran)
	}
	takes := counted(proxy)
	thin := 0
	for n := range streams {
		before, begun := takes("take"), time.Now()
		want := numbered(fmt.Sprintf("%d.", n), tasks)
		for _, task := range want {
			enqueue(t, m, "q", task)
		}
		for i := range tasks {
			if got := receive(t, "a run", ran); got != want[i] {
				t.Fatalf("ran %q as number %d, want %q", got, i, want[i])
			}
		}
		taken := takes("take") - before
		each := time.Since(begun) / tasks
		t.Logf("%d takes for a stream of %d tasks, one in %v", taken, tasks, each)
		if taken > 0 && taken <= tasks/2 {
			return
		}
		if each > time.Millisecond/3 {
			thin++
		}
	}
	if thin == streams {
		t.Skip("the machine is too busy for a stream that would show anything")
	}
	t.Errorf("none of %d streams of %d tasks was taken with half as many takes", streams, tasks)
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
