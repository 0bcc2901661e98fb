package presence

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

const ms = time.Millisecond

// judge passes looks to a Watch, in simulated time.
type judge struct {
	testing.TB
	*Watch
	start, now time.Time
}

func newJudge(t testing.TB) *judge {
	t.Helper()
	w, err := NewWatch(WatchConfig{Self: "self"})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	return &judge{t, w, start, start}
}

// look adds a look that begins so long after the reply of the last one, and takes so long. A row is
// "a+" when a is subscribed, "a" when not; "a@20" has a heartbeat that ends at 20 ms, "a!" has
// appeared.
func (j *judge) look(after, takes time.Duration, rows string) Findings {
	j.Helper()
	var list []Row
	for _, word := range strings.Fields(rows) {
		row := Row{Ends: 1_000_000, Appeared: strings.Contains(word, "!")}
		if strings.Contains(word, "+") {
			row.Subscribers = 1
		}
		id, ends, found := strings.Cut(strings.TrimRight(word, "+!"), "@")
		if row.ID = id; found {
			n, err := strconv.ParseInt(ends, 10, 64)
			if err != nil {
				j.Fatal(err)
			}
			row.Ends = n * 1000
		}
		list = append(list, row)
	}
	sent := j.now.Add(after)
	j.now = sent.Add(takes)
	return j.Look(sent, j.now, list)
}

// want compares what a look found: "a" is suspect, "a*" dead; the doubt is in brackets.
func (j *judge) want(f Findings, want string) {
	j.Helper()
	dead := map[string]bool{}
	for _, s := range f.Dead {
		dead[s.ID] = true
	}
	var words []string
	for _, s := range f.Suspects {
		if dead[s.ID] {
			s.ID += "*"
		}
		words = append(words, s.ID)
	}
	if f.Doubt != "" {
		words = append(words, "("+f.Doubt+")")
	}
	if got := strings.Join(words, " "); got != want {
		j.Errorf("at %v found %q, want %q", j.now.Sub(j.start), got, want)
	}
}

func TestAWorkerIsKilled(t *testing.T) {
	j := newJudge(t)
	j.want(j.look(0, ms, "self+ a+ b+"), "")
	first := j.look(100*ms, 10*ms, "self+ a@900 b+")
	since := j.now
	j.want(first, "a")
	j.want(j.look(100*ms, 0, "self+ a@902 b+"), "a")
	j.want(j.look(100*ms, 0, "self+ a@898 b+"), "a")
	f := j.look(100*ms-1, 0, "self+ a@900 b+")
	j.want(f, "a")
	if f.Next != 1 {
		t.Errorf("the next look in %v", f.Next)
	}
	f = j.look(1, 50*ms, "self+ a@900 b+")
	j.want(f, "a*")
	if s := f.Dead[0]; s.Ends != 900_000 || !s.Since.Equal(since) || s != f.Suspects[0] {
		t.Errorf("%+v, suspected %v", s, since)
	}
	j.want(j.look(100*ms, 0, "self+ a@900 b+"), "a*")
	j.Taken("a")
	j.want(j.look(100*ms, 0, "self+ a@900! b+"), "") // the record that it has appeared does not bring it back
	j.want(j.look(100*ms, 0, "self+ a@900+ b+"), "")
	j.want(j.look(100*ms, 0, "self+ a@900 b+"), "a")
	j.want(j.look(100*ms, 0, "self+ b+"), "")
	j.want(j.look(100*ms, 0, "self+ a@900 b+"), "") // it is another worker
}

func TestASuspicionIsRefuted(t *testing.T) {
	for name, sign := range map[string]string{
		"subscription": "self+ a@900+ b+", "beat": "self+ a@910 b+", "beat after the server's clock was set back": "self+ a@400 b+",
	} {
		t.Run(name, func(t *testing.T) {
			j := newJudge(t)
			j.look(0, 0, "self+ a+ b+")
			j.want(j.look(100*ms, 0, "self+ a@900 b+"), "a")
			j.look(100*ms, 0, sign)
			ends := strings.TrimSuffix(strings.Fields(sign)[1], "+")
			for range 2 {
				j.want(j.look(100*ms, 0, "self+ b+ "+ends), "a")
			}
			if strings.Contains(sign, "a@900+") { // the first look that misses it again counts, not the sign
				j.want(j.look(100*ms, 0, "self+ b+ "+ends), "a")
			}
			f := j.look(100*ms, 0, "self+ b+ "+ends)
			j.want(f, "a*")
			if got := fmt.Sprint("a@", f.Dead[0].Ends/1000); got != ends {
				t.Errorf("dead with the end %s, want %s", got, ends)
			}
		})
	}
}

// A worker that lost its heartbeat has not beaten.
func TestALapseIsNoBeat(t *testing.T) {
	j := newJudge(t)
	j.look(0, 0, "self+ a+")
	j.look(100*ms, 0, "self+ a@900")
	j.look(100*ms, 0, "self+ a@0")
	j.look(100*ms, 0, "self+ a@0")
	j.want(j.look(100*ms, 0, "self+ a@0"), "a*")
}

func TestWhoNeverAppearedIsNotSuspected(t *testing.T) {
	j := newJudge(t)
	for range 10 {
		j.want(j.look(100*ms, 0, "self+ a b+"), "")
	}
	j = newJudge(t) // a judge that is new to it
	for range 3 {
		j.want(j.look(100*ms, 0, "self+ a! b+"), "a")
	}
	j.want(j.look(100*ms, 0, "self+ a! b+"), "a*")
}

func TestMostAreMissed(t *testing.T) {
	j := newJudge(t)
	j.look(0, 0, "self+ a+ b+ c+ d+")
	j.want(j.look(100*ms, 0, "self+ a+ b+ c d"), "c d")
	for range 5 {
		j.want(j.look(100*ms, 0, "self+ a+ b c d"), "b c d (3 of 5 are missed at once)")
	}
	for range 2 {
		j.want(j.look(100*ms, 0, "self+ a+ b+ c d"), "c d")
	}
	j.want(j.look(100*ms-1, 0, "self+ a+ b+ c d"), "c d")
	j.want(j.look(1, 0, "self+ a+ b+ c d"), "c* d*")
	j.Taken("c")
	j.want(j.look(0, 0, "self+ a+ b+ c d"), "d*")
	// c is not counted any more. Two of four are not a majority, three are.
	j.want(j.look(100*ms, 0, "self+ a b+ c d"), "a d*")
	j.want(j.look(100*ms, 0, "self+ a b c d"), "a b d (3 of 4 are missed at once)")
	j.want(j.look(100*ms, 0, "self+ a b+ c d"), "a d")

	j = newJudge(t) // two have no majority
	j.look(0, 0, "a+ b+")
	for range 3 {
		j.want(j.look(100*ms, 0, "a b"), "a b")
	}
	j.want(j.look(100*ms, 0, "a b"), "a* b*")
}

func TestAJudgeThatDoubtsItself(t *testing.T) {
	begin := func() *judge {
		j := newJudge(t)
		j.look(0, 0, "self+ a+ b+")
		for range 3 {
			j.want(j.look(100*ms, 0, "self+ a b+"), "a")
		}
		return j
	}
	again := func(j *judge) {
		t.Helper()
		for range 2 {
			j.want(j.look(100*ms, 0, "self+ a b+"), "a")
		}
		j.want(j.look(100*ms-1, 0, "self+ a b+"), "a")
		j.want(j.look(1, 0, "self+ a b+"), "a*")
	}
	j := begin()
	j.want(j.look(250*ms, 150*ms, "self+ a b+"), "a*")
	j = begin()
	j.want(j.look(251*ms, 0, "self+ a b+"), "a (the look comes 251ms after the last one)")
	again(j)
	j = begin()
	j.want(j.look(100*ms, 151*ms, "self+ a b+"), "a (the look took 151ms)")
	again(j)
	j = begin()
	j.want(j.look(100*ms, 0, "self a b+ c+ d+ e+"), "a self (the server does not count the judge either)")
	again(j)
}
