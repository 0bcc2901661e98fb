package presence

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/redistest"
)

func children() { redistest.RegisterChild("holder", holder) }

// holder keeps a line in a process of its own. On an order it prints what Up returns in the first
// statement after a pause.
func holder(args []string) {
	cfg := Config{Dial: dialURL(args[0]), Channel: func() string { return args[1] }}
	if args[2] == "reader" {
		cfg.Dial = deaf(args[0])
	}
	var l *Line
	cfg.Back = func() { fmt.Println("back", l.Up(), l.Kernel()) }
	cfg.Lost = func() { fmt.Println("lost", l.Up()) }
	l, err := New(cfg)
	if err != nil {
		panic(err)
	}
	go func() { _ = l.Run(context.Background()) }()
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		switch in.Text() {
		case "spin":
			runtime.GOMAXPROCS(1) // so that nothing else of this process runs first
			before := time.Now()
			fmt.Println("spins")
			for {
				now := time.Now()
				if now.Sub(before) > pause/2 {
					yes := l.Up()
					runtime.GOMAXPROCS(2)
					fmt.Println("woke", yes)
					break
				}
				before = now
			}
		case "up":
			fmt.Println("up", l.Up())
		case "reset":
			l.Reset()
		}
	}
}

// few is enough where time is short.
func few(n int) int {
	if testing.Short() {
		return n/4 + 1
	}
	return n
}

const pause = 2 * HolderGrace

func TestSIGKILLIsSeenAtOnce(t *testing.T) {
	server := redistest.Own(t)
	c := server.Conn(t)
	var took []time.Duration
	for i := range few(20) {
		channel := fmt.Sprint("holder-", i)
		child := redistest.StartChild(t, "holder", server.URL(), channel, "socket")
		child.WaitLine(t, "back", soon)
		if n := numsub(c, channel); n != 1 {
			t.Fatalf("the server counts %d", n)
		}
		killed := time.Now()
		go child.Kill(t)
		for numsub(c, channel) != 0 {
			if time.Since(killed) > soon {
				t.Fatal("the server still counts it")
			}
		}
		took = append(took, time.Since(killed))
		child.Wait(t, soon)
	}
	slices.Sort(took)
	fmt.Printf("SIGKILL to NUMSUB 0, %d times: p50 %v, max %v\n", len(took), took[len(took)/2], took[len(took)-1])
	if p50 := took[len(took)/2]; p50 > JudgeGrace/2 {
		t.Errorf("p50 %v", p50)
	}
}

// The server ends the connection of a process that stands still. In the first statement that the
// process executes afterwards, Up has to be false, and what its own goroutines do next must not
// make it true again.
func TestAnEndDuringSIGSTOP(t *testing.T) {
	for name, kernel := range map[string]bool{"socket": runtime.GOOS == "linux", "reader": false} {
		t.Run(name, func(t *testing.T) {
			server := redistest.Own(t)
			c := server.Conn(t)
			for i := range few(5) {
				channel := fmt.Sprint("holder-", i)
				child := redistest.StartChild(t, "holder", server.URL(), channel, name)
				child.WaitLine(t, fmt.Sprint("back true ", kernel), soon)
				child.Tell(t, "spin")
				child.WaitLine(t, "spins", soon)
				child.Freeze(t)
				stopped := time.Now()
				if _, err := c.Do("CLIENT", "KILL", "TYPE", "pubsub"); err != nil {
					t.Fatal(err)
				}
				redistest.Eventually(t, soon, "the server has forgotten it, for a while", func() bool {
					return numsub(c, channel) == 0 && time.Since(stopped) > pause
				})
				child.Thaw(t)
				redistest.Eventually(t, soon, "it has woken and been lost", func() bool {
					return slices.Contains(child.Lines(), "lost false") && strings.Contains(strings.Join(child.Lines(), " "), "woke")
				})
				if line := child.WaitLine(t, "woke", soon); line != "woke false" {
					t.Errorf("run %d: %s: the first statement found it up", i, line)
				}
				redistest.Eventually(t, soon, "it has subscribed again", func() bool { return numsub(c, channel) == 1 })
				child.Tell(t, "up")
				if line := child.WaitLine(t, "up", soon); line != "up false" {
					t.Errorf("run %d: up without Reset", i)
				}
				child.Tell(t, "reset")
				child.WaitLine(t, "back true", soon)
				child.Kill(t)
			}
		})
	}
}

// A pause alone ends nothing: the connection stays, and nobody suspects the process.
func TestSIGSTOPAlone(t *testing.T) {
	for _, name := range []string{"socket", "reader"} {
		t.Run(name, func(t *testing.T) {
			if name == "socket" && runtime.GOOS != "linux" {
				t.Skip("needs the kernel's word")
			}
			server := redistest.Own(t)
			c := server.Conn(t)
			child := redistest.StartChild(t, "holder", server.URL(), "c", name)
			child.WaitLine(t, "back", soon)
			child.Tell(t, "spin")
			child.WaitLine(t, "spins", soon)
			child.Freeze(t)
			stopped := time.Now()
			redistest.Eventually(t, soon, "the pause is over", func() bool { return time.Since(stopped) > pause })
			if n := numsub(c, "c"); n != 1 {
				t.Fatalf("the server counts %d", n)
			}
			child.Thaw(t)
			// A line that relies on the reader asks the server first, which may have replied by
			// then.
			if line := child.WaitLine(t, "woke", soon); name == "socket" && line != "woke true" {
				t.Errorf("%s, want it true", line)
			}
			redistest.Eventually(t, soon, "it is up", func() bool {
				child.Tell(t, "up")
				return child.WaitLine(t, "up", soon) == "up true"
			})
			for _, line := range child.Lines() {
				if strings.HasPrefix(line, "lost") {
					t.Error("it was lost")
				}
			}
		})
	}
}

func BenchmarkUp(b *testing.B) {
	for name, known := range map[string]bool{"socket": true, "reader": false} {
		b.Run(name, func(b *testing.B) {
			cfg := Config{}
			if !known {
				cfg.Dial = func(context.Context) (redis.Conn, error) { return redis.DialURL(redistest.Shared(b).URL()) }
			}
			r := run(b, redistest.Shared(b), cfg)
			r.up()
			b.ReportAllocs()
			for b.Loop() {
				r.Up()
			}
			b.StopTimer()
			r.end()
		})
	}
}

// BenchmarkUpByMany measures how long handlers that call Up at once wait for each other.
func BenchmarkUpByMany(b *testing.B) {
	r := run(b, redistest.Shared(b), Config{})
	r.up()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			r.Up()
		}
	})
	b.StopTimer()
	r.end()
}
