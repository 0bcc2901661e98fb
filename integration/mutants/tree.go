package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// A tree is a copy of the source tree in which one mutant at a time is tried.
type tree struct {
	root, temp string // temp: for what the tests leave behind when they are killed
}

// rootVariable names the tree in which a test binary reads the scripts.
const rootVariable = "WORQR_MUTANTS_ROOT"

// copyTree copies a tree, and has the copy read its scripts from their files.
func copyTree(from, to string) (*tree, error) {
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		switch {
		case d.IsDir() && (d.Name() == ".git" || d.Name() == ".cache"):
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, name), 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), data, 0o644)
	})
	if err != nil {
		return nil, err
	}
	t := &tree{root: to, temp: to + "-temp"}
	return t, errors.Join(t.readScriptsFromDisk(), os.MkdirAll(t.temp, 0o755))
}

// find lists the files below a folder for which keep returns true, with their paths from the root.
func (t *tree) find(below string, keep func(name string) bool) ([]string, error) {
	var list []string
	err := filepath.WalkDir(filepath.Join(t.root, below), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(t.root, path)
		if keep(filepath.ToSlash(name)) {
			list = append(list, name)
		}
		return err
	})
	return list, err
}

var embeds = regexp.MustCompile(`(?m)^//go:embed .*\blua\b.*\nvar (\w+) embed\.FS$`)

// readScriptsFromDisk replaces the embedded folder of scripts by the folder itself.
func (t *tree) readScriptsFromDisk() error {
	found := false
	files, err := t.find("", func(name string) bool {
		return strings.HasSuffix(name, ".go") && !strings.HasPrefix(name, "integration/mutants/")
	})
	if err != nil {
		return err
	}
	for _, name := range files {
		text, err := t.read(name)
		if err != nil {
			return err
		}
		match := embeds.FindStringSubmatch(text)
		if match == nil {
			continue
		}
		found = true
		dir := filepath.Dir(name)
		text = embeds.ReplaceAllString(text, fmt.Sprintf("var $1 = folder{os.DirFS(filepath.Join(os.Getenv(%q), %q))}", rootVariable, dir))
		imports := ""
		for _, path := range []string{"os", "path/filepath"} {
			if line := fmt.Sprintf("\t%q\n", path); !strings.Contains(text, line) {
				imports += line
			}
		}
		text = strings.Replace(text, "\t\"embed\"\n", imports, 1)
		pkg := regexp.MustCompile(`(?m)^package \w+$`).FindString(text)
		if err := errors.Join(t.write(name, text), t.write(filepath.Join(dir, "folder.go"), pkg+folderSource)); err != nil {
			return err
		}
	}
	if !found {
		return errors.New("no Go file embeds scripts")
	}
	return nil
}

// folderSource has the methods of embed.FS on a folder.
const folderSource = `

import "io/fs"

type folder struct{ fs.FS }

func (f folder) ReadFile(name string) ([]byte, error)       { return fs.ReadFile(f.FS, name) }
func (f folder) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(f.FS, name) }
`

func (t *tree) read(name string) (string, error) {
	data, err := os.ReadFile(filepath.Join(t.root, name))
	return string(data), err
}

func (t *tree) write(name, text string) error {
	return os.WriteFile(filepath.Join(t.root, name), []byte(text), 0o644)
}

// with runs f while the tree has a mistake.
func (t *tree) with(m mutant, f func()) error {
	text, err := t.read(m.File)
	if err != nil {
		return err
	}
	if err := t.write(m.File, m.apply(text)); err != nil {
		return err
	}
	f()
	return t.write(m.File, text)
}
