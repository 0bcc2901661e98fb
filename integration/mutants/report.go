package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
)

// report prints what became of all mutants, and those that survived.
func report(out io.Writer, list []*result) {
	count := map[string]map[string]int{}
	for _, r := range list {
		for _, row := range []string{filepath.Base(r.File), "all"} {
			if count[row] == nil {
				count[row] = map[string]int{}
			}
			count[row][r.Status]++
		}
	}
	fmt.Fprintln(out)
	for _, r := range list {
		if r.Status == survived {
			fmt.Fprintf(out, "%v\n%39s passed %d tests, up to those of %s\n", r, "", r.Passed, r.Until)
		}
	}
	fmt.Fprintln(out)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "file\tcaught\tsurvived\taccepted\tunsound\tuntried\tshare caught\t")
	for _, row := range slices.Sorted(maps.Keys(count)) {
		if row != "all" {
			line(table, row, count[row])
		}
	}
	line(table, "all", count["all"])
	_ = table.Flush()
}

// line writes one row. What is accepted counts neither way.
func line(out io.Writer, name string, n map[string]int) {
	share := "-"
	if tried := n[caught] + n[survived]; tried > 0 {
		share = fmt.Sprintf("%.1f %%", 100*float64(n[caught])/float64(tried))
	}
	fmt.Fprintf(out, "%s\t%d\t%d\t%d\t%d\t%d\t%s\t\n", name, n[caught], n[survived], n[accepted], n[unsound], n[untried], share)
}

// save writes all results to a file.
func save(path string, list []*result) error {
	data, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}
