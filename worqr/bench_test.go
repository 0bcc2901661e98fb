package worqr_test

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

var payload = []byte("0123456789abcdef0123456789abcdef")

func benchMesh(t testing.TB) *worqr.Mesh {
	t.Helper()
	server := redistest.Own(t)
	m, err := worqr.Open(t.Context(), server.URL(), worqr.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// payloads is a sequence of n tasks.
func payloads(n int) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for range n {
			if !yield(payload) {
				return
			}
		}
	}
}

func stock(t testing.TB, m *worqr.Mesh, n int) {
	t.Helper()
	if _, err := m.EnqueueSeq(t.Context(), "q", payloads(n)); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkEnqueue: one task a call, by so many callers at once.
func BenchmarkEnqueue(b *testing.B) {
	for _, callers := range []int{1, 8, 64, 256} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			m := benchMesh(b)
			b.ReportAllocs()
			b.SetParallelism(max(1, callers/runtime.GOMAXPROCS(0)))
			if callers == 1 {
				for b.Loop() {
					if err := m.Enqueue(b.Context(), "q", payload); err != nil {
						b.Fatal(err)
					}
				}
				return
			}
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := m.Enqueue(b.Context(), "q", payload); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

// BenchmarkEnqueueSeq: a task of a long sequence.
func BenchmarkEnqueueSeq(b *testing.B) {
	m := benchMesh(b)
	b.ReportAllocs()
	b.ResetTimer()
	stock(b, m, b.N)
}

// BenchmarkDrain: take, an empty handler and settle of a task that waits.
func BenchmarkDrain(b *testing.B) {
	for _, limit := range []int{1, 10, 64, 256} {
		b.Run(fmt.Sprintf("limit=%d", limit), func(b *testing.B) {
			m := benchMesh(b)
			stock(b, m, b.N)
			b.ReportAllocs()
			b.ResetTimer()
			drain(b, m, b.N, limit)
		})
	}
}

// drain takes and finishes n tasks.
func drain(t testing.TB, m *worqr.Mesh, n, limit int) {
	t.Helper()
	var left atomic.Int64
	left.Store(int64(n))
	finished := make(chan struct{})
	w, err := m.NewWorker(worqr.WorkerConfig{
		Queues: map[string]worqr.Queue{"q": {Limit: limit, Handler: worqr.HandlerFunc(func(context.Context, *worqr.Process) error { return nil })}},
		Hooks: worqr.Hooks{OnSettle: func(_ *worqr.Process, result worqr.Outcome, err error) {
			if result != "done" {
				t.Errorf("settled %q, %v", result, err)
			}
			if left.Add(-1) == 0 {
				close(finished)
			}
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	<-finished
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// BenchmarkTake: a task by Worker.Take, and its Finish apart.
func BenchmarkTake(b *testing.B) { one(b, true) }

// BenchmarkSettle: the Finish of a process that came by Worker.Take, which is not counted.
func BenchmarkSettle(b *testing.B) { one(b, false) }

func one(b *testing.B, take bool) {
	m := benchMesh(b)
	w, err := m.NewWorker(worqr.WorkerConfig{})
	if err == nil {
		err = w.Start(b.Context())
	}
	if err == nil {
		err = w.StartWork(b.Context(), "q")
	}
	if err != nil {
		b.Fatal(err)
	}
	stock(b, m, b.N)
	b.ReportAllocs()
	b.ResetTimer()
	processes := make([]*worqr.Process, b.N)
	if !take {
		b.StopTimer()
	}
	for i := range processes {
		if processes[i], err = w.Take(b.Context(), "q"); err != nil {
			b.Fatal(err)
		}
	}
	if take {
		b.StopTimer()
	} else {
		b.StartTimer()
	}
	for _, p := range processes {
		if _, err := p.Finish(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWake: from the call of Enqueue to the start of the handler, with nothing else to do.
func BenchmarkWake(b *testing.B) {
	m := benchMesh(b)
	started := make(chan time.Time)
	w, err := m.NewWorker(worqr.WorkerConfig{Queues: map[string]worqr.Queue{
		"q": {Handler: worqr.HandlerFunc(func(context.Context, *worqr.Process) error { started <- time.Now(); return nil })},
	}})
	if err == nil {
		err = w.Start(b.Context())
	}
	if err == nil {
		err = w.StartWork(b.Context(), "q")
	}
	if err != nil {
		b.Fatal(err)
	}
	var sum time.Duration
	for b.Loop() {
		begun := time.Now()
		if err := m.Enqueue(b.Context(), "q", payload); err != nil {
			b.Fatal(err)
		}
		sum += (<-started).Sub(begun)
	}
	b.ReportMetric(float64(sum.Microseconds())/float64(b.N), "us/wake")
}

// In steady state take and settle together make at most 6 allocations for a task: there are as many
// of them as tasks, so they are the collector's load.
func TestAllocationsOfALifeCycle(t *testing.T) {
	const n, limit = 30_000, 64
	m := benchMesh(t)
	stock(t, m, n)
	drain(t, m, n, limit) // the first one also grows what is used again
	stock(t, m, n)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	drain(t, m, n, limit)
	runtime.ReadMemStats(&after)
	if each := float64(after.Mallocs-before.Mallocs) / n; each > 6 {
		t.Errorf("%.2f allocations for a take and a settle, at most 6 are allowed", each)
	} else {
		t.Logf("%.2f allocations, %d bytes for a task", each, (after.TotalAlloc-before.TotalAlloc)/n)
	}
}
