package worqr_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/wire"
)

// What the tableau proves it proves of what the scripts come to: every command that stands in a
// script's own file is run by one of its calls.
func TestTheTableauReachesEveryCommand(t *testing.T) {
	t.Parallel()
	except := map[string]string{"beat PEXPIRE": "on a full Redis", "sweep GET": "where a beat has claimed the round",
		"join HDEL": "where it answers CONFIG"}
	tb := newTableau(t)
	ran := map[string]bool{}
	for _, k := range tb.calls() {
		tb.receive(k, tb.prepare(k))
		if _, err := tb.c.Do("CONFIG", "RESETSTAT"); err != nil {
			t.Fatal(err)
		}
		if _, err := tb.c.Do("EVALSHA", k.words()...); err != nil {
			t.Errorf("%v: %v", k, err)
		}
		stats, err := redis.String(tb.c.Do("INFO", "commandstats"))
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`(?m)^cmdstat_([a-z]+)`).FindAllStringSubmatch(stats, -1) {
			ran[k.script+" "+found[1]] = true
		}
	}
	for _, s := range wire.Scripts() {
		name, own := s.Name, wire.Text(s.Files[len(s.Files)-1])
		text := regexp.MustCompile(`(?m)--.*$`).ReplaceAllString(own, "")
		for _, found := range called.FindAllStringSubmatch(text, -1) {
			word := found[1]
			if except[name+" "+word] == "" && !ran[name+" "+strings.ToLower(word)] {
				t.Errorf("no call of %s comes to its %s", name, word)
			}
		}
	}
}
