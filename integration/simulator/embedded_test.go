package simulator

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/embedded"
	"github.com/worqr/worqr-go/internal/redistest"
)

// The scripts behave on the embedded default as on Redis: the same schedules give the same answers,
// but for the time. Of persistent tasks only TestReducedSchedules compares the two: what their
// delays and rounds bring depends on the time.
func TestTheEmbeddedDefaultAgrees(t *testing.T) {
	first, count := seeds(t, 100)
	small, real := onEmbedded(t), onRedis(t, redistest.Own(t))
	for seed := first; seed < first+uint64(count); seed++ {
		if differ := agree(t, real, small, seed); differ != "" {
			t.Fatal(differ)
		}
	}
	t.Logf("%d schedules agree", count)
}

// onEmbedded runs schedules on the embedded default.
func onEmbedded(t *testing.T) *server {
	mini, err := embedded.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mini.Close() })
	var conns [2]redis.Conn
	for i := range conns {
		if conns[i], err = redis.DialURL(mini.URL()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conns[i].Close() })
	}
	s, err := newServer(conns[0], conns[1], 0, false)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// onRedis runs schedules on a server where nobody listens.
func onRedis(t *testing.T, r *redistest.Server) *server {
	s, err := newServer(r.Conn(t), r.Conn(t), 0, false)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// agree runs a schedule on both, and returns where their answers differ, "" when they do not.
func agree(t *testing.T, real, small *server, seed uint64) string {
	var logs [2][]string
	for i, s := range []*server{real, small} {
		w, err := run(s, seed, false)
		if err != nil {
			t.Fatalf("WORQR_SEED=%d on %s: %v\n%s", seed, []string{"Redis", "the embedded default"}[i], err, w.history())
		}
		logs[i] = w.timeless()
	}
	for i := range logs[0] {
		if i >= len(logs[1]) || logs[0][i] != logs[1][i] {
			return fmt.Sprintf("WORQR_SEED=%d: the answers differ at\n%s\n\nRedis:\n%s\n\nembedded:\n%s", seed, logs[0][i],
				strings.Join(logs[0], "\n"), strings.Join(logs[1], "\n"))
		}
	}
	return ""
}

// sorted sorts a table of rows.
func sorted(list []string, row int) []string {
	return slices.Concat(slices.SortedFunc(slices.Chunk(list, row), slices.Compare)...)
}

var instant = regexp.MustCompile(`\d{15,}`)

// timeless is the log with each instant replaced by its place in the order of appearance, and
// without what each server tells of itself.
func (w *world) timeless() []string {
	seen := map[string]string{}
	var lines []string
	for _, e := range w.log {
		line := e.event
		if e.command != nil {
			answer := slices.Clone(e.reply.words)
			switch e.command.script { // sets and hashes have no order
			case "":
				slices.Sort(answer)
			case "sweep":
				answer = append(answer[2:7], sorted(answer[7:], 3)...)
			case "audit":
				answer = append(answer[:4], sorted(answer[4:], 3)...)
			case "join", "beat":
				answer = nil
			case "watch":
				answer = append(answer[:2], sorted(answer[3:], 3)...)
			case "hold_take": // when the next one is due
				if len(answer) > 3 {
					answer[3] = ""
				}
			case "present":
				answer = sorted(answer[1:], 1)
			}
			line = fmt.Sprintf("%s %s -> %q %s", e.how, e.command, answer, word(e.reply.refused))
		}
		lines = append(lines, instant.ReplaceAllStringFunc(line, func(t string) string {
			if seen[t] == "" {
				seen[t] = fmt.Sprintf("T%d", len(seen))
			}
			return seen[t]
		}))
	}
	return lines
}
