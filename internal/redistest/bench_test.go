package redistest

import (
	"testing"

	"github.com/gomodule/redigo/redis"
)

// What a round trip costs per backend, and what the proxy adds. WORQR_TEST_BACKEND chooses the
// shared server.

func BenchmarkPing(b *testing.B)        { ping(b, Shared(b).URL(), 1) }
func BenchmarkPing100(b *testing.B)     { ping(b, Shared(b).URL(), 100) }
func BenchmarkPingBridged(b *testing.B) { ping(b, Container(b).URL(), 1) }
func BenchmarkProxy(b *testing.B)       { ping(b, NewProxy(b, Shared(b).URL()).URL(), 1) }
func BenchmarkProxy100(b *testing.B)    { ping(b, NewProxy(b, Shared(b).URL()).URL(), 100) }

func BenchmarkProxy100Intercept(b *testing.B) {
	p := NewProxy(b, Shared(b).URL())
	p.Intercept(func(Command) Action { return Pass })
	ping(b, p.URL(), 100)
}

// BenchmarkOwn measures what a server for one test costs.
func BenchmarkOwn(b *testing.B) {
	for range b.N {
		s, err := startBinary(nil)
		if err != nil {
			b.Fatal(err)
		}
		s.host.remove()
	}
}

// BenchmarkContainer measures the same in a container.
func BenchmarkContainer(b *testing.B) {
	for range b.N {
		s, err := startContainer(layout{once: true})
		if err != nil {
			b.Fatal(err)
		}
		s.host.remove()
	}
}

// ping sends b.N commands, batch of them in one flush.
func ping(b *testing.B, url string, batch int) {
	c, err := redis.DialURL(url)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	b.ResetTimer()
	for n := 0; n < b.N; n += batch {
		for range batch {
			c.Send("ECHO", "x")
		}
		c.Flush()
		for range batch {
			if _, err := c.Receive(); err != nil {
				b.Fatal(err)
			}
		}
	}
}
