package main

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/worqr/worqr-go/bench/adapter"
)

func sample() report {
	book := filled()
	book.skip("river (PostgreSQL)", "no PostgreSQL on this machine")
	return report{
		Place:  place{Date: "2001-02-03", CPU: "a processor", Cores: 2, System: "linux/amd64", Go: "go1", Redis: "7.0"},
		Rounds: 5, Seconds: 1, Ratios: book.ratios(), Skipped: book.skipped, Figures: book.list,
	}
}

func TestTheReportIsWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	want := sample()
	if err := write(dir, want); err != nil {
		t.Fatal(err)
	}
	page := read(t, dir, "README.md")
	for _, text := range []string{
		"2001-02-03, 2 cores of a processor", "median of 5 rounds", "make bench", "| mixed64-vs-best-peer (gocraft/work) | 4.00 |",
		"| asynq | 10,000 | 10,000 | 10,000 | 10,000 |", "| worqr | 0.20 | 0.40 |", "- river (PostgreSQL): no PostgreSQL on this machine",
		"| asynq | example.com/asynq | v1 | as it comes |",
	} {
		if !strings.Contains(page, text) {
			t.Errorf("the page lacks %q:\n%s", text, page)
		}
	}
	for _, c := range want.charts() {
		if !strings.Contains(page, "]("+c.File+")") {
			t.Errorf("the page does not show %s", c.File)
		}
		wellFormed(t, read(t, dir, c.File))
	}
	var got report
	if err := json.Unmarshal([]byte(read(t, dir, "results.json")), &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Error("what is read back from results.json is not what was written")
	}
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func wellFormed(t *testing.T, svg string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
	}
}

func TestAPeerWithoutAFigureHasADash(t *testing.T) {
	book := &figures{}
	book.add(cell{Figure: "drain", Concurrency: 64}, "asynq", adapter.Result{Rate: 12_345})
	book.add(cell{Figure: "idle", Concurrency: 10}, "rmq", adapter.Result{})
	r := report{Figures: book.list}
	if table := r.byConcurrency("drain"); !strings.Contains(table, "| asynq | - | - | 12,300 | - |") {
		t.Errorf("the table is\n%s", table)
	}
	if table := r.costs(); !strings.Contains(table, "| - | 0 | 0 |") {
		t.Errorf("what is idle and silent has no 0:\n%s", table)
	}
	if table := r.byConcurrency("enqueue"); table != "" {
		t.Errorf("a table of nothing:\n%s", table)
	}
}

func TestNumbersHaveThreeDigits(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 0.854: "0.85", 3: "3", 9.996: "10", 12.34: "12.3", 56: "56", 123.4: "123", 1234: "1,230", 99_950: "100,000", 1_234_567: "1,230,000",
	} {
		if got := number(x); got != want {
			t.Errorf("number(%v) is %q, not %q", x, got, want)
		}
	}
}

func TestBarsKeepTheirProportions(t *testing.T) {
	c := chart{File: "x.svg", Title: "a < b & c"}
	c.add("", []bar{{ours, 100, "100"}, {raw, 50, "50"}, {"asynq", 25, "25"}})
	svg := c.svg()
	wellFormed(t, svg)
	for _, text := range []string{`a &lt; b &amp; c`, `width="234.0" height="14" rx="2" fill="#1967d2"`, `width="117.0" height="14" rx="2" fill="#f5f7fa"`, `width="58.5"`} {
		if !strings.Contains(svg, text) {
			t.Errorf("the chart lacks %q:\n%s", text, svg)
		}
	}
	best := chart{Shorter: true}
	best.add("", []bar{{ours, 2, ""}, {raw, 1, ""}})
	if best.Panels[0].Bars[0].Name != raw {
		t.Error("where shorter is better the shortest is not the first")
	}
	c.Log = true
	short, middle, long := c.scale(1, 1, 1000), c.scale(100, 1, 1000), c.scale(1000, 1, 1000)
	if short <= 0 || short > 0.2 || middle < 0.6 || middle > 0.8 || long != 1 {
		t.Errorf("logarithmic bars are %v, %v and %v long", short, middle, long)
	}
}
