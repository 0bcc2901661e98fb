package subscribe

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

const (
	minPause = 50 * time.Millisecond
	maxPause = 5 * time.Second
)

// backoff returns how long to wait after so many failures in a row before this one: 50 to 100 ms,
// doubling up to 2.5 to 5 s. The jitter keeps a fleet that lost its Redis from coming back all at
// once.
func backoff(failures int) time.Duration {
	pause := minPause
	for ; failures > 0 && pause < maxPause/2; failures-- {
		pause *= 2
	}
	pause = min(pause, maxPause/2)
	return pause + rand.N(pause)
}

// wait waits for d. It reports false when ctx ended first.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// loggable returns the text of err, unless it may hold a URL and with it a password: net/url and
// redigo put a URL that they cannot read into their errors.
func loggable(err error) string {
	var inURL *url.Error
	if text := err.Error(); !errors.As(err, &inURL) && !strings.Contains(text, "://") && !strings.Contains(text, "redis URL") {
		return text
	}
	return "withheld: the text holds a URL; check the URL that Dial is given"
}

// cause returns the one of a connection's two errors, in the order they came, that is the reason of
// its end. redigo closes a connection on the first error, and the goroutine that only met the
// closed one may be heard first.
func cause(first, second error) error {
	if first == nil || (second != nil && errors.Is(first, net.ErrClosed)) {
		return second
	}
	return first
}

// advice returns what to do about err. prefix is that of the channels.
func advice(err error, prefix string) string {
	if errors.Is(err, errRenew) {
		return "none needed: commands go to another server, and this follows"
	}
	var refused redis.Error
	if !errors.As(err, &refused) {
		return "none needed if the server comes back: check that it runs and can be reached"
	}
	switch word, _, _ := strings.Cut(string(refused), " "); word {
	case "NOPERM":
		return "let the user read the channels: ACL SETUSER <user> &" + prefix + ":* +subscribe +unsubscribe +ping"
	case "NOAUTH", "WRONGPASS":
		return "check the user and password that Dial uses"
	case "LOADING", "BUSY", "MASTERDOWN":
		return "none needed: the server is busy and will be asked again"
	default:
		return "the server refused: see the error"
	}
}
