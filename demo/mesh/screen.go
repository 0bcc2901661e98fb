package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// screen shows a table that changes in place, below the lines that stay. Where the output is no
// terminal it writes the table as a plain line each second.
type screen struct {
	out   io.Writer
	live  bool
	table []string  // on the terminal now
	plain time.Time // of the last plain line
}

func newScreen(out *os.File) *screen {
	info, err := out.Stat()
	return &screen{out: out, live: err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb" && os.Getenv("TERM") != ""}
}

// say writes a line that stays.
func (s *screen) say(format string, args ...any) {
	var b strings.Builder
	s.erase(&b)
	fmt.Fprintf(&b, format+"\n", args...)
	s.put(&b, s.table)
	s.write(&b)
}

// draw shows a new state of the table.
func (s *screen) draw(v view) {
	var b strings.Builder
	if s.live {
		s.erase(&b)
		s.put(&b, v.lines())
	} else if time.Since(s.plain) >= time.Second {
		s.plain = time.Now()
		b.WriteString(v.line() + "\n")
	}
	s.write(&b)
}

// close leaves the table where it is, as a picture of the end.
func (s *screen) close() { s.table = nil }

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
