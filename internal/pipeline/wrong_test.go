package pipeline_test

import (
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/pipeline"
)

// demoted works like numbered, but each connection with a number below primary refuses WRITE. It
// returns when it has ended.
type demoted struct {
	primary int
	ended   atomic.Int32
}

func (d *demoted) play(n int, c net.Conn) {
	defer d.ended.Add(1)
	for r := range requests(c) {
		switch {
		case r[0] == "SILENCE":
		case r[0] == "SLEEP":
			pause, _ := time.ParseDuration(r[1])
			pass(pause)
			io.WriteString(c, "+OK\r\n")
		case r[0] == "WRITE" && n < d.primary:
			io.WriteString(c, "-READONLY no\r\n")
		default:
			io.WriteString(c, bulk(strings.Repeat("I", n)))
		}
	}
}

func readOnly(asked *atomic.Int32) pipeline.Config {
	return pipeline.Config{Wrong: func(err error) bool {
		asked.Add(1)
		return strings.HasPrefix(err.Error(), "READONLY")
	}}
}

// answeredBy checks that the connection with the given number answered a request.
func answeredBy(t *testing.T, r *request, want string) {
	t.Helper()
	a := r.answer(t)
	if v, err := redis.String(a.reply, a.err); err != nil || v != want {
		t.Errorf("%s %v: answered by %q, %v, want %s", r.name, r.args, v, err, want)
	}
}

// A refusal that marks the server as the wrong one retires the connection. What is flying on it is
// completed, what follows goes over another, and it ends with the last reply.
func TestWrongServerRetiresTheConnection(t *testing.T) {
	d := &demoted{primary: 2}
	var asked atomic.Int32
	bubble(t, readOnly(&asked), d.play, func(t *testing.T, p *pipeline.Pipe, l *line) {
		answeredBy(t, do(p, t.Context(), "WHERE"), "I")
		pause := send(p, "SLEEP", "10ms") // so that all of these are flying together
		synctest.Wait()
		refused, slow, behind, second := send(p, "WRITE"), send(p, "SLEEP", "10ms"), send(p, "WHERE"), send(p, "WRITE")
		pause.answer(t)
		for _, r := range []*request{refused, second} {
			if a := r.answer(t); !a.sent || a.err == nil || a.err.Error() != "READONLY no" {
				t.Errorf("a write: %+v", a)
			}
			answeredBy(t, do(p, t.Context(), "WRITE"), "II") // also while the other is still flying
		}
		slow.answer(t)
		answeredBy(t, behind, "I")
		synctest.Wait()
		if d.ended.Load() != 1 || l.dialled.Load() != 2 || asked.Load() != 1 {
			t.Errorf("%d connections ended, %d were dialled, %d refusals were asked about; want 1, 2, 1", d.ended.Load(), l.dialled.Load(), asked.Load())
		}
	})
}

// Another refusal leaves the connection alone.
func TestRefusalKeepsTheConnection(t *testing.T) {
	d := &demoted{primary: 5}
	bubble(t, pipeline.Config{Wrong: func(error) bool { return false }}, d.play, func(t *testing.T, p *pipeline.Pipe, l *line) {
		for range 3 {
			if a := do(p, t.Context(), "WRITE").answer(t); a.err == nil {
				t.Error("it was not refused")
			}
		}
		if l.dialled.Load() != 1 {
			t.Errorf("%d connections were dialled", l.dialled.Load())
		}
	})
}

// Renew retires both connections: an idle one ends at once, a busy one with its last reply.
func TestRenew(t *testing.T) {
	d := &demoted{}
	bubble(t, pipeline.Config{}, d.play, func(t *testing.T, p *pipeline.Pipe, l *line) {
		slow := send(p, "SLEEP", "1s")
		pass(100 * time.Millisecond)
		answeredBy(t, do(p, t.Context(), "WHERE"), "II")
		p.Renew()
		synctest.Wait()
		if n := d.ended.Load(); n != 1 {
			t.Fatalf("%d connections ended, want the idle one", n)
		}
		if a := slow.answer(t); a.err != nil {
			t.Errorf("what was flying: %+v", a)
		}
		synctest.Wait()
		if n := d.ended.Load(); n != 2 {
			t.Errorf("%d connections ended, want both", n)
		}
		answeredBy(t, do(p, t.Context(), "WHERE"), "III")
		p.Renew()
		p.Renew()
		answeredBy(t, do(p, t.Context(), "WHERE"), "IIII")
	})
}

// Close also ends a retired connection that still waits for a reply.
func TestCloseEndsRetiredConnections(t *testing.T) {
	d := &demoted{}
	bubble(t, pipeline.Config{Timeout: time.Hour}, d.play, func(t *testing.T, p *pipeline.Pipe, l *line) {
		mute := send(p, "SILENCE")
		synctest.Wait()
		p.Renew()
		answeredBy(t, do(p, t.Context(), "WHERE"), "II")
		start := time.Now()
		p.Close()
		if a := <-mute.answers; a.err != pipeline.ErrClosed || !a.sent || time.Since(start) != 0 {
			t.Errorf("%+v after %v", a, time.Since(start))
		}
	})
}
