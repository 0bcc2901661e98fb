package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// A mutant is one wrong line: an edit of one file.
type mutant struct {
	File string `json:"file"` // from the root of the tree
	Line int    `json:"line"`
	Kind string `json:"kind"`
	Old  string `json:"old"` // the line, trimmed
	New  string `json:"new"` // the line with the mistake, trimmed

	at, end int // what is replaced
	with    string
}

// Name is how a mutant is chosen and reported.
func (m mutant) Name() string { return fmt.Sprintf("%s:%d %s", filepath.Base(m.File), m.Line, m.Kind) }

// key names a mutant without its place, which other changes of the file move.
func (m mutant) key() string { return filepath.Base(m.File) + "\n" + m.Old + "\n" + m.New }

// apply returns the text with the mistake.
func (m mutant) apply(text string) string { return text[:m.at] + m.with + text[m.end:] }

// edits collects the mutants of one file.
type edits struct {
	file, text string
	list       []mutant
}

// add notes one; it may span lines, of which the first is named.
func (e *edits) add(kind string, at, end int, with string) {
	if e.text[at:end] == with || slices.ContainsFunc(e.list, func(m mutant) bool { return m.at == at && m.end == end && m.with == with }) {
		return
	}
	with += strings.Repeat("\n", strings.Count(e.text[at:end], "\n")-strings.Count(with, "\n")) // lines keep their numbers
	from, to := strings.LastIndexByte(e.text[:at], '\n')+1, len(e.text)
	if i := strings.IndexByte(e.text[end:], '\n'); i >= 0 {
		to = end + i
	}
	e.list = append(e.list, mutant{
		File: e.file, Line: strings.Count(e.text[:at], "\n") + 1, Kind: kind,
		Old: squeeze(e.text[from:to]), New: squeeze(e.text[from:at] + with + e.text[end:to]),
		at: at, end: end, with: with,
	})
}

// sorted returns the mutants by their place.
func (e *edits) sorted() []mutant {
	slices.SortStableFunc(e.list, func(a, b mutant) int { return cmp.Compare(a.at, b.at) })
	return e.list
}

// squeeze makes one line of a text.
func squeeze(text string) string { return strings.Join(strings.Fields(text), " ") }
