package pipeline_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/pipeline"
	"github.com/worqr/worqr-go/internal/redistest"
)

// BenchmarkDo and BenchmarkPool run one EVALSHA of a trivial script from a number of callers: over
// a pipe, and over a redigo pool with one connection per call.

func BenchmarkDo(b *testing.B) {
	benchmark(b, func(b *testing.B, url, sha string, _ int) func() error {
		p := open(b, pipeline.Config{Dial: byURL(url)})
		return func() error {
			_, _, err := p.Do(context.Background(), "EVALSHA", sha, 0, "x")
			return err
		}
	})
}

func BenchmarkPool(b *testing.B) {
	benchmark(b, func(b *testing.B, url, sha string, callers int) func() error {
		p := &redis.Pool{MaxIdle: callers, DialContext: byURL(url)}
		b.Cleanup(func() { p.Close() })
		return func() error {
			c := p.Get()
			defer c.Close()
			_, err := c.Do("EVALSHA", sha, 0, "x")
			return err
		}
	})
}

func benchmark(b *testing.B, with func(b *testing.B, url, sha string, callers int) func() error) {
	s := redistest.Shared(b)
	sha, err := redis.String(s.Conn(b).Do("SCRIPT", "LOAD", "return ARGV[1]"))
	if err != nil {
		b.Fatal(err)
	}
	for _, callers := range []int{1, 8, 64, 256} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			call := with(b, s.URL(), sha, callers)
			run(b, callers, callers, call) // dials
			runtime.GC()
			b.ReportAllocs()
			b.ResetTimer()
			run(b, callers, b.N, call)
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
		})
	}
}

// run makes n calls from a number of callers.
func run(b *testing.B, callers, n int, call func() error) {
	var all sync.WaitGroup
	var next atomic.Int64
	for range callers {
		all.Go(func() {
			for next.Add(1) <= int64(n) {
				if err := call(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}
