package events

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestDecode(t *testing.T) {
	big := strings.Repeat("\x00\n", 1<<19)
	q := func(k Kind) topic { return topic{kind: k, name: "orders"} }
	me, wk := topic{kind: mesh}, topic{kind: wake, name: "w1"}
	for _, c := range []struct {
		topic   topic
		payload string
		want    Event // zero: malformed
	}{
		{q(Work), "1", Event{Kind: Work, Queue: "orders", Count: 1}},
		{q(Work), "0", Event{Kind: Work, Queue: "orders"}},
		{q(Work), "10000", Event{Kind: Work, Queue: "orders", Count: 10000}},
		{q(Work), "", Event{}},
		{q(Work), "-1", Event{}},
		{q(Work), "+1", Event{}},
		{q(Work), "1_0", Event{}},
		{q(Work), "0x1", Event{}},
		{q(Work), " 1", Event{}},
		{q(Work), "1\n", Event{}},
		{q(Work), "1e3", Event{}},
		{q(Work), "9223372036854775808", Event{}},
		{q(Work), strings.Repeat("1", 1<<20), Event{}},
		{q(Work), "\x00", Event{}},

		{q(Delete), "1790000000000000", Event{Kind: Delete, Queue: "orders", Token: 1790000000000000}},
		{q(Delete), "9223372036854775807", Event{Kind: Delete, Queue: "orders", Token: 9223372036854775807}},
		{q(Delete), "1\n", Event{}},
		{q(Delete), "", Event{}},

		{q(Cancel), "7\n", Event{Kind: Cancel, Queue: "orders", Token: 7, Task: []byte{}}},
		{q(Cancel), "7\n\n", Event{Kind: Cancel, Queue: "orders", Token: 7, Task: []byte("\n")}},
		{q(Cancel), "7\na b\x00\nc", Event{Kind: Cancel, Queue: "orders", Token: 7, Task: []byte("a b\x00\nc")}},
		{q(Cancel), "7\n" + big, Event{Kind: Cancel, Queue: "orders", Token: 7, Task: []byte(big)}},
		{q(Cancel), "7 9 beef\ncut", Event{Kind: Cancel, Queue: "orders", Token: 7, Task: []byte("cut"), Size: 9, Sum: "beef"}},
		{q(Cancel), "7 9\ncut", Event{}},
		{q(Cancel), "7 3 beef\ncut", Event{}},
		{q(Cancel), "7 9 be ef\ncut", Event{}},
		{q(Cancel), "7", Event{}},
		{q(Cancel), "\ntask", Event{}},
		{q(Cancel), "7 \ntask", Event{}},

		{q(Done), "w1 w1.0.3 9\n", Event{Kind: Done, Queue: "orders", Worker: "w1", Process: "w1.0.3", Token: 9, Task: []byte{}}},
		{q(Done), "w1 w1.0.3 9\n\x00 \n", Event{Kind: Done, Queue: "orders", Worker: "w1", Process: "w1.0.3", Token: 9, Task: []byte("\x00 \n")}},
		{q(Done), "w1 w1.0.3 9 10\ncut", Event{Kind: Done, Queue: "orders", Worker: "w1", Process: "w1.0.3", Token: 9, Task: []byte("cut"), Size: 10}},
		{q(Done), "w1 w1.0.3 9 10 beef\ncut", Event{}},
		{q(Done), "w1 w1.0.3 9 3\ncut", Event{}},
		{q(Done), "w1 w1.0.3 9", Event{}},
		{q(Done), "w1 w1.0.3\ntask", Event{}},
		{q(Done), "w1 9\ntask", Event{}},
		{q(Done), " w1.0.3 9\ntask", Event{}},
		{q(Done), "w1  9\ntask", Event{}},
		{q(Done), "w1 w1.0.3 9 \ntask", Event{}},
		{q(Done), "w1\x00 w1.0.3 9\ntask", Event{}},
		{q(Done), "\n", Event{}},
		{q(Done), "", Event{}},

		{me, "joined w1", Event{Kind: Joined, Worker: "w1"}},
		{me, "left w1", Event{Kind: Left, Worker: "w1"}},
		{me, "lapsed w1", Event{Kind: Lapsed, Worker: "w1"}},
		{me, "reclaimed w1", Event{Kind: Reclaimed, Worker: "w1"}},
		{me, "done w1", Event{}},
		{me, "wake w1", Event{}},
		{me, "joined", Event{}},
		{me, "joined ", Event{}},
		{me, "joined w1 w2", Event{}},
		{me, "joined w1\n", Event{}},
		{me, "", Event{}},

		{wk, "fail", Event{Kind: fail, Worker: "w1"}},
		{wk, "wake a:b/c*", Event{Kind: wake, Worker: "w1", Queue: "a:b/c*"}},
		{wk, "wake fail", Event{Kind: wake, Worker: "w1", Queue: "fail"}},
		{wk, "wake", Event{}},
		{wk, "wake ", Event{}},
		{wk, "wake a b", Event{}},
		{wk, "fail ", Event{}},
		{wk, "Fail", Event{}},
		{wk, "", Event{}},

		{topic{}, "1", Event{}},
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
func encode(e Event) string {
	cut := ""
	if e.Size > len(e.Task) {
		cut = fmt.Sprintf(" %d", e.Size)
	}
	if e.Sum != "" {
		cut += " " + e.Sum
	}
	switch e.Kind {
	case Work:
		return fmt.Sprintf("%d", e.Count)
	case Cancel:
		return fmt.Sprintf("%d%s\n%s", e.Token, cut, e.Task)
	case Delete:
		return fmt.Sprintf("%d", e.Token)
	case Done:
		return fmt.Sprintf("%s %s %d%s\n%s", e.Worker, e.Process, e.Token, cut, e.Task)
	case wake:
		return "wake " + e.Queue
	case fail:
		return "fail"
	default:
		return e.Kind.String() + " " + e.Worker
	}
}

// Whatever arrives is either refused or read as what would be written again.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{"", "1", "007", "-1", "7\ntask", "7 9 beef\ncut", "w p 9 10\ncut", "7\n", "w p 9\n\x00\n", "joined w", "wake q", "fail", "w p 9", "\xff\n\n"} {
		for k := range uint8(mesh) + 2 {
			f.Add(k, []byte(s))
		}
	}
	f.Fuzz(func(t *testing.T, kind uint8, payload []byte) {
		from := topic{kind: Kind(kind), name: "name"}
		before := bytes.Clone(payload)
		e, err := decode(from, payload)
		if !bytes.Equal(before, payload) {
			t.Fatal("the payload was written to")
		}
		if err != nil {
			if !reflect.DeepEqual(e, Event{}) {
				t.Fatalf("refused with %v, and yet %+v", err, e)
			}
			return
		}
		again, err := decode(from, []byte(encode(e)))
		if err != nil || !reflect.DeepEqual(again, e) {
			t.Fatalf("%q was read as %+v, which is written %q and read as %+v, %v", payload, e, encode(e), again, err)
		}
		if e.Kind == Cancel || e.Kind == Done {
			if !bytes.HasSuffix(payload, append([]byte("\n"), e.Task...)) {
				t.Fatalf("%q: the task %q is not its end", payload, e.Task)
			}
		}
	})
}

func TestKindWords(t *testing.T) {
	want := "kind(0) work cancel delete done joined left lapsed reclaimed wake give fail mesh ready kind(14)"
	var words []string
	for k := range ready + 2 {
		words = append(words, k.String())
	}
	if got := strings.Join(words, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
