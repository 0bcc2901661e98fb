package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
)

// report is all the results of a run.
type report struct {
	Place   place     `json:"place"`
	Rounds  int       `json:"rounds"`
	Seconds float64   `json:"seconds"`
	Ratios  []ratio   `json:"ratios"`
	Skipped []skipped `json:"skipped"`
	Figures []*figure `json:"figures"`
}

func newReport(f *field, s settings, book *figures) report {
	return report{Place: here(f), Rounds: s.rounds, Seconds: s.seconds, Ratios: book.ratios(), Skipped: book.skipped, Figures: book.list}
}

// book returns the figures in a form for look-ups.
func (r report) book() *figures { return &figures{list: r.Figures, skipped: r.Skipped} }

// write writes the page, the data and the charts.
func write(dir string, r report) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	data, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	charts := r.charts()
	errs := []error{
		os.WriteFile(filepath.Join(dir, "results.json"), append(data, '\n'), 0o644),
		os.WriteFile(filepath.Join(dir, "README.md"), []byte(r.page(charts)), 0o644),
	}
	for _, c := range charts {
		errs = append(errs, os.WriteFile(filepath.Join(dir, c.File), []byte(c.svg()), 0o644))
	}
	return errors.Join(errs...)
}
