package integration

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	// stalled is how long this process must have waited for its turn to count as a stall of the
	// machine.
	stalled = 20 * time.Millisecond
	// full is the idle part of its time below which a machine counts as full, when work waits for a
	// processor.
	full = 0.05
	// crawl is how many times as long as promised something may take on a machine that has no time.
	crawl = 10
)

// machine is what this machine has time for. Where it stalls or is full, others waited for their
// turn too: what they took longer for means nothing about them.
type machine struct {
	mu       sync.Mutex
	stalls   int
	worst    time.Duration
	at       ticks
	attempts int // of a measurement
}

func watchMachine(t testing.TB, attempts int) *machine {
	m := &machine{at: readTicks(), attempts: attempts}
	ctx, stop := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	t.Cleanup(watching.Wait)
	t.Cleanup(stop)
	watching.Go(func() {
		const every = 5 * time.Millisecond
		for last := stamp(); ctx.Err() == nil; {
			pass(every)
			now := stamp()
			if late := now - last - every; late > stalled {
				m.mu.Lock()
				m.stalls, m.worst = m.stalls+1, max(m.worst, late)
				m.mu.Unlock()
			}
			last = now
		}
	})
	return m
}

// inTime checks what is promised in time. It calls measure for each attempt. over lists the
// measures that took more than so many times what is promised; excused is true when something else
// shows that the machine stalled.
//
// The promise is for a machine that has time. An attempt that breaks it is an error, unless the
// machine had none: then it is measured again. When the machine had none in any attempt, crawl
// times the promise must hold, and the test is skipped.
func (m *machine) inTime(t *testing.T, measure func(t *testing.T) (over func(times int) []string, excused bool)) {
	t.Helper()
	for n := 1; ; n++ {
		var over func(times int) []string
		excused := false
		m.since()
		t.Run(fmt.Sprint(n), func(t *testing.T) { over, excused = measure(t) })
		lack := m.since()
		if t.Failed() {
			return
		}
		wrong := over(1)
		switch {
		case len(wrong) == 0:
			return
		case !lack.any() && !excused:
			t.Fatalf("%v; %v", wrong, lack)
		case n < m.attempts:
			t.Logf("measured again: %v; %v", wrong, lack)
			continue
		}
		if far := over(crawl); len(far) > 0 {
			t.Fatalf("even where the machine has no time, %d times as long is too long: %v; %v", crawl, far, lack)
		}
		t.Skipf("the machine had no time in any of %d attempts, so they say nothing: %v; %v", n, wrong, lack)
	}
}

// lack is the time that a machine did not have.
type lack struct {
	stalls int
	worst  time.Duration
	idle   float64 // the part of its time that nobody wanted; 1 where it is not known
}

func (l lack) any() bool { return l.stalls > 0 || l.idle < full }

func (l lack) String() string {
	return fmt.Sprintf("the machine stalled %d times, for %v at most, and was idle for %.0f %% of the time", l.stalls, l.worst, 100*l.idle)
}

// since returns what was lacking since its last call.
func (m *machine) since() lack {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := readTicks()
	l := lack{m.stalls, m.worst, 1}
	if all := now.all - m.at.all; all > 0 {
		l.idle = float64(now.idle-m.at.idle) / float64(all)
	}
	m.stalls, m.worst, m.at = 0, 0, now
	return l
}

// ticks are what all processors spent their time for, since the machine was started.
type ticks struct{ idle, all int64 }

// readTicks returns zeros where there is no such file.
func readTicks() (t ticks) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return t
	}
	line, _, _ := strings.Cut(string(text), "\n")
	var user, nice, system, idle, wait, irq, soft, steal int64
	if _, err := fmt.Sscanf(line, "cpu %d %d %d %d %d %d %d %d", &user, &nice, &system, &idle, &wait, &irq, &soft, &steal); err != nil {
		return t
	}
	return ticks{idle + wait, user + nice + system + idle + wait + irq + soft + steal}
}
