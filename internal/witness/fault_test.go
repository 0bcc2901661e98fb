package witness

import (
	"strings"
	"testing"
	"time"
)

// What cannot be judged is a fault, and ends the connection.
func TestFaults(t *testing.T) {
	start := message{Op: begin, At: ahead, ID: 1, Key: "x", Token: 1}
	for what, say := range map[string][]message{
		"statement 5 where":      {start, {Op: still, At: ahead, UpTo: 1, Seq: 3}},
		"ahead of its receipt":   {{Op: begin, At: ahead + time.Hour, ID: 1, Key: "x", Token: 1}},
		"hold 2 ends":            {start, {Op: end, At: ahead, ID: 2}},
		"hold 1 ended at":        {start, {Op: still, At: ahead, UpTo: 1}, {Op: end, At: ahead - ms, ID: 1}},
		"hold 1 begins after":    {start, start},
		"up to hold 2":           {start, {Op: still, At: ahead, UpTo: 2}},
		"after 1h0m0s":           {start, {Op: still, At: ahead, UpTo: 1}, {Op: still, At: ahead - ms, UpTo: 1}},
		"hold 3 refuses":         {start, {Op: still, At: ahead, UpTo: 1, Asked: ahead, Refused: []uint64{3}}},
		"an unknown statement 4": {start, {Op: welcome}},
		"an answer to ping 9":    {start, {Op: pong, N: 9}},
	} {
		virtual(t, Config{}, func(b *bench) {
			r := b.raw("one", b.machine(), 0, 0)
			for _, m := range say {
				r.seq += m.Seq // skips so many
				r.say(m)
			}
			rep := b.Report()
			if rep.Totals.Faults != 1 || len(rep.Faults) != 1 {
				b.Fatalf("%s: no fault\n%s", what, rep)
			}
			if f := rep.Faults[0]; f.Holder != "one" || !strings.Contains(f.What, what) {
				b.Errorf("%s: %v", what, f)
			}
			b.want("cut", rep.Cut, min(1, len(say)-1))
			<-r.ended
		})
	}
}

func TestNonsenseOnTheWire(t *testing.T) {
	virtual(t, Config{}, func(b *bench) {
		r := b.raw("one", b.machine(), 0, 0)
		r.say(message{Op: begin, At: ahead, ID: 1, Key: "x", Token: 1})
		r.c.Write([]byte("\rGET / HTTP/1.1\r\n\r\n"))
		b.at(ms)
		b.want("cut", b.Report().Cut, 1)
		c := b.connect() // one that sends nothing at all is not waited for
		defer c.Close()
		b.at(impatient + 2*ms)
		if _, err := c.Read(make([]byte, 1)); err == nil {
			b.Error("it was answered")
		}
	})
}
