package wire

import (
	"reflect"
	"testing"
	"time"
)

// Each element of an answer is read where the head of its script says that it stands: no two of
// them are equal here.
func TestAnswersStandWhereTheScriptsPutThem(t *testing.T) {
	t.Parallel()
	read := func(name, reply string, want any, decode func(any) (any, error)) {
		t.Helper()
		if got, err := decode(replyOf(reply)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, want)
		}
	}
	second := time.UnixMicro
	read("beat", "*4 $5 $1 $0 $2", Beaten{Clock: 5 * time.Microsecond, Mine: true, Watchers: 2}, boxed(decodeBeat))
	read("beat", "*4 $5 $0 $1 $2", Beaten{Clock: 5 * time.Microsecond, Claimed: true, Watchers: 2}, boxed(decodeBeat))
	read("sweep", "*13 $5 $run $1 $9 :3 $q $7 $w1 $0 $1 $w2 $1 $0", Swept{
		Clock: 5 * time.Microsecond, Run: "run", Granted: true, Next: "9", Workers: 3, Turn: Turn{"q", "7"},
		Absent: []Absent{{ID: "w1", Lives: true}, {ID: "w2", ByHand: true}},
	}, boxed(decodeSweep))
	read("roster", "*7 $9 $w1 :900 *10 $host $h $pid $12 $capacity $3 $label:a $b $started $8 $w2 :-2 *2 $version $v1", Roster{Next: "9", Workers: []Registered{
		{ID: "w1", Alive: true, Left: 900 * time.Millisecond, Started: second(8), Info: Info{Host: "h", PID: 12, Capacity: 3, Labels: map[string]string{"a": "b"}}},
		{ID: "w2", Info: Info{Version: "v1", Labels: map[string]string{}}},
	}}, boxed(decodeRoster))
	read("watch", "*6 $2 $deputy $400 $w1 :1 $7", Watched{Workers: 2, Role: Deputy, Left: 400 * time.Millisecond, Rows: []Present{{"w1", 1, 7}}}, boxed(decodeWatch))
	read("served", "*2 :1 :0", []bool{true, false}, func(reply any) (any, error) { return decodeServed(reply, 2) })
	read("TIME", "*2 $3 $5", int64(3_000_005), boxed(decodeTime))
	read("CLIENT", "$id=3_db=4_name=db", 4, func(reply any) (any, error) { return decodeDatabase(reply), nil })
	read("reclaim", "*4 $8 $3 $1 $0", Reclaimed{Returned: 8, Dropped: 3, More: true}, boxed(decodeReclaim))
	read("reclaim", "*4 $8 $3 $0 $1", Reclaimed{Returned: 8, Dropped: 3, Fenced: true}, boxed(decodeReclaim))
	read("enqueue", "*2 $3 $1", Enqueued{Waiting: 3, Note: true}, boxed(DecodeEnqueue))
	read("add", "*3 $3 $1 $2", Added{Waiting: 3, Note: true, Added: 2}, boxed(decodeAdd))
	read("cancel", "*5 $4 $9 $1 $w1.1.1 $8", Canceled{Waiting: 4, Mark: 9, Named: true, Copies: []Copy{{"w1.1.1", 8}}}, boxed(decodeCancel))
	read("delete", "*2 $3 $9", Deleted{Waiting: 3, Mark: 9}, boxed(decodeDelete))
	read("trim", "*2 $0 $1", true, boxed(decodeTrim))
	read("audit", "*10 $9 $1 $2 $7 $w1.1 $member $4 $w2.1 $returning $5", Audit{
		Next: "9", Waiting: 1, Marks: 2, Oldest: 7, Members: []Member{{ID: "w1.1", Held: 4}, {ID: "w2.1", Returning: true, Held: 5}},
	}, boxed(decodeAudit))
	read("held", "*4 $7 $w1.1.1 $8 $task", Held{Next: "7", Rows: []HeldRow{{"w1.1.1", 8, []byte("task")}}}, boxed(decodeHeld))
	read("take", "*7 $6 $MORE $1_8_2_7_90_1 $done_gone $a $b $c", Taken{
		Newest: 6, More: true, Settled: "done gone", Rows: []Row{{1, 8, []byte("a")}, {2, 9, []byte("b")}, {7, 90, []byte("c")}},
	}, func(reply any) (any, error) { return decodeTake(reply, true) })
	read("take", "*3 $6 $HELP $", Taken{Newest: 6, Help: true}, func(reply any) (any, error) { return decodeTake(reply, false) })
	read("hold_take", `*10 $6 $OK $1_8_3 $50 $a $death_7\ndata $b $drain_9 $c $`, Taken{
		Newest: 6, Due: 50 * time.Millisecond, Rows: []Row{{1, 8, []byte("a")}, {2, 9, []byte("b")}, {3, 10, []byte("c")}},
		Pasts: []Past{{"death", 7, []byte("data")}, {"drain", 9, nil}, {}},
	}, boxed(decodeHoldTake))
	read("look", "*5 $1 $2 $9 $f $8", Looked{Held: 1, Waiting: 2, Newest: 9, Marks: []Mark{{"f", 8}}}, boxed(decodeLook))
	read("hold_look", "*6 $1 $2 $9 *7 $30 $40 $w1.1 $10 $5 $20 $7 $f $8", Looked{
		Held: 1, Waiting: 2, Newest: 9, Marks: []Mark{{"f", 8}},
		Round: &Round{Now: second(30), Full: second(40), Members: []Share{{"w1.1", 10, 5, second(20), 7}}},
	}, boxed(decodeHoldLook))
	read("hold_look", "*4 $1 $2 $9 *0", Looked{Held: 1, Waiting: 2, Newest: 9}, boxed(decodeHoldLook))
	read("locate", "*5 $held $w1.1.1 $7 $0 $2", Located{State: "held", Process: "w1.1.1", Token: 7, Deaths: 2}, boxed(decodeLocate))
	read("locate", "*5 $delayed $ $0 $8 $1", Located{State: "delayed", Due: second(8), Deaths: 1}, boxed(decodeLocate))
	read("locate", "*5 $delayed $ $0 $9000000000000000 $1", Located{State: "delayed", Deaths: 1}, boxed(decodeLocate))
	read("locate", "*0", Located{}, boxed(decodeLocate))
	read("present", "*3 $9 $a $b", Page{"9", []string{"a", "b"}}, boxed(decodePresent))
	read("checkpoint", "$kept_gone_kept", 2, boxed(decodeKeep))
	read("admit", "$1000", time.Millisecond, boxed(decodeAdmit))
}

func boxed[T any](decode func(any) (T, error)) func(any) (any, error) {
	return func(reply any) (any, error) { return decode(reply) }
}

// A page of marks that is full leaves more to ask for.
func TestAFullPageOfMarksLeavesMore(t *testing.T) {
	t.Parallel()
	for n, more := range map[int]bool{Most - 1: false, Most: true} {
		reply := []any{int64(0), int64(0), int64(9)}
		for range n {
			reply = append(reply, []byte("f"), int64(8))
		}
		if seen, err := decodeLook(reply); err != nil || seen.More != more || len(seen.Marks) != n {
			t.Errorf("%d marks: %v, %d, %v", n, seen.More, len(seen.Marks), err)
		}
	}
}

// What is settled is written in runs, and its outcomes are read one by one.
func TestRunsAndOutcomes(t *testing.T) {
	t.Parallel()
	text := AppendRun(AppendRun(nil, Run{7, 90, 3}, Finish), Run{12, 99, 1}, Front)
	if string(text) != "7 90 3 finish 12 99 1 front " {
		t.Errorf("%q", text)
	}
	words := Outcomes("done dropped gone")
	for left, want := range []Outcome{Done, Dropped, Gone} {
		if words.Len() != 3-left {
			t.Errorf("%d outcomes are left of %q", words.Len(), words)
		}
		if got := words.Next(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if words.Len() != 0 {
		t.Errorf("%q is left", words)
	}
}
