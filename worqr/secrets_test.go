package worqr_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

const secret = "hunter2"

// clean checks that a text does not give the secret away.
func clean(t testing.TB, what, text string) {
	t.Helper()
	if strings.Contains(text, secret) {
		t.Errorf("%s gives the password away: %s", what, strings.ReplaceAll(text, secret, "<"+secret+">"))
	}
}

func TestURLsThatAreRefused(t *testing.T) {
	t.Parallel()
	for raw, why := range map[string]string{
		"":                                         "scheme",
		"localhost:6379":                           "scheme",
		"//localhost:6379":                         "scheme",
		"http://localhost":                         `"http"`,
		"http://u:hunter2@localhost":               `"http"`,
		"redis+tls://u:hunter2@h":                  `"redis+tls"`,
		"REDISS2://:hunter2@h":                     `"rediss2"`,
		"u:hunter2@localhost:6379":                 "scheme",
		":hunter2@localhost":                       "",
		"hunter2@localhost":                        "scheme",
		"redis:hunter2@h":                          "scheme",
		"redis://u:hunter2@h/x":                    `database "x"`,
		"redis://u:hunter2@h/-1":                   `database "-1"`,
		"redis://u:hunter2@h/0/1":                  `database "0/1"`,
		"redis://u:hunter2@h/99999999999999999999": "database",
		"redis://u:hunter2@h:port":                 "parsed",
		"redis://u:hunter2@h:port\x7f":             "parsed",
		"redis://u:hunter2%zz@h":                   "parsed",
		"redis://u:hunter2@[::1":                   "parsed",
		"redis://u:hun ter2@h o s t:6379":          "parsed",
		"redis://u:/hunter2@h/0":                   "parsed",
		"redis://u/hunter2@h/0":                    "",
		"redis://u:1/hunter2@h/0":                  "",
		"redis://u:1/hunter2@h:6379":               "",
		"unix://":                                  "socket",
		"unix://u:hunter2@":                        "socket",
		"unix://u:hunter2@/socket?db=x":            `database "x"`,
		"unix://u:hunter2@/s?db=1%zz":              "",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), soon)
		m, err := worqr.Open(ctx, raw, worqr.Config{Namespace: "ns", WaitForRedis: true})
		if ctx.Err() != nil {
			t.Errorf("%q is waited for", raw)
		}
		cancel()
		if m != nil {
			t.Errorf("%q is accepted", raw)
			continue
		}
		clean(t, raw, err.Error())
		says(t, raw, err, worqr.ErrConfig, "url", why, "redis://user:password@host:6379/0")
	}
}

func TestNoSecretInErrorsOfTheConnection(t *testing.T) {
	t.Parallel()
	protected := redistest.Own(t, "--requirepass", "another")
	open := redistest.Shared(t)
	renamed := redistest.Own(t, "--rename-command", "AUTH", "")
	closed := redistest.NewProxy(t, open.URL())
	closed.Refuse(true)
	for what, target := range map[string]struct{ url, says string }{
		"a wrong password":                   {"redis://:hunter2@" + protected.Addr(), "WRONGPASS"},
		"a wrong password, user alone":       {"redis://hunter2@" + protected.Addr(), "WRONGPASS"},
		"an unknown user":                    {"redis://ann:hunter2@" + protected.Addr() + "/1", "WRONGPASS"},
		"a server without password":          {"redis://:hunter2@" + open.Addr(), "without any password"},
		"a server without AUTH":              {"redis://:hunter2@" + renamed.Addr(), "unknown command"},
		"a server without AUTH, user":        {"redis://ann:hunter2@" + renamed.Addr(), "unknown command"},
		"nobody there":                       {"redis://ann:hunter2@" + closed.Addr(), "refused"},
		"no such socket":                     {"unix://ann:hunter2@/nowhere/redis.sock", "/nowhere/redis.sock"},
		"no TLS":                             {"rediss://ann:hunter2@" + open.Addr(), ""},
		"a password that should be escaped":  {"redis://127.0.0.1:#hunter2@h/0", "127.0.0.1"},
		"a password that should be escaped,": {"redis://127.0.0.1:?hunter2@h/0", "127.0.0.1"},
		"a server of something else":         {"redis://ann:hunter2@" + parrot(t), ""},
		"no such database":                   {"redis://:another@" + protected.Addr() + "/9999", "DB index"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		m, err := worqr.Open(ctx, target.url, worqr.Config{Namespace: "ns"})
		cancel()
		if m != nil {
			t.Errorf("%s: opened", what)
			_ = m.Close()
			continue
		}
		clean(t, what, err.Error())
		if !strings.Contains(err.Error(), target.says) || !strings.HasPrefix(err.Error(), "worqr: ") {
			t.Errorf("%s: %q does not say %q", what, err, target.says)
		}
	}
	// A refusal does not pass, so it is not waited for.
	_, err := worqr.Open(t.Context(), "redis://:hunter2@"+protected.Addr(), worqr.Config{WaitForRedis: true})
	if err == nil || !strings.Contains(err.Error(), "WRONGPASS") {
		t.Errorf("a wrong password with WaitForRedis: %v", err)
	}
}

// parrot is a server that answers every line with an error that repeats it.
func parrot(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer func() { _ = conn.Close() }()
				heard := make([]byte, 4096)
				n, err := conn.Read(heard)
				if err == nil {
					_, _ = conn.Write([]byte("-ERR what is " + strings.Join(strings.Fields(string(heard[:n])), " ") + "\r\n"))
				}
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		serving.Wait()
	})
	return l.Addr().String()
}

func TestNoSecretInTheLog(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t, "--requirepass", secret)
	url := "redis://:" + secret + "@" + server.Addr()
	proxy := redistest.NewProxy(t, url)
	if !strings.Contains(proxy.URL(), secret) {
		t.Fatal("the URL has no password")
	}
	c, err := redis.DialURL(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	m, log := logged(t, proxy.URL(), worqr.Config{Namespace: "ns"})
	var told logs
	cfg := handling(quick(), "q", 1, func(context.Context, *worqr.Process) error { return errors.New("no luck") })
	cfg.Hooks.OnError = func(err error) { _, _ = told.Write([]byte(err.Error() + "\n")) }
	w, stop := run(t, m, cfg)
	enqueue(t, m, "q", "a")
	redistest.Eventually(t, soon, "the worker works", func() bool { return strings.Contains(told.String(), "no luck") })
	for _, fault := range []func(bool){
		proxy.Refuse,
		func(on bool) { // the password is another one
			password := secret
			if on {
				password = "another"
			}
			if _, err := c.Do("CONFIG", "SET", "requirepass", password); err != nil {
				t.Fatal(err)
			}
			proxy.Cut()
		},
		func(on bool) {
			if on {
				proxy.Freeze(redistest.ToClient)
			} else {
				proxy.Thaw()
				proxy.Cut()
			}
		},
	} {
		id := w.ID()
		before := len(told.String())
		fault(true)
		redistest.Eventually(t, soon, "the fault is felt", func() bool { return !w.Alive() && len(told.String()) > before })
		short, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		for _, err := range []error{m.Enqueue(short, "q", []byte("b")), m.Check(short), m.Fail(short, id)} {
			if err == nil {
				t.Error("a verb succeeds without Redis")
			} else {
				clean(t, "an error", err.Error())
			}
		}
		cancel()
		fault(false)
		redistest.Eventually(t, soon, "the worker joins again", func() bool { return w.Alive() && w.ID() != id })
	}
	if err := stop(); err != nil {
		clean(t, "the error of Run", err.Error())
	}
	clean(t, "OnError", told.String())
	clean(t, "the log", log.String())
	if len(log.lines("lapsed")) == 0 || len(log.lines("events: not connected")) == 0 {
		t.Errorf("the log has not the lines that it should have:\n%s", log.String())
	}
}
