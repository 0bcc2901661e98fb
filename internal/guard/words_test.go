package guard

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// The folders whose comments are not yet worded as the standard library words its own. Every other
// folder is checked, also a new one.
var notYetClean = []string{
	"integration/model",
	"integration/simulator",
}

const (
	mostColumns = 100
	tabColumns  = 4
)

// In the standard library a function returns a value, or reports whether something is true.
var unidiomatic = regexp.MustCompile(`^\S+ (?:answers|tells|says|gives)\b`)

// No doc comment begins with a word that the standard library does not use there, and no line that
// holds only a comment is longer than 100 columns.
func TestCommentsAreWordedAsInTheStandardLibrary(t *testing.T) {
	found, checked := misworded(t, filepath.Join("..", ".."))
	for _, dir := range slices.Sorted(maps.Keys(found)) {
		if !slices.Contains(notYetClean, dir) {
			t.Errorf("%s", strings.Join(found[dir], "\n"))
		}
	}
	for _, dir := range notYetClean {
		if len(found[dir]) == 0 {
			t.Errorf("nothing is found in %s: take it off notYetClean", dir)
		}
	}
	if checked < 400 {
		t.Fatalf("only %d files were checked", checked)
	}
}

// misworded returns what is wrong with the comments below root, by folder, and the number of files.
func misworded(t *testing.T, root string) (found map[string][]string, checked int) {
	t.Helper()
	found = map[string][]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path != root && strings.HasPrefix(entry.Name(), ".") {
			return filepath.SkipDir // what was fetched is not ours
		}
		if entry.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		checked++
		faults, err := wordFaults(string(source))
		for _, fault := range faults {
			dir := filepath.ToSlash(filepath.Dir(name))
			found[dir] = append(found[dir], name+fault)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found, checked
}

// wordFaults returns what is wrong with the comments of a file, each after the number of its line.
func wordFaults(source string) (list []string, err error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", source, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	ast.Inspect(file, func(n ast.Node) bool {
		comment := doc(n)
		if begin := unidiomatic.FindString(comment.Text()); begin != "" {
			line := files.Position(comment.Pos()).Line
			list = append(list, fmt.Sprintf(":%d: a doc comment begins with %q", line, begin))
		}
		return true
	})
	lines := strings.Split(source, "\n")
	for _, group := range file.Comments {
		for _, comment := range group.List {
			n := files.Position(comment.Pos()).Line
			line := lines[n-1]
			wide := utf8.RuneCountInString(line) + (tabColumns-1)*strings.Count(line, "\t")
			line = strings.TrimSpace(line) // of code with a comment behind it, the code counts
			if wide > mostColumns && strings.HasPrefix(line, "//") && !strings.HasPrefix(line, "//go:") {
				list = append(list, fmt.Sprintf(":%d: the comment has %d columns", n, wide))
			}
		}
	}
	return list, nil
}

// doc returns the doc comment of a declaration, or nil.
func doc(n ast.Node) *ast.CommentGroup {
	switch n := n.(type) {
	case *ast.File:
		return n.Doc
	case *ast.GenDecl:
		return n.Doc
	case *ast.FuncDecl:
		return n.Doc
	case *ast.TypeSpec:
		return n.Doc
	case *ast.ValueSpec:
		return n.Doc
	case *ast.Field:
		return n.Doc
	}
	return nil
}
