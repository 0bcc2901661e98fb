package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"
)

// screen shows what happens: on a terminal by a table that changes in place below the lines that
// stay, elsewhere by plain lines, or by lines of JSON.
type screen struct {
	out   io.Writer
	json  *json.Encoder // nil: text
	live  bool
	began time.Time
	table []string  // on the terminal now
	last  time.Time // that the state was shown where there is no terminal
}

// event is what happens, as a line of JSON. Times are in seconds since the beginning, gaps in
// milliseconds.
type event struct {
	At      float64  `json:"at"`
	Event   string   `json:"event"` // started, reconciled, move, rest, located, killed, drained, late, state, report or interrupted
	Holder  string   `json:"holder,omitempty"`
	PID     int      `json:"pid,omitempty"`
	Count   int      `json:"count,omitempty"` // of feeds
	After   float64  `json:"after,omitempty"` // since the last act
	Feed    string   `json:"feed,omitempty"`
	Where   string   `json:"where,omitempty"` // held and so on, as Locate has it
	From    string   `json:"from,omitempty"`
	Why     string   `json:"why,omitempty"`
	Token   int64    `json:"token,omitempty"`
	Gap     *gap     `json:"gap_ms,omitempty"`
	State   *view    `json:"state,omitempty"`
	Verdict *verdict `json:"report,omitempty"`
}

func newScreen(out *os.File, asJSON bool) *screen {
	s := &screen{out: out, began: time.Now()}
	info, err := out.Stat()
	switch term := os.Getenv("TERM"); {
	case asJSON:
		s.json = json.NewEncoder(out)
	case err == nil && info.Mode()&os.ModeCharDevice != 0 && term != "" && term != "dumb":
		s.live = true
	}
	return s
}

// say shows an event, in text by a line that stays; one without words is for JSON only.
func (s *screen) say(e event, format string, args ...any) {
	at := time.Since(s.began)
	if s.json != nil {
		e.At = math.Round(at.Seconds()*1000) / 1000
		_ = s.json.Encode(e) // there is no other place to complain
		return
	}
	if format == "" {
		return
	}
	var b strings.Builder
	s.erase(&b)
	fmt.Fprintf(&b, "%5.1f s  "+format+"\n", append([]any{at.Seconds()}, args...)...)
	s.put(&b, s.table)
	s.write(&b)
}

// draw shows a new state of the table: at once on a terminal, each second elsewhere.
func (s *screen) draw(v view) {
	if !s.live {
		if time.Since(s.last) >= time.Second {
			s.last = time.Now()
			s.say(event{Event: "state", State: &v}, "%s", v.line())
		}
		return
	}
	var b strings.Builder
	s.erase(&b)
	s.put(&b, v.lines())
	s.write(&b)
}

// close leaves the table where it is, as a picture of the end.
func (s *screen) close() { s.table = nil }

// print writes the lines of the end.
func (s *screen) print(lines []string) { _, _ = fmt.Fprintln(s.out, strings.Join(lines, "\n")) }

func (s *screen) interrupted(after time.Duration) {
	s.close()
	s.say(event{Event: "interrupted"}, "interrupted after %.1f s", after.Seconds())
}

// The escapes: cursor up n lines, clear from here to the end, no wrapping of lines that are too
// long, and wrapping again.
const (
	up     = "\x1b[%dA\r"
	clear  = "\x1b[J"
	nowrap = "\x1b[?7l"
	wrap   = "\x1b[?7h"
)

// erase takes the table off the terminal.
func (s *screen) erase(b *strings.Builder) {
	if len(s.table) > 0 {
		fmt.Fprintf(b, up+clear, len(s.table))
	}
}

// put writes the table at the cursor.
func (s *screen) put(b *strings.Builder, table []string) {
	if s.table = table; len(table) > 0 {
		b.WriteString(nowrap + strings.Join(table, "\n") + "\n" + wrap)
	}
}

func (s *screen) write(b *strings.Builder) {
	_, _ = io.WriteString(s.out, b.String()) // there is no other place to complain
}
