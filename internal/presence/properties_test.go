package presence

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// past records all that a judge was given. The expected result of each look is computed from it
// anew.
type past struct {
	grace, every time.Duration
	looks        []pastLook
}

type pastLook struct {
	sent, received time.Duration
	rows           map[string]Row
	taken          map[string]bool // after this look
}

// missed returns the workers that are missed: listed since a look in which they were subscribed or
// had appeared, not subscribed now, and not Taken since.
func (p *past) missed(id string, at int) (missed, known bool) {
	appeared := false
	for i := at; i >= 0; i-- {
		row, listed := p.looks[i].rows[id]
		if !listed || i < at && p.looks[i].taken[id] {
			taken := listed
			return appeared && !taken && at >= 0 && p.looks[at].rows[id].Subscribers == 0, appeared && !taken
		}
		if row.Subscribers > 0 {
			return i < at, true
		}
		appeared = appeared || row.Appeared
	}
	return appeared, appeared
}

func (p *past) doubt(at int) bool {
	l, most, all, self := p.looks[at], 0, 0, false
	for id := range l.rows {
		missed, known := p.missed(id, at)
		if known {
			all++
		}
		if missed {
			most++
			self = self || id == "self"
		}
	}
	late := at > 0 && l.sent-p.looks[at-1].received > p.every+p.grace/2
	return most > 0 && (self || all >= 3 && most*2 > all || late || l.received-l.sent > p.grace/2)
}

// dead returns the missed workers for which there is a look, Grace or more before this one was
// sent, since which each look missed them, none was in doubt, and the heartbeat did not move.
func (p *past) dead(id string) bool {
	last := len(p.looks) - 1
	end := p.looks[last].rows[id].Ends
	for i := last; i >= 0; i-- {
		row := p.looks[i].rows[id]
		if missed, _ := p.missed(id, i); !missed {
			return false
		}
		if end == 0 {
			end = row.Ends
		}
		if row.Ends != 0 && end-row.Ends > 5000 {
			return false
		}
		if i < last && p.looks[last].sent-p.looks[i].received >= p.grace && !p.doubt(last) {
			return true
		}
		if p.doubt(i) {
			return false
		}
	}
	return false
}

func TestWatchAnswersWhatItsPastSays(t *testing.T) {
	s := seed(t)
	verdicts, doubts := 0, 0
	for round := range uint64(400) {
		dice := rand.New(rand.NewPCG(s, round))
		w, err := NewWatch(WatchConfig{Self: "self"})
		if err != nil {
			t.Fatal(err)
		}
		p := &past{grace: w.cfg.Grace, every: w.cfg.Every}
		start := time.Now()
		var now time.Duration
		ends := map[string]int64{}
		here, lapsed := map[string]bool{}, map[string]bool{}
		ids := []string{"self", "a", "b", "c", "d", "e"}[:2+dice.IntN(5)]
		quiet := dice.Float64() // how rarely anything happens
		for range 60 {
			sent := now + 90*ms
			takes := time.Duration(dice.IntN(20)) * ms
			if dice.IntN(25) == 0 {
				sent += time.Duration(dice.IntN(300)) * ms
			}
			if dice.IntN(25) == 0 {
				takes += time.Duration(dice.IntN(300)) * ms
			}
			now = sent + takes
			l := pastLook{sent, now, map[string]Row{}, map[string]bool{}}
			var rows []Row
			for _, id := range ids {
				happens := func(chance int) bool { return dice.Float64() > quiet && dice.IntN(chance) == 0 }
				if happens(6) {
					here[id] = !here[id]
				}
				if id == "self" && dice.IntN(20) > 0 {
					here[id] = true
				}
				if happens(10) || ends[id] == 0 {
					ends[id] += 1_000_000 + int64(dice.IntN(1000))*100
				}
				row := Row{ID: id, Ends: ends[id] + int64(dice.IntN(4000)), Appeared: dice.IntN(200) == 0}
				if here[id] {
					row.Subscribers = 1 + dice.IntN(2)
				}
				if lapsed[id] = lapsed[id] || dice.IntN(100) == 0; lapsed[id] {
					row.Ends = 0
				}
				if dice.IntN(50) == 0 {
					lapsed[id] = false // the next one of this name is another worker
				} else {
					l.rows[id] = row
					rows = append(rows, row)
				}
			}
			p.looks = append(p.looks, l)
			f := w.Look(start.Add(sent), start.Add(now), rows)
			var suspects, dead, wantSuspects, wantDead []string
			for _, one := range f.Suspects {
				suspects = append(suspects, one.ID)
			}
			for _, one := range f.Dead {
				dead = append(dead, one.ID)
			}
			for _, id := range slices.Sorted(slices.Values(ids)) {
				if _, listed := l.rows[id]; !listed {
					continue
				}
				if missed, _ := p.missed(id, len(p.looks)-1); missed {
					wantSuspects = append(wantSuspects, id)
				}
				if p.dead(id) {
					wantDead = append(wantDead, id)
				}
			}
			what := fmt.Sprintf("round %d, look %d at %v", round, len(p.looks), now)
			if !slices.Equal(suspects, wantSuspects) || !slices.Equal(dead, wantDead) || (f.Doubt != "") != p.doubt(len(p.looks)-1) {
				t.Fatalf("%s: suspects %v, dead %v, doubt %q; expected from its past %v, %v, %v", what, suspects, dead, f.Doubt, wantSuspects, wantDead, p.doubt(len(p.looks)-1))
			}
			if f.Next < 0 || f.Next > p.every {
				t.Fatalf("%s: next after %v", what, f.Next)
			}
			verdicts += len(dead)
			if f.Doubt != "" {
				doubts++
			}
			if len(dead) > 0 && dice.IntN(2) == 0 {
				w.Taken(dead[0])
				l.taken[dead[0]] = true
			}
		}
	}
	if verdicts < 100 || doubts < 100 {
		t.Errorf("only %d verdicts and %d doubts: this tests nothing", verdicts, doubts)
	}
}
