package subscribe

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/worqr/worqr-go/events"
)

func TestDecode(t *testing.T) {
	big := strings.Repeat("\x00\n", 1<<19)
	q := func(k events.Kind) topic { return topic{kind: k, name: "orders"} }
	me, wk := topic{kind: mesh}, topic{kind: wake, name: "w1"}
	for _, c := range []struct {
		topic   topic
		payload string
		want    events.Event // zero: malformed
	}{
		{q(events.Work), "1", events.Event{Kind: events.Work, Queue: "orders", Count: 1}},
		{q(events.Work), "0", events.Event{Kind: events.Work, Queue: "orders"}},
		{q(events.Work), "10000", events.Event{Kind: events.Work, Queue: "orders", Count: 10000}},
		{q(events.Work), "", events.Event{}},
		{q(events.Work), "-1", events.Event{}},
		{q(events.Work), "+1", events.Event{}},
		{q(events.Work), "1_0", events.Event{}},
		{q(events.Work), "0x1", events.Event{}},
		{q(events.Work), " 1", events.Event{}},
		{q(events.Work), "1\n", events.Event{}},
		{q(events.Work), "1e3", events.Event{}},
		{q(events.Work), "9223372036854775808", events.Event{}},
		{q(events.Work), strings.Repeat("1", 1<<20), events.Event{}},
		{q(events.Work), "\x00", events.Event{}},

		{q(events.Delete), "1790000000000000", events.Event{Kind: events.Delete, Queue: "orders", Token: 1790000000000000}},
		{q(events.Delete), "9223372036854775807", events.Event{Kind: events.Delete, Queue: "orders", Token: 9223372036854775807}},
		{q(events.Delete), "1\n", events.Event{}},
		{q(events.Delete), "", events.Event{}},

		{q(events.Cancel), "7\n", events.Event{Kind: events.Cancel, Queue: "orders", Token: 7, Task: []byte{}}},
		{q(events.Cancel), "7\n\n", events.Event{Kind: events.Cancel, Queue: "orders", Token: 7, Task: []byte("\n")}},
		{q(events.Cancel), "7\na b\x00\nc", events.Event{Kind: events.Cancel, Queue: "orders", Token: 7, Task: []byte("a b\x00\nc")}},
		{q(events.Cancel), "7\n" + big, events.Event{Kind: events.Cancel, Queue: "orders", Token: 7, Task: []byte(big)}},
		{q(events.Cancel), "7 9 beef\ncut", events.Event{Kind: events.Cancel, Queue: "orders", Token: 7, Task: []byte("cut"), Size: 9, Sum: "beef"}},
		{q(events.Cancel), "7 9\ncut", events.Event{}},
		{q(events.Cancel), "7 3 beef\ncut", events.Event{}},
		{q(events.Cancel), "7 9 be ef\ncut", events.Event{}},
		{q(events.Cancel), "7", events.Event{}},
		{q(events.Cancel), "\ntask", events.Event{}},
		{q(events.Cancel), "7 \ntask", events.Event{}},

		{q(events.Done), "w1 w1.0.3 9\n", events.Event{Kind: events.Done, Queue: "orders", Worker: "w1", Process: "w1.0.3", Token: 9, Task: []byte{}}},
		{q(events.Done), "w1 w1.0.3 9\n\x00 \n", events.Event{Kind: events.Done, Queue: "orders", Worker: "w1", Process: "w1.0.3", Token: 9, Task: []byte("\x00 \n")}},
		{q(events.Done), "w1 w1.0.3 9 10\ncut", events.Event{Kind: events.Done, Queue: "orders", Worker: "w1", Process: "w1.0.3", Token: 9, Task: []byte("cut"), Size: 10}},
		{q(events.Done), "w1 w1.0.3 9 10 beef\ncut", events.Event{}},
		{q(events.Done), "w1 w1.0.3 9 3\ncut", events.Event{}},
		{q(events.Done), "w1 w1.0.3 9", events.Event{}},
		{q(events.Done), "w1 w1.0.3\ntask", events.Event{}},
		{q(events.Done), "w1 9\ntask", events.Event{}},
		{q(events.Done), " w1.0.3 9\ntask", events.Event{}},
		{q(events.Done), "w1  9\ntask", events.Event{}},
		{q(events.Done), "w1 w1.0.3 9 \ntask", events.Event{}},
		{q(events.Done), "w1\x00 w1.0.3 9\ntask", events.Event{}},
		{q(events.Done), "\n", events.Event{}},
		{q(events.Done), "", events.Event{}},

		{me, "joined w1", events.Event{Kind: events.Joined, Worker: "w1"}},
		{me, "left w1", events.Event{Kind: events.Left, Worker: "w1"}},
		{me, "lapsed w1", events.Event{Kind: events.Lapsed, Worker: "w1"}},
		{me, "reclaimed w1", events.Event{Kind: events.Reclaimed, Worker: "w1"}},
		{me, "done w1", events.Event{}},
		{me, "wake w1", events.Event{}},
		{me, "joined", events.Event{}},
		{me, "joined ", events.Event{}},
		{me, "joined w1 w2", events.Event{}},
		{me, "joined w1\n", events.Event{}},
		{me, "", events.Event{}},

		{wk, "fail", events.Event{Kind: fail, Worker: "w1"}},
		{wk, "wake a:b/c*", events.Event{Kind: wake, Worker: "w1", Queue: "a:b/c*"}},
		{wk, "wake fail", events.Event{Kind: wake, Worker: "w1", Queue: "fail"}},
		{wk, "wake", events.Event{}},
		{wk, "wake ", events.Event{}},
		{wk, "wake a b", events.Event{}},
		{wk, "give 2 5 a:b", events.Event{Kind: give, Worker: "w1", Queue: "a:b", Count: 2, Token: 5}},
		{wk, "give 0 0 q", events.Event{Kind: give, Worker: "w1", Queue: "q"}},
		{wk, "give 2 5", events.Event{}},
		{wk, "give 2 5 ", events.Event{}},
		{wk, "give 2 5 a b", events.Event{}},
		{wk, "give 2 q", events.Event{}},
		{wk, "give  5 q", events.Event{}},
		{wk, "give -2 5 q", events.Event{}},
		{wk, "give 2 9223372036854775808 q", events.Event{}},
		{wk, "give", events.Event{}},
		{wk, "fail ", events.Event{}},
		{wk, "Fail", events.Event{}},
		{wk, "", events.Event{}},

		{topic{}, "1", events.Event{}},
	} {
		got, err := decode(c.topic, []byte(c.payload))
		if c.want.Size == 0 {
			c.want.Size = len(c.want.Task)
		}
		if !reflect.DeepEqual(got, c.want) || (err != nil) != (c.want.Kind == 0) {
			t.Errorf("%v %.60q: got %+v, %v, want %+v", c.topic.kind, c.payload, got, err, c.want)
		}
	}
}

// encode is what the scripts do.
func encode(e events.Event) string {
	cut := ""
	if e.Size > len(e.Task) {
		cut = fmt.Sprintf(" %d", e.Size)
	}
	if e.Sum != "" {
		cut += " " + e.Sum
	}
	switch e.Kind {
	case events.Work:
		return fmt.Sprintf("%d", e.Count)
	case events.Cancel:
		return fmt.Sprintf("%d%s\n%s", e.Token, cut, e.Task)
	case events.Delete:
		return fmt.Sprintf("%d", e.Token)
	case events.Done:
		return fmt.Sprintf("%s %s %d%s\n%s", e.Worker, e.Process, e.Token, cut, e.Task)
	case wake:
		return "wake " + e.Queue
	case give:
		return fmt.Sprintf("give %d %d %s", e.Count, e.Token, e.Queue)
	case fail:
		return "fail"
	default:
		return e.Kind.String() + " " + e.Worker
	}
}

// Whatever arrives is either refused or read as what would be written again.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{"", "1", "007", "-1", "7\ntask", "7 9 beef\ncut", "w p 9 10\ncut", "7\n", "w p 9\n\x00\n", "joined w", "wake q", "give 2 5 q", "fail", "w p 9", "\xff\n\n"} {
		for _, k := range []events.Kind{0, events.Work, events.Cancel, events.Delete, events.Done, mesh, wake} {
			f.Add(uint8(k), []byte(s))
		}
	}
	f.Fuzz(func(t *testing.T, kind uint8, payload []byte) {
		from := topic{kind: events.Kind(kind), name: "name"}
		before := bytes.Clone(payload)
		e, err := decode(from, payload)
		if !bytes.Equal(before, payload) {
			t.Fatal("the payload was written to")
		}
		if err != nil {
			if !reflect.DeepEqual(e, events.Event{}) {
				t.Fatalf("refused with %v, and yet %+v", err, e)
			}
			return
		}
		again, err := decode(from, []byte(encode(e)))
		if err != nil || !reflect.DeepEqual(again, e) {
			t.Fatalf("%q was read as %+v, which is written %q and read as %+v, %v", payload, e, encode(e), again, err)
		}
		if e.Kind == events.Cancel || e.Kind == events.Done {
			if !bytes.HasSuffix(payload, append([]byte("\n"), e.Task...)) {
				t.Fatalf("%q: the task %q is not its end", payload, e.Task)
			}
		}
	})
}
