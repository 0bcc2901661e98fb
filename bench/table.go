package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// page returns the report in Markdown.
func (r report) page(charts []chart) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	picture := func(file string) {
		for _, c := range charts {
			if c.File == file {
				line("![%s](%s)\n", c.Title, c.File)
			}
		}
	}
	line("# Benchmarks\n")
	line("Made by [`bench/`](../../bench): %s.\n", r.Place)
	line("Tasks of 32 bytes, handlers that return at once. Each figure is the median of %d rounds of about %s s, in which all take their "+
		"turn (A, B, C, A, B, C, ...), except where one run is said. Ratios hold within a run; absolute rates do not travel to another machine.\n",
		r.Rounds, number(r.Seconds))
	line("Repeat it: `make bench`; `QUICK=1 make bench` measures the most important ratios in a minute; `cd bench && go run . -h` lists " +
		"the rest. Every run's numbers are in [`results.json`](results.json).\n")
	if len(r.Ratios) > 0 {
		line("## Ratios\n\n| | |\n|---|---:|")
		for _, q := range r.Ratios {
			name := q.Name
			if q.Note != "" {
				name += " (" + q.Note + ")"
			}
			line("| %s | %.2f |", name, q.Value)
		}
		line("")
	}
	for _, s := range rateSections {
		if table := r.byConcurrency(s.figure); table != "" {
			line("## %s\n\n%s\n", s.title, s.text)
			picture(s.figure + ".svg")
			b.WriteString(table + "\n")
		}
	}
	if table := r.costs(); table != "" {
		line("## Cost of a task\n\n" + costText + "\n")
		picture("cpu.svg")
		b.WriteString(table + "\n")
	}
	if table := r.latencies(); table != "" {
		line("## Waiting\n\n" + waitText + "\n")
		picture("wake.svg")
		picture("kill.svg")
		b.WriteString(table + "\n")
	}
	if configs := r.configs(); configs != "" {
		line("## Who took part\n\n%s", configs)
	}
	if len(r.Skipped) > 0 {
		line("Left out:\n")
		for _, s := range r.Skipped {
			line("- %s: %s", s.Peer, s.Reason)
		}
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

type section struct{ figure, title, text string }

var rateSections = []section{
	{"mixed", "Both at once", "Life cycles per second: as many producers as the concurrency, each storing one task per call, and a consumer with as many " +
		"handlers, in one process. The clock runs until what was stored is finished. *" + raw + "* is the ceiling: the same scripts in batches of up to 64, " +
		"sent by a loop written by hand."},
	{"enqueue", "Producers alone", "Tasks stored per second, one per call."},
	{"drain", "Consumers alone", "Tasks finished per second; all are stored before."},
	{"pipeline", "The transport alone", "Calls of one trivial script per second, by as many callers as the concurrency: this library's `internal/pipeline` beside rueidis."},
}

const costText = "CPU of the client process and of Redis for one life cycle, and bytes in both directions, from the runs of both at once at 64. Commands: one " +
	"run watched by MONITOR; *calls* are what clients send, *commands* has what scripts do too. Memory: what the keys in Redis take for one task, " +
	"while it waits (100,000 of them) and in hand (10,000), one run. Idle: calls and commands per second of one worker with 10 handlers and nothing to do, one run. " +
	"A dash is not measured."

const waitText = "Wake-up: from the call of enqueue to the start of the handler, one task every 250 ms, 10 handlers. Kill: from the SIGKILL of its holder to the " +
	"start of its task in another process that was there before, with the defaults of each library."

// present returns the peers that have one of these figures, in their order.
func (r report) present(names ...string) (list []string) {
	for _, p := range peers {
		if slices.ContainsFunc(r.Figures, func(f *figure) bool { return f.Peer == p.Name && slices.Contains(names, f.Figure) }) {
			list = append(list, p.Name)
		}
	}
	return list
}

func (r report) byConcurrency(name string) string {
	present := r.present(name)
	if len(present) == 0 {
		return ""
	}
	rows := [][]string{{""}}
	for _, c := range concurrencies {
		rows[0] = append(rows[0], fmt.Sprint(c))
	}
	book := r.book()
	for _, p := range present {
		row := []string{p}
		for _, c := range concurrencies {
			if f := book.find(name, c, p); f != nil {
				row = append(row, number(f.Median.Rate))
			} else {
				row = append(row, "-")
			}
		}
		rows = append(rows, row)
	}
	return table(rows)
}

func (r report) costs() string {
	rows := [][]string{{"", "client CPU, us", "Redis CPU, us", "calls", "commands", "bytes", "bytes waiting", "bytes in hand", "idle calls/s", "idle commands/s"}}
	book := r.book()
	for _, p := range r.present("mixed", "commands", "memory", "hands", "idle") {
		mixed, sent := book.find("mixed", 64, p), book.find("commands", 64, p)
		waiting, hands, idle := book.find("memory", 1, p), book.find("hands", 10_000, p), book.find("idle", 10, p)
		row := []string{p, "-", "-", "-", "-", "-", "-", "-", "-", "-"}
		if mixed != nil {
			row[1] = number(mixed.Median.ClientCPU)
			if !mixed.Median.NoRedis {
				row[2], row[5] = number(mixed.Median.RedisCPU), number(mixed.Median.Bytes)
			}
		}
		if sent != nil {
			row[3], row[4] = number(sent.Median.Calls), number(sent.Median.Commands)
		}
		if waiting != nil {
			row[6] = number(waiting.Median.Waiting)
		}
		if hands != nil {
			row[7] = number(hands.Median.InHand)
		}
		if idle != nil {
			row[8], row[9] = number(idle.Median.Calls), number(idle.Median.Commands)
		}
		if slices.ContainsFunc(row[1:], func(s string) bool { return s != "-" }) {
			rows = append(rows, row)
		}
	}
	if len(rows) == 1 {
		return ""
	}
	return table(rows)
}

func (r report) latencies() string {
	present := r.present("wake-slow", "kill")
	if len(present) == 0 {
		return ""
	}
	rows := [][]string{{"", "wake-up p50, ms", "wake-up p99, ms", "kill to running again, s", "kills"}}
	book := r.book()
	for _, p := range present {
		row := []string{p, "-", "-", "-", "-"}
		if f := book.find("wake-slow", 10, p); f != nil {
			row[1], row[2] = number(f.Median.P50/1e3), number(f.Median.P99/1e3)
		}
		if f := book.find("kill", 1, p); f != nil {
			row[3], row[4] = number(f.Median.P50/1e6), fmt.Sprint(len(f.Runs))
		}
		rows = append(rows, row)
	}
	return table(rows)
}

func (r report) configs() string {
	rows := [][]string{{"", "module", "version", "configuration"}}
	for _, p := range peers {
		for _, f := range r.Figures {
			if m := f.Median; f.Peer == p.Name && m.Config != "" && (p.Name != ours || f.Figure != "pipeline") {
				rows = append(rows, []string{p.Name, m.Module, m.Version, m.Config})
				break
			}
		}
	}
	if len(rows) == 1 {
		return ""
	}
	return aligned(rows, "|---")
}

// table returns a Markdown table with the numbers to the right: the first row is the head, the
// first column is text.
func table(rows [][]string) string { return aligned(rows, "|---:") }

func aligned(rows [][]string, column string) string {
	var b strings.Builder
	for i, row := range rows {
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
		if i == 0 {
			b.WriteString("|---" + strings.Repeat(column, len(row)-1) + "|\n")
		}
	}
	return b.String()
}

// number returns x with as many digits as are significant: three, and thousands apart.
func number(x float64) string {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return "-"
	case math.Abs(x) < 10:
		return strings.TrimSuffix(fmt.Sprintf("%.2f", x), ".00")
	case math.Abs(x) < 100:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", x), ".0")
	}
	unit := math.Pow(10, math.Floor(math.Log10(math.Abs(x)))-2)
	digits := fmt.Sprintf("%.0f", math.Round(x/unit)*unit)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
