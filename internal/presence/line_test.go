package presence

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/redistest"
)

func TestUpIsWhatTheServerCounts(t *testing.T) {
	r := run(t, redistest.Shared(t), Config{})
	r.up()
	r.told1(1, 0)
	if n := numsub(r.c, r.channel); n != 1 {
		t.Fatalf("the server counts %d", n)
	}
	if age := time.Since(r.Since()); r.Since().IsZero() || age < 0 || age > soon {
		t.Fatalf("up since %v", r.Since())
	}
	if r.Kernel() != (runtime.GOOS == "linux") {
		t.Fatalf("Kernel is %v", r.Kernel())
	}
	if err := r.Run(t.Context()); !errors.Is(err, ErrRunning) {
		t.Fatalf("a second Run: %v", err)
	}
	r.redis("PUBLISH", r.channel, "means nothing")
	r.end()
	if r.Up() || !r.Since().IsZero() {
		t.Fatal("up after the end")
	}
	redistest.Eventually(t, soon, "nobody is counted", func() bool { return numsub(r.c, r.channel) == 0 })
	r.told1(1, 0)
}

func TestALossThatIsMendedInTime(t *testing.T) {
	for name, known := range map[string]bool{"socket": true, "reader": false} {
		t.Run(name, func(t *testing.T) {
			server := redistest.Own(t)
			cfg := Config{}
			if !known {
				cfg.Dial = deaf(server.URL())
			}
			r := run(t, server, cfg)
			r.up()
			since := r.Since()
			r.kill()
			redistest.Eventually(t, soon, "another subscription", func() bool { return r.Since().After(since) })
			r.up()
			r.told1(2, 0)
			if r.Kernel() != (known && runtime.GOOS == "linux") {
				t.Fatalf("Kernel is %v", r.Kernel())
			}
		})
	}
}

func TestRenewReplacesTheConnection(t *testing.T) {
	r := run(t, redistest.Shared(t), Config{})
	r.up()
	for n := 1; n <= 3; n++ {
		since := r.Since()
		r.Renew()
		redistest.Eventually(t, soon, "another subscription", func() bool { return r.Since().After(since) })
		r.up()
		r.told1(n+1, 0)
		redistest.Eventually(t, soon, "one is counted", func() bool { return numsub(r.c, r.channel) == 1 })
	}
}

// deaf dials so that the line does not get to know the socket, as the Dial of a pool does.
func deaf(url string) func(context.Context) (redis.Conn, error) {
	return func(context.Context) (redis.Conn, error) { return redis.DialURL(url) }
}

func TestALossThatIsNotMendedInTime(t *testing.T) {
	for name, known := range map[string]bool{"socket": true, "reader": false} {
		t.Run(name, func(t *testing.T) {
			proxy := redistest.NewProxy(t, redistest.Shared(t).URL())
			cfg := Config{Dial: dialURL(proxy.URL())}
			if !known {
				cfg.Dial = deaf(proxy.URL())
			}
			r := run(t, redistest.Shared(t), cfg)
			r.up()
			r.Reset() // takes no loss with it
			r.told1(2, 0)
			fastest := soon
			for lost := 1; lost <= 3; lost++ { // a busy machine is late now and then
				cut := time.Now()
				proxy.Refuse(true)
				redistest.Eventually(t, soon, "it is not up", func() bool { return !r.Up() })
				r.told1(lost+1, lost)
				fastest = min(fastest, r.lastLost.Sub(cut))
				proxy.Refuse(false)
				redistest.Eventually(t, soon, "the server counts it again", func() bool { return numsub(r.c, r.channel) == 1 })
				if r.Up() {
					t.Fatal("up after Lost")
				}
				r.told1(lost+1, lost)
				r.Reset()
				r.told1(lost+2, lost)
				r.up()
			}
			// Grace counts from the last look that found the subscription: Grace/4 before, or
			// Grace/2 more where only the reader knows.
			if early := HolderGrace / 4; fastest < early || fastest > HolderGrace+50*time.Millisecond {
				t.Errorf("lost %v after the cut", fastest)
			}
		})
	}
}

func TestAServerThatIsNotThere(t *testing.T) {
	server := redistest.Own(t)
	proxy := redistest.NewProxy(t, server.URL())
	proxy.Refuse(true)
	r := run(t, server, Config{Dial: dialURL(proxy.URL())})
	redistest.Eventually(t, soon, "five attempts", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.failed) >= 5
	})
	r.told1(0, 0)
	proxy.Refuse(false)
	r.up()
	r.told1(1, 0)
}

// A connection on which nothing arrives any more stays established: only the pings show that it is
// dead.
func TestSilence(t *testing.T) {
	for name, known := range map[string]bool{"socket": true, "reader": false} {
		t.Run(name, func(t *testing.T) {
			proxy := redistest.NewProxy(t, redistest.Shared(t).URL())
			cfg := Config{Dial: dialURL(proxy.URL()), Ping: 50 * time.Millisecond, Silence: 400 * time.Millisecond}
			if !known {
				cfg.Dial = func(context.Context) (redis.Conn, error) {
					return redis.DialURL(proxy.URL(), redis.DialReadTimeout(soon))
				}
			}
			r := run(t, redistest.Shared(t), cfg)
			fastest := soon
			for lost := 1; lost <= 3; lost++ {
				r.up()
				frozen := time.Now()
				proxy.Freeze(redistest.ToClient)
				r.told1(lost, lost)
				fastest = min(fastest, r.lastLost.Sub(frozen))
				if r.Up() {
					t.Error("up after Lost")
				}
				proxy.Thaw()
				r.Reset()
				r.told1(lost+1, lost)
			}
			if fastest < 300*time.Millisecond || fastest > 500*time.Millisecond {
				t.Errorf("lost after %v", fastest)
			}
		})
	}
}

// A sign of life counts from when it was asked for.
func TestSlowAnswers(t *testing.T) {
	const slow = 100 * time.Millisecond
	proxy := redistest.NewProxy(t, redistest.Shared(t).URL())
	proxy.Latency(func() time.Duration { return slow })
	r := run(t, redistest.Shared(t), Config{Dial: dialURL(proxy.URL()), Ping: 2 * slow, Silence: 6 * slow})
	r.up()
	last := r.present.Load().proof.Load()
	for range 2 {
		redistest.Eventually(t, soon, "an answer", func() bool { return r.present.Load().proof.Load() > last })
		last = r.present.Load().proof.Load()
		if age := r.now() - time.Duration(last); age < slow {
			t.Errorf("an answer that took %v counts from %v before", slow, age)
		}
	}
}

// By default a server that stands still for 1.5 s causes no loss.
func TestAFrozenServerLosesNobody(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 4 s")
	}
	server := redistest.Own(t)
	r := run(t, server, Config{})
	r.up()
	since := r.Since()
	proven := func() time.Duration { return time.Duration(r.present.Load().proof.Load()) }
	redistest.Eventually(t, soon, "a ping is nearly due", func() bool { return r.now()-proven() > 800*time.Millisecond })
	server.Pause(t)
	frozen := time.Now()
	redistest.Eventually(t, soon, "1.5 s have passed", func() bool { return time.Since(frozen) >= 1500*time.Millisecond || !r.Up() })
	server.Resume(t)
	if !r.Up() || r.Since() != since {
		t.Fatal("the subscription has changed")
	}
	last := proven()
	redistest.Eventually(t, soon, "an answer to the next ping", func() bool { return r.Up() && proven() > last })
	r.told1(1, 0)
}

func TestAnotherChannel(t *testing.T) {
	server := redistest.Shared(t)
	names := make(chan string, 1)
	names <- "presence-first"
	channel := func() string { n := <-names; names <- n; return n }
	r := run(t, server, Config{Channel: channel})
	r.up()
	<-names
	names <- "presence-second"
	if !r.Up() {
		t.Fatal("not up before Reset")
	}
	r.Reset()
	if r.Up() && numsub(r.c, "presence-second") == 0 {
		t.Fatal("up without a subscription")
	}
	r.told1(2, 0)
	if first, second := numsub(r.c, "presence-first"), numsub(r.c, "presence-second"); first != 0 || second != 1 {
		t.Fatalf("the server counts %d on the first and %d on the second", first, second)
	}
}

func TestCheckDecides(t *testing.T) {
	no, yes := errors.New("not seen"), make(chan bool)
	r := run(t, redistest.Shared(t), Config{Check: func(ctx context.Context) error {
		select {
		case <-yes:
			return nil
		default:
			return no
		}
	}})
	redistest.Eventually(t, soon, "three refusals", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.failed) >= 3 && errors.Is(r.failed[0], no) && strings.Contains(r.failed[0].Error(), r.channel)
	})
	if r.Up() {
		t.Fatal("up without Check")
	}
	close(yes)
	r.up()
	r.told1(1, 0)
	redistest.Eventually(t, soon, "those that were refused are closed", func() bool { return numsub(r.c, r.channel) == 1 })
}

func TestAServerThatAnswersNoPing(t *testing.T) {
	proxy := redistest.NewProxy(t, redistest.Shared(t).URL())
	proxy.Intercept(func(c redistest.Command) redistest.Action {
		if c.Is("PING") {
			return redistest.DropReply
		}
		return redistest.Pass
	})
	r := run(t, redistest.Shared(t), Config{Dial: deaf(proxy.URL()), Ping: 10 * time.Millisecond, Silence: 50 * time.Millisecond})
	redistest.Eventually(t, soon, "three attempts", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		slow := func(err error) bool { return errors.Is(err, errSlow) } // one may be refused for other reasons on a loaded machine
		return len(r.failed) >= 3 && slices.ContainsFunc(r.failed, slow)
	})
	r.told1(0, 0)
	proxy.Intercept(nil)
	r.up()
}

// An end of the subscription during Check is noticed.
func TestAnEndDuringCheck(t *testing.T) {
	server := redistest.Own(t)
	c := server.Conn(t)
	first := true
	r := run(t, server, Config{Check: func(context.Context) error {
		if first {
			first = false
			_, err := c.Do("CLIENT", "KILL", "TYPE", "pubsub")
			return err
		}
		return nil
	}})
	r.up()
	r.told1(1, 0)
	if r.mu.Lock(); len(r.failed) != 1 {
		t.Errorf("failed %d times: %v", len(r.failed), r.failed)
	}
	r.mu.Unlock()
}
