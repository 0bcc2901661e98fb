package wire

import (
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"maps"
	"path"
	"slices"
	"strings"
)

//go:embed lua
var sources embed.FS

// preludes are what stands before the scripts of a folder.
var preludes = map[string][]string{
	"mesh":  nil,
	"queue": {"lib.lua"},
	"hold":  {"lib.lua", "hold.lua"},
}

// Script is one operation. What it does, takes, returns and refuses stands at the head of its file.
type Script struct {
	Name  string
	Slot  string   // "mesh" or "queue"
	Files []string // below lua, in their order
	Head  string   // the comment with which its file begins
	Once  bool     // a copy must not be sent after the first may have run

	Source, SHA string
}

var scripts = load()

// load reads all scripts.
func load() map[string]*Script {
	all := map[string]*Script{}
	for folder, before := range preludes {
		files, err := sources.ReadDir("lua/" + folder)
		if err != nil {
			panic(err) // it is embedded: a build cannot lack it
		}
		for _, file := range files {
			s := &Script{Name: strings.TrimSuffix(file.Name(), ".lua"), Slot: "queue"}
			if folder == "mesh" {
				s.Slot = "mesh"
			}
			s.Files = append(slices.Clone(before), path.Join(folder, file.Name()))
			s.Head = head(s.Files[len(before)])
			s.Once = s.Name == "enqueue"
			s.Source = Text(s.Files...)
			sum := sha1.Sum([]byte(s.Source))
			s.SHA = hex.EncodeToString(sum[:])
			all[s.Name] = s
		}
	}
	return all
}

// Text returns files of lua as they are sent, one behind the other. Comments are stripped: they
// would be sent with every EVAL and kept by Redis.
func Text(files ...string) string {
	var text strings.Builder
	for _, file := range files {
		for line := range strings.Lines(read(file)) {
			if t := strings.TrimSpace(line); t != "" && !strings.HasPrefix(t, "--") {
				text.WriteString(t + "\n")
			}
		}
	}
	return text.String()
}

func head(file string) string {
	var text strings.Builder
	for line := range strings.Lines(read(file)) {
		comment, found := strings.CutPrefix(line, "--")
		if !found {
			break
		}
		text.WriteString(strings.TrimPrefix(comment, " "))
	}
	return strings.TrimSuffix(text.String(), "\n")
}

func read(file string) string {
	text, err := sources.ReadFile("lua/" + file)
	if err != nil {
		panic(err) // whoever names it knows the folder
	}
	return string(text)
}

// Scripts returns all scripts, sorted by their names.
func Scripts() []*Script {
	return slices.SortedFunc(maps.Values(scripts), func(a, b *Script) int { return strings.Compare(a.Name, b.Name) })
}

// Named returns a script by its name.
func Named(name string) *Script {
	s := scripts[name]
	if s == nil {
		panic("wire: no script is called " + name)
	}
	return s
}
