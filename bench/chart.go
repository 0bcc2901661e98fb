package main

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
)

// chart is a picture of horizontal bars, the best first in each panel.
type chart struct {
	File, Title, Note string
	Log, Shorter      bool // logarithmic; shorter is better
	Panels            []panel
}

// panel is a group of bars with a scale of its own.
type panel struct {
	Title string
	Bars  []bar
}

type bar struct {
	Name  string
	Value float64
	Label string
}

// charts returns the charts whose figures were measured.
func (r report) charts() (list []chart) {
	book := r.book()
	for _, s := range rateSections {
		c := chart{File: s.figure + ".svg", Title: s.title + ": per second", Note: "by concurrency; each panel has its own scale; longer is better"}
		for _, n := range concurrencies {
			c.add(fmt.Sprintf("concurrency %d", n), r.bars(func(p string) float64 { return book.rate(s.figure, n, p) }, ""))
		}
		list = append(list, c)
	}
	cpu := chart{File: "cpu.svg", Shorter: true, Title: "CPU for one life cycle, microseconds", Note: "both at once, concurrency 64; shorter is better"}
	of := func(name string, n int, get func(*figure) float64) func(string) float64 {
		return func(p string) float64 {
			if f := book.find(name, n, p); f != nil {
				return get(f)
			}
			return 0
		}
	}
	cpu.add("client", r.bars(of("mixed", 64, func(f *figure) float64 { return f.Median.ClientCPU }), ""))
	cpu.add("Redis", r.bars(of("mixed", 64, func(f *figure) float64 { return f.Median.RedisCPU }), ""))
	wake := chart{File: "wake.svg", Log: true, Shorter: true, Title: "From enqueue to the start of the handler, milliseconds",
		Note: "everything idle before; logarithmic; shorter is better"}
	wake.add("p50", r.bars(of("wake-slow", 10, func(f *figure) float64 { return f.Median.P50 / 1e3 }), ""))
	wake.add("p99", r.bars(of("wake-slow", 10, func(f *figure) float64 { return f.Median.P99 / 1e3 }), ""))
	kill := chart{File: "kill.svg", Log: true, Shorter: true, Title: "From a kill to its task running again, seconds",
		Note: "defaults of each library; logarithmic; shorter is better"}
	kill.add("", r.bars(of("kill", 1, func(f *figure) float64 { return f.Median.P50 / 1e6 }), " s"))
	list = append(list, cpu, wake, kill)
	return slices.DeleteFunc(list, func(c chart) bool { return len(c.Panels) == 0 })
}

func (c *chart) add(title string, bars []bar) {
	if c.Shorter {
		slices.Reverse(bars)
	}
	if len(bars) > 0 {
		c.Panels = append(c.Panels, panel{title, bars})
	}
}

// bars returns a bar for each peer that has a value, the largest first.
func (r report) bars(value func(peer string) float64, unit string) (list []bar) {
	for _, p := range peers {
		if v := value(p.Name); v > 0 {
			list = append(list, bar{p.Name, v, number(v) + unit})
		}
	}
	slices.SortStableFunc(list, func(a, b bar) int {
		if a.Value > b.Value {
			return -1
		}
		return 1
	})
	return list
}

// Sizes of the picture.
const (
	panelWidth, nameWidth, labelWidth = 470, 150, 70
	rowHeight, barHeight              = 21, 14
	headHeight, panelHead, margin     = 54, 30, 16
)

// svg returns the picture: two panels beside each other, on white, so that it is readable on a dark
// page too.
func (c chart) svg() string {
	columns := min(len(c.Panels), 2)
	var tops []int
	y := headHeight
	for i := 0; i < len(c.Panels); i += columns {
		rows := 0
		for _, p := range c.Panels[i:min(i+columns, len(c.Panels))] {
			rows = max(rows, len(p.Bars))
		}
		tops = append(tops, y)
		y += panelHead + rows*rowHeight + margin/2
	}
	width, height := columns*panelWidth+2*margin, y+margin/2
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="system-ui, sans-serif" font-size="12" fill="#1f2933" role="img">`+"\n",
		width, height, width, height)
	fmt.Fprintf(&b, "<title>%s</title>\n", html.EscapeString(c.Title))
	fmt.Fprintf(&b, `<rect width="%d" height="%d" rx="6" fill="#ffffff"/>`+"\n", width, height)
	fmt.Fprintf(&b, `<text x="%d" y="26" font-size="16" font-weight="600">%s</text>`+"\n", margin, html.EscapeString(c.Title))
	fmt.Fprintf(&b, `<text x="%d" y="44" fill="#52606d">%s</text>`+"\n", margin, html.EscapeString(c.Note))
	for i, p := range c.Panels {
		c.drawPanel(&b, p, margin+i%columns*panelWidth, tops[i/columns])
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func (c chart) drawPanel(b *strings.Builder, p panel, x, y int) {
	fmt.Fprintf(b, `<text x="%d" y="%d" font-weight="600">%s</text>`+"\n", x, y+20, html.EscapeString(p.Title))
	least, most := math.Inf(1), 0.0
	for _, bar := range p.Bars {
		least, most = min(least, bar.Value), max(most, bar.Value)
	}
	for i, bar := range p.Bars {
		top := y + panelHead + i*rowHeight
		length := c.scale(bar.Value, least, most) * (panelWidth - nameWidth - labelWidth - margin)
		weight := ""
		if bar.Name == ours {
			weight = ` font-weight="600"`
		}
		fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="end"%s>%s</text>`, x+nameWidth-8, top+12, weight, html.EscapeString(bar.Name))
		fmt.Fprintf(b, `<rect x="%d" y="%d" width="%.1f" height="%d" rx="2" %s/>`, x+nameWidth, top+1, length, barHeight, paint(bar.Name))
		fmt.Fprintf(b, `<text x="%.1f" y="%d"%s>%s</text>`+"\n", float64(x+nameWidth)+length+6, top+12, weight, html.EscapeString(bar.Label))
	}
}

// scale returns the length of a bar, between 0 and 1. A logarithmic scale begins a little below the
// shortest.
func (c chart) scale(v, least, most float64) float64 {
	if c.Log {
		low := math.Log10(least) - 0.3
		return (math.Log10(v) - low) / (math.Log10(most) - low)
	}
	return v / most
}

// paint returns the colour: one for this library, one for a ceiling, which nobody uses, and one for
// all others.
func paint(name string) string {
	for _, p := range peers {
		if p.Name == name && p.Kind == ceiling {
			return `fill="#f5f7fa" stroke="#7b8794" stroke-dasharray="3 2"`
		}
	}
	if name == ours {
		return `fill="#1967d2"`
	}
	return `fill="#9aa5b1"`
}
