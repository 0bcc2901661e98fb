package witness

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

func init() {
	children["witness"] = func(args []string) {
		ln, err := net.Listen(args[0], args[1])
		if err != nil {
			panic(err)
		}
		fmt.Println(ln.Addr())
		ctx, cancel := context.WithCancel(context.Background())
		go orders(func(words []string) string {
			if words[0] == "stop" {
				cancel()
			}
			return usage().String()
		})
		if err := New(Config{}).Serve(ctx, ln); err != nil {
			panic(err)
		}
	}
	children["holder"] = func(args []string) {
		t, err := Dial(context.Background(), args[0], args[1])
		if err != nil {
			panic(err)
		}
		holds := map[string]*Hold{}
		orders(func(words []string) string {
			switch key := words[1]; words[0] {
			case "hold": // until its lease ends, by its own clock
				lease, _ := time.ParseDuration(words[3])
				until := time.Now().Add(lease)
				token, _ := strconv.ParseInt(words[2], 10, 64)
				holds[key] = t.Hold(key, token, "order", func() bool { return time.Now().Before(until) })
			case "done":
				holds[key].Done()
			}
			return fmt.Sprint(t.Sync(context.Background()))
		})
	}
}

// serve starts a witness in a process of its own.
func serve(t *testing.T, network, addr string) (p *process, at string) {
	p = start(t, "witness", network, addr)
	return p, p.line()
}

func ask(t *testing.T, addr string) Report {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	r, err := Ask(ctx, addr)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func until(t *testing.T, addr, what string, f func(Report) bool) Report {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		r := ask(t, addr)
		if f(r) {
			return r
		}
		if time.Now().After(end) {
			t.Fatalf("not so: %s\n%s", what, r)
		}
	}
}

// Processes are killed and frozen; the witness is another process.
func TestProcesses(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		t.Run(network, func(t *testing.T) {
			t.Parallel()
			dir, err := os.MkdirTemp("", "w") // a path that a socket may have
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(dir)
			addr := map[string]string{"tcp": "127.0.0.1:0", "unix": filepath.Join(dir, "s")}[network]
			_, addr = serve(t, network, addr)
			holder := func(name string) *process { return start(t, "holder", addr, name) }
			one, two, three := holder("one"), holder("two"), holder("three")
			say := func(p *process, order string) {
				t.Helper()
				if got := p.order(order); got != "<nil>" {
					t.Fatalf("%s: %s", order, got)
				}
			}
			say(one, "hold x 1 1h")
			until(t, addr, "a tick after the begin", func(r Report) bool { return r.Keys[0].Last > r.Keys[0].Since })

			// Killed.
			before := machine()
			one.signal(syscall.SIGKILL)
			one.cmd.Wait()
			r := until(t, addr, "one is cut", func(r Report) bool { return r.Cut == 1 })
			if s := r.Keys[0].Spans[0]; before.id != "" && (r.Zero+s.Last > before.now() || s.State != "cut") {
				t.Errorf("it is dead and was held after that: %+v", s)
			}
			say(two, "hold x 2 1h")

			// Frozen, and back with a lease that has not ended: it still holds, and so does three.
			two.signal(syscall.SIGSTOP)
			until(t, addr, "two is silent", func(r Report) bool { return r.Keys[0].State == "silent" })
			say(three, "hold x 3 1h")
			r = ask(t, addr)
			if len(r.Overlaps) != 1 || r.Overlaps[0].Certain || r.Overlaps[0].Why != "silent" || !r.Overlaps[0].Open {
				t.Errorf("one frozen, the next begun:\n%s", r)
			}
			two.signal(syscall.SIGCONT)
			until(t, addr, "it says that it held", func(r Report) bool { return r.Totals.Overlaps == 1 })
			say(two, "done x")

			// Frozen, and back with one that has ended.
			say(three, "hold y 1 700ms")
			three.signal(syscall.SIGSTOP)
			silent := until(t, addr, "three is silent", func(r Report) bool { return r.Keys[1].State == "silent" && r.Now-r.Keys[1].Since > 800*ms })
			say(two, "hold y 2 1h")
			three.signal(syscall.SIGCONT)
			r = until(t, addr, "it holds no more", func(r Report) bool { return r.Keys[1].Spans[0].State == "stopping" })
			say(three, "done y")
			r = until(t, addr, "that is judged", func(r Report) bool { return len(r.Overlaps) == 2 && !r.Overlaps[0].Open && !r.Overlaps[1].Open })
			if r.Keys[1].Spans[0].Last >= silent.Now || r.Totals.Overlaps != 1 || r.Possible != 1 {
				t.Errorf("it held nothing when it came back:\n%s", r)
			}
			if r.Totals.Faults+r.Totals.Falls != 0 || r.Cut != 1 || r.Moves != 3 {
				t.Errorf("besides:\n%s", r)
			}
			var doubt time.Duration
			for _, h := range r.Holders {
				doubt = max(doubt, h.Doubt)
			}
			t.Logf("clocks uncertain by %v\n%s", doubt, r)
			if _, err := json.Marshal(r); err != nil {
				t.Error(err)
			}
			if out := r.String(); !strings.Contains(out, `OVERLAP`) || !strings.Contains(out, "possible overlap (silent)") || !strings.Contains(out, `"x"`) {
				t.Error(out)
			}
		})
	}
}

// 10,000 holds of 10 holders, ten times a second: the holders and the witness need little of a
// processor.
func TestTenThousandHolds(t *testing.T) {
	const holders, each = 10, 1000
	w, addr := serve(t, "tcp", "127.0.0.1:0")
	var over atomic.Bool
	var asked atomic.Int64
	var all [holders]*Teller
	for i := range all {
		one, err := Dial(t.Context(), addr, fmt.Sprintf("holder %d", i))
		if err != nil {
			t.Fatal(err)
		}
		defer one.Close()
		all[i] = one
	}
	start := usage()
	begun := time.Now()
	for i, one := range all {
		for n := range each {
			one.Hold(fmt.Sprintf("key %d", i*each+n), 1, "first", func() bool { asked.Add(1); return !over.Load() })
		}
	}
	for _, one := range all {
		if err := one.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("all begun after %v, %v of processor here", time.Since(begun).Round(ms), usage()-start)
	first := ask(t, addr)
	there, _ := time.ParseDuration(w.order("usage"))
	start, begun = usage(), time.Now()
	count := asked.Load()
	<-time.After(2 * time.Second) // to measure its cost, and not to wait for something
	took := time.Since(begun)
	cost := usage() - start
	then, _ := time.ParseDuration(w.order("usage"))
	t.Logf("%.0f statements a second need %.2f%% of a processor here, %.2f%% there", float64(asked.Load()-count)/took.Seconds(),
		100*cost.Seconds()/took.Seconds(), 100*(then-there).Seconds()/took.Seconds())
	over.Store(true)
	r := until(t, addr, "all refused", func(r Report) bool {
		for _, k := range r.Keys {
			if k.State != "stopping" {
				return false
			}
		}
		return true
	})
	if r.Holds != holders*each || r.Totals.Overlaps+r.Possible+r.Totals.Faults+r.Cut != 0 {
		t.Errorf("%s", r)
	}
	for i, k := range r.Keys {
		if k.Last < first.Keys[i].Last+took/2 {
			t.Fatalf("%s was not confirmed after %v", k.Key, k.Last)
		}
	}
	begun = time.Now()
	ask(t, addr)
	t.Logf("its report: after %v", time.Since(begun).Round(ms))
	for _, one := range all {
		one.Close()
	}
	fmt.Fprintln(w.in, "stop") // it may end before it replies
	if err := w.cmd.Wait(); err != nil {
		t.Error(err)
	}
	if cost > took/2 || then-there > took/2 {
		t.Errorf("in %v the holders need %v of a processor, the witness %v", took, cost, then-there)
	}
}

func usage() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
